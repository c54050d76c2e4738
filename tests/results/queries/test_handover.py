"""A handover lists what is open, and nothing else; each with the command that closes it."""

from __future__ import annotations

from console.results.history import History
from console.results.queries.drift import Drift, Drifted
from console.results.queries.handover import (
    Handover,
    Item,
    drift_items,
    ended_items,
    guard_items,
    lock_items,
    open_items,
    out_items,
    unkept_items,
    unseen_items,
)
from console.runs.listing import RunSummary
from console.schema.facts import Facts, GuardState, HostState, LedgerEntry, LockState, UnitState
from console.views.handover import handover_markdown, handover_text
from tests.results.queries.conftest import run_id

OPEN = LedgerEntry(
    run=run_id(1), state="open", operator="robin", from_host="desk4", at="2026-03-04T05:00:00Z",
    reason="longer documents", summary="context_length 32768 -> 200000",
)  # fmt: skip
FACTS = Facts(
    target="gpu7/llm",
    read_at="2026-03-04T06:00:00Z",
    host=HostState(),
    unit=UnitState(id="x.service"),
    ledger=(OPEN, OPEN.model_copy(update={"run": run_id(2), "state": "verified"})),
    guard=GuardState(run=run_id(1), active=True, fires_in_s=600.0),
)
QUIET = Facts(target="gpu8/llm", read_at="2026-03-04T06:00:00Z", host=HostState(), unit=UnitState(id="y.service"))
HERE = RunSummary(id=run_id(1), path="/x", open_targets={"gpu7/llm": "changed, not proven to serve"})


def page(*items: Item) -> Handover:
    return Handover("2026-03-03T18:00:00Z", "2026-03-04T06:00:00Z", items)


def test_exactly_one_of_each() -> None:
    drifted = Drifted(
        "gpu8/llm", "2026-03-04T06:00:00Z", "2026-03-01T00:00:00Z", run_id(3),
        (Drift("context_length", "8192", "16384", "disk", "by hand", "/etc/systemd/system/y.service"),),
    )  # fmt: skip
    facts = (FACTS, QUIET)
    items = [
        *open_items([HERE], facts),
        *guard_items(facts),
        *lock_items(facts),
        *drift_items([drifted, Drifted("gpu7/llm", "", "x", "y")]),
        *unkept_items([HERE], 1, "/findings"),
    ]
    assert [item.kind for item in items] == ["open", "guard", "drift", "unkept"]
    assert [item.close[0] for item in items] == [
        f"console takeover {run_id(1)}",
        f"console takeover {run_id(1)}",
        "console history drift --record gpu8/llm",
        "console recover",
    ]
    assert "looks at 2026-03-04T06:10:00Z" in items[1].what
    text = handover_text(page(*items))
    assert [line for line in text.splitlines() if len(line) > 80] == []
    assert "open changes (1)" in text
    assert "longer documents" in " ".join(text.split())
    assert "1 record of /findings not pushed" in text
    assert f"  - `console takeover {run_id(1)} --rollback`" in handover_markdown(page(*items))


def test_what_no_host_told_of_is_told_by_this_machine() -> None:
    (item,) = open_items([HERE], [QUIET])
    assert (item.target, item.what) == ("gpu7/llm", "changed, not proven to serve")


def test_a_replica_that_was_left_out_of_its_balancer() -> None:
    left = {"gpu7/llm": "touch /etc/nginx/in   (on the host)"}
    run = RunSummary(id=run_id(1), path="/x", targets=("gpu7/llm",), left_out=left, reason="longer documents")
    (item,) = out_items([run])
    assert (item.kind, item.target, item.close) == ("out", "gpu7/llm", ("touch /etc/nginx/in   (on the host)",))
    later = RunSummary(id=run_id(2), path="/x", targets=("gpu7/llm",))
    assert list(out_items([run, later])) == []


def test_a_lock_and_a_host_that_is_away() -> None:
    held = QUIET.model_copy(update={"lock": LockState(held=True, run=run_id(9), operator="sam")})
    (lock,) = lock_items([held])
    assert lock.close == (f"console attach {run_id(9)}",)
    (away,) = unseen_items({"gpu9/llm": "no route\nto host"})
    assert away.what == "no route to host"


def test_runs_that_went_wrong_since(history: History) -> None:
    assert [(item.target, item.run) for item in ended_items(history, 0.0)] == [("gpu7/llm", run_id(2))]
    assert list(ended_items(history, 1772700000.0)) == []


def test_nothing_is_said_to_be_nothing() -> None:
    assert handover_text(page()).endswith("nothing to hand over")
    assert handover_markdown(page()).endswith("Nothing to hand over.")
