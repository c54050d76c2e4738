"""Prefill and decode apart: what hosts.toml declares is what the parts are started as, and the plan is one of both."""

from __future__ import annotations

import re
from typing import Any

import pytest

from console.engines.registry import engine_named
from console.errors import RefusedError
from console.planning import nodes
from console.planning.plan import make_plan
from console.schema.change import FileChange, ReloadChange, RestartChange
from console.schema.facts import Facts, ModelConfig
from console.schema.hosts import Host, Target
from console.schema.plan import Plan
from console.secrets import Redactor
from console.views.by_hand import back_by_hand, by_hand
from tests.fakes import FRAGMENT, NEWER, SGLANG, UNIT, FakeClock, facts, serving, target
from tests.planning.test_plan import BOOK, book

ROUTER = "http://127.0.0.1:8000"
DECODE = "decode.service"
DECODE_FRAGMENT = f"/etc/systemd/system/{DECODE}"


def part(
    mode: str, *, window: int = 32768, words: str = "", host: str = "node8", text: str = UNIT, **more: Any
) -> Facts:
    """A part as it is seen: prefill is the target's own, decode a unit of another name."""
    text = text.replace("--port 30000", f"--port 30000 --disaggregation-mode {mode}{words}")
    seen = facts(text.replace("32768", str(window)), **more)
    if mode == "prefill" and host == "node8":
        return seen
    files = tuple(
        file.model_copy(update={"path": DECODE_FRAGMENT, "real_path": DECODE_FRAGMENT})
        if file.path == FRAGMENT
        else file
        for file in seen.files
    )
    unit = seen.unit.model_copy(update={"id": DECODE, "fragment_path": DECODE_FRAGMENT})
    return seen.model_copy(update={"target": f"{host}/decode", "unit": unit, "files": files, "part": True})


def declared(*, host: str = "node8", router: str = ROUTER) -> Target:
    own = target()
    service = own.service.model_copy(update={"unit": DECODE, "url": "http://127.0.0.1:30001"})
    other = own.model_copy(
        update={
            "host_name": host,
            "service_name": "decode",
            "service": service,
            "host": Host(),
            "rank": 1,
            "part": True,
        }
    )
    whole = own.service.model_copy(update={"nodes": (other.name,), "router": router})
    return own.model_copy(update={"nodes": (other,), "service": whole})


def planned(own: Facts, other: Facts, *, at: Target | None = None, mem_fraction: str = "", text: str = BOOK) -> Plan:
    return make_plan(
        book(text),
        at or declared(),
        own.model_copy(update={"nodes": (other,)}),
        SGLANG,
        {"to": 200000, "expect": 32768, "mem_fraction": mem_fraction},
        redactor=Redactor(),
        now=FakeClock().now(),
    )


def test_both_are_edited_reloaded_and_restarted_together() -> None:
    plan = planned(part("prefill"), part("decode", unit={"invocation_id": NEWER}))
    kinds = [(change.kind, getattr(change, "node", "")) for change in plan.changes]
    assert kinds == [("file", ""), ("file", "node8/decode"), ("reload", ""), ("restart", "")]
    restart = plan.changes[3]
    assert isinstance(restart, RestartChange)
    assert [(start.node, start.unit, start.invocation_before) for start in restart.nodes] == [
        ("node8/decode", DECODE, NEWER)
    ]
    assert restart.summary == "stop node7/chat, node8/decode, then start them"
    assert set(plan.deciding) == {FRAGMENT, f"node8/decode:{DECODE_FRAGMENT}"}
    assert any(f"the router ({ROUTER}) is not restarted" in warning for warning in plan.warnings)
    assert "/" not in "".join(change.id for change in plan.changes)


