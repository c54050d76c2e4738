"""An engine on several hosts: what hosts.toml declares is what its command lines say, and the plan is one of all."""

from __future__ import annotations

import re
from typing import Any

import pytest

from console.errors import RefusedError
from console.planning import nodes
from console.planning.plan import make_plan
from console.schema.change import FileChange, ReloadChange, RestartChange
from console.schema.facts import Facts
from console.schema.hosts import Host, Target
from console.schema.plan import Plan
from console.secrets import Redactor
from console.views.by_hand import back_by_hand, by_hand
from tests.fakes import FRAGMENT, NEWER, SGLANG, UNIT, FakeClock, facts, target
from tests.planning.test_plan import BOOK, book


def rank(number: int, *, of: int = 2, window: int = 32768, words: str = "", **unit: Any) -> Facts:
    """A rank as it is seen; rank 0 is the target's own host, the others are node1 …"""
    text = UNIT.replace("--port 30000", f"--port 30000 --nnodes {of} --node-rank {number} --tp-size 16{words}")
    seen = facts(text.replace("32768", str(window)), unit=unit or None)
    return seen if not number else seen.model_copy(update={"target": f"node{number}/chat", "serving": None})


def declared(count: int = 1) -> Target:
    own = target()
    others = [
        own.model_copy(update={"host_name": f"node{number}", "host": Host(), "rank": number})
        for number in range(1, count + 1)
    ]
    service = own.service.model_copy(update={"nodes": tuple(other.host_name for other in others)})
    return own.model_copy(update={"nodes": tuple(others), "service": service})


def planned(*ranks: Facts, at: Target | None = None, text: str = BOOK) -> Plan:
    own = ranks[0].model_copy(update={"nodes": ranks[1:]})
    return make_plan(
        book(text),
        at or declared(len(ranks) - 1),
        own,
        SGLANG,
        {"to": 200000, "expect": 32768, "mem_fraction": ""},
        redactor=Redactor(),
        now=FakeClock().now(),
    )


def test_every_rank_is_edited_reloaded_and_restarted_together() -> None:
    plan = planned(rank(0), rank(1, invocation_id=NEWER))
    kinds = [(change.kind, getattr(change, "node", "")) for change in plan.changes]
    assert kinds == [("file", ""), ("file", "node1"), ("reload", ""), ("restart", "")]
    reload, restart = plan.changes[2:]
    assert isinstance(reload, ReloadChange)
    assert isinstance(restart, RestartChange)
    assert reload.nodes == ("node1",)
    assert [(start.node, start.invocation_before) for start in restart.nodes] == [("node1", NEWER)]
    assert [setting.sentence for setting in plan.settings] == ["context_length 32768 -> 200000"]
    assert set(plan.deciding) == {FRAGMENT, f"node1:{FRAGMENT}"}
    assert [edit.place for edit in plan.edits] == [FRAGMENT, f"node1:{FRAGMENT}"]
    (written,) = [step for step in plan.steps if plan.changes[0].id in step.changes]
    assert plan.changes[1].id in written.changes


def test_each_host_sees_its_own_share() -> None:
    seen = rank(0).model_copy(update={"nodes": (rank(1, invocation_id=NEWER),)})
    (own, _), (other, facts_there) = nodes.shares(planned(rank(0), rank(1, invocation_id=NEWER)), seen)
    assert facts_there.target == other.target.name == "node1/chat"
    for share, invocation in ((own, seen.unit.invocation_id), (other, NEWER)):
        file, reload, restart = share.changes
        assert isinstance(file, FileChange)
        assert isinstance(reload, ReloadChange)
        assert isinstance(restart, RestartChange)
        assert (file.node, reload.nodes, restart.nodes) == ("", (), ())
        assert restart.invocation_before == invocation
        assert [edit.node for edit in share.edits] == [""]


def test_no_guard_is_armed_and_the_plan_says_so() -> None:
    guarded = BOOK.replace('on_failure = "rollback"', 'on_failure = "rollback"\nguard = "15m"', 1)
    plan = planned(rank(0), rank(1), text=guarded)
    assert plan.guard_s is None
    assert "no guard is armed: none on one host could put back all 2" in plan.warnings


def test_by_hand_all_are_stopped_before_any_is_started() -> None:
    plan = planned(rank(0), rank(1))
    lines = by_hand(plan)
    assert [line for line in lines if line.startswith("# on ")][:2] == ["# on node7, rank 0:", "# on node1, rank 1:"]
    assert lines.index("sudo systemctl stop chat.service") < lines.index("sudo systemctl start chat.service")
    assert not any("restart" in line for line in (*lines, *back_by_hand(plan)))
    assert sum(line.startswith("sudo cp -a /var/tmp/") for line in back_by_hand(plan)) == 2


@pytest.mark.parametrize(
    ("ranks", "said"),
    [
        ((rank(0, of=3), rank(1, of=3)), "--nnodes 3: nodes = […] in hosts.toml makes it 2 here"),
        ((rank(0), rank(0).model_copy(update={"target": "node1/chat"})), "--node-rank 0: nodes = […] in hosts.toml"),
        ((rank(1).model_copy(update={"target": "node7/chat"}), rank(0)), "--node-rank 1: nodes = […] in hosts.toml"),
        ((facts(), rank(1)), "--nnodes 1: nodes = […] in hosts.toml makes it 2 here"),
        ((rank(0, words=" --tp-size 7"), rank(1, words=" --tp-size 7")), "7 x 1 GPUs (tensor x pipeline) cannot be"),
        (
            (rank(0), rank(1, words=" --tp-size 8")),
            "its ranks disagree on tensor x pipeline parallelism: 16 x 1, 8 x 1",
        ),
        (
            (rank(0), rank(1, window=16384)),
            "node1/chat /etc/systemd/system/chat.service:8: context_length is 16384, expected 32768",
        ),
        ((rank(0), rank(1, window=200000)), "node1 is not as rank 0 is"),
        (
            (rank(0), rank(1, words=" --disaggregation-mode prefill")),
            "--disaggregation-mode prefill: hosts in nodes = […] of hosts.toml are the ranks of one engine",
        ),
    ],
)
def test_what_is_declared_otherwise_than_it_is_started_is_refused(ranks: tuple[Facts, ...], said: str) -> None:
    with pytest.raises(RefusedError, match=re.escape(said)):
        planned(*ranks)


def test_a_decode_that_is_itself_on_several_hosts_cannot_be_declared() -> None:
    seen = facts(UNIT.replace("--port 30000", "--port 30000 --disaggregation-mode decode --nnodes 2"))
    with pytest.raises(RefusedError, match="--disaggregation-mode decode: this unit is one part") as caught:
        planned(seen, at=target())
    assert "by hand" in caught.value.hint


def test_words_that_wait_for_a_restart_on_another_rank_are_ours_to_tell() -> None:
    other = rank(1)
    running = tuple(word for word in other.process.argv if word != "16")
    process = other.process.model_copy(update={"argv": (*running, "16", "--extra")})
    plan = planned(rank(0), other.model_copy(update={"process": process}))
    assert "node1: --extra" in plan.activation.words_removed
    assert plan.activation.needs_accept