def test_each_unit_sees_its_own_share() -> None:
    own, other = part("prefill"), part("decode", unit={"invocation_id": NEWER})
    plan = planned(own, other)
    (_, _), (share, seen) = nodes.shares(plan, own.model_copy(update={"nodes": (other,)}))
    file, reload, restart = share.changes
    assert seen.target == share.target.name == "node8/decode"
    assert isinstance(file, FileChange)
    assert isinstance(reload, ReloadChange)
    assert isinstance(restart, RestartChange)
    assert (file.path, reload.unit, restart.unit, restart.invocation_before) == (
        DECODE_FRAGMENT,
        DECODE,
        DECODE,
        NEWER,
    )


def test_by_hand_each_unit_is_named() -> None:
    plan = planned(part("prefill"), part("decode"))
    lines = by_hand(plan)
    stops = [lines.index(f"sudo systemctl stop {unit}") for unit in ("chat.service", DECODE)]
    starts = [lines.index(f"sudo systemctl start {unit}") for unit in ("chat.service", DECODE)]
    assert stops == sorted(stops)
    assert max(stops) < min(starts)
    assert [line for line in lines if line.startswith("# on ")][:2] == [
        "# on node7, node7/chat:",
        "# on node8, node8/decode:",
    ]
    assert sum(line.startswith("sudo cp -a /var/tmp/") for line in back_by_hand(plan)) == 2


def known(seen: Facts, digest: str) -> Facts:
    return seen.model_copy(update={"models": (ModelConfig(role="model", named="m", sha256=digest),)})


@pytest.mark.parametrize(
    ("own", "other", "said"),
    [
        (part("prefill"), part("prefill", host="node9"), "no part is decode: node7/chat prefill, node8/decode prefill"),
        (part("decode", host="node8"), part("decode"), "no part is prefill: node7/chat decode, node8/decode decode"),
        (part("prefill"), part("null"), "node8/decode: it is started neither for prefill nor for decode"),
        (part("prefill"), part("decode", words=" --nnodes 2"), "--nnodes 2: a part of a pair that is itself spread"),
        (
            part("prefill"),
            part("decode", words=" --model-path /models/other-7b"),
            "node8/decode: its model is /models/",
        ),
        (known(part("prefill"), "a" * 64), known(part("decode"), "b" * 64), "their config.json differ"),
        (part("prefill"), part("decode", window=16384), "context_length is 16384, expected 32768"),
        (part("prefill"), part("decode", window=200000), "node8/decode is not as node7/chat is"),
        (
            part("prefill").model_copy(update={"router_silent": "connection refused"}),
            part("decode"),
            f"its router {ROUTER} does not answer (connection refused): nothing could be proven",
        ),
    ],
)
def test_what_is_no_pair_is_refused(own: Facts, other: Facts, said: str) -> None:
    with pytest.raises(RefusedError, match=re.escape(said)):
        planned(own.model_copy(update={"target": "node7/chat", "part": False}), other)


def test_models_at_other_paths_are_one_model_where_their_configuration_is() -> None:
    other = known(part("decode", words=" --model-path /data/snapshots/4f1c"), "a" * 64)
    assert planned(known(part("prefill"), "a" * 64), other).changes


def test_without_a_router_the_line_to_add_is_named() -> None:
    with pytest.raises(RefusedError, match="it is prefill of a pair, which answers no client by itself") as caught:
        planned(part("prefill"), part("decode"), at=declared(router=""))
    assert 'router = "http://127.0.0.1:PORT" under [hosts.node7.services.chat]' in caught.value.hint


def test_a_setting_that_differs_by_nature_is_not_guessed() -> None:
    """Prefill and decode often have another memory fraction: one value for both is nobody's wish."""
    other = part("decode", words=" --mem-fraction-static 0.80")
    assert planned(part("prefill"), other).changes  # it is none of the window's business
    with pytest.raises(RefusedError, match=r"node8/decode is not as node7/chat is: there mem_fraction 0\.80") as caught:
        planned(part("prefill"), other, mem_fraction="0.88")
    assert "what is meant to differ is changed by hand" in caught.value.hint


def test_a_window_that_the_other_part_cannot_hold_is_refused_before_anything_is_touched() -> None:
    small, large = serving(pool_tokens=101_134), serving(pool_tokens=300_000)
    text = BOOK.replace('[[step]]\nuses = "systemd', '[[step]]\nuses = "capacity.check"\n\n[[step]]\nuses = "systemd')
    assert planned(part("prefill"), part("decode", serving=large), text=text).changes
    with pytest.raises(RefusedError, match="starts but cannot serve: ") as caught:
        planned(part("prefill"), part("decode", serving=small), text=text)
    assert caught.value.where == "node8/decode"
    assert caught.value.hint.startswith("console capacity node8/decode")


def test_a_part_alone_may_be_looked_at() -> None:
    at = target().model_copy(update={"part_of": "gpu1/prefill"})
    look = 'schema = 1\nname = "look"\n[[step]]\nuses = "capacity.check"\ncontext = "64000"\n'
    plan = make_plan(book(look), at, part("prefill"), SGLANG, {}, redactor=Redactor(), now=FakeClock().now())
    assert [step.uses for step in plan.steps] == ["capacity.check"]


def test_an_undeclared_pair_names_the_lines_to_write() -> None:
    seen = part("prefill")
    with pytest.raises(RefusedError, match="--disaggregation-mode prefill: this unit is one part") as caught:
        make_plan(
            book(BOOK),
            target(),
            seen,
            SGLANG,
            {"to": 200000, "expect": 32768, "mem_fraction": ""},
            redactor=Redactor(),
            now=FakeClock().now(),
        )
    assert '[hosts.node7.services.chat] in hosts.toml, or the same of the other part: nodes = ["HOST/SERVICE"]' in (
        caught.value.hint
    )


def test_a_part_alone_is_refused_with_the_name_to_use() -> None:
    at = target().model_copy(update={"part_of": "gpu1/prefill"})
    with pytest.raises(RefusedError, match="it is a part of gpu1/prefill") as caught:
        planned(part("prefill"), part("decode"), at=at)
    assert caught.value.hint.startswith("name gpu1/prefill")


def test_two_units_of_one_host_that_read_one_file_are_refused() -> None:
    text = UNIT.replace("HF_HOME=/models", "A=1\nEnvironmentFile=/etc/chat.env").replace("32768", "${WINDOW}")
    given: dict[str, Any] = {"text": text, "environment_files": {"/etc/chat.env": "WINDOW=32768\n"}}
    with pytest.raises(RefusedError, match=f"/etc/chat.env is read by {DECODE} and by another part on the same host"):
        planned(part("prefill", **given), part("decode", host="node7", **given), at=declared(host="node7"))


VLLM_UNIT = """\
[Service]
ExecStart=/usr/bin/vllm serve /models/chat-70b --max-model-len 32768 --port 30000 \\
  --kv-transfer-config '{{"kv_connector":"NixlConnector","kv_role":"{role}","kv_port":14579}}'
"""


@pytest.mark.parametrize(
    ("own", "other", "said"),
    [
        ("kv_producer", "kv_consumer", ""),
        ("kv_both", "kv_both", ""),
        ("kv_producer", "kv_producer", "no part is decode"),
    ],
)
def test_a_pair_of_vllm(own: str, other: str, said: str) -> None:
    first = part("null", text=VLLM_UNIT.format(role=own)).model_copy(update={"target": "node7/chat", "part": False})
    second = part("null", text=VLLM_UNIT.format(role=other))
    at = declared()
    make: dict[str, Any] = {"redactor": Redactor(), "now": FakeClock().now()}
    facts_of_both = first.model_copy(update={"nodes": (second,)})
    values: dict[str, Any] = {"to": 200000, "expect": 32768, "mem_fraction": ""}
    if said:
        with pytest.raises(RefusedError, match=said):
            make_plan(book(BOOK), at, facts_of_both, engine_named("vllm"), values, **make)
        return
    plan = make_plan(book(BOOK), at, facts_of_both, engine_named("vllm"), values, **make)
    assert [(change.kind, getattr(change, "node", "")) for change in plan.changes][:2] == [
        ("file", ""),
        ("file", "node8/decode"),
    ]
