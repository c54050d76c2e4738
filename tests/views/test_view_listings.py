from __future__ import annotations

from console.results.queries.list import HistoryRow
from console.runs.listing import RunSummary
from console.schema.hosts import Inventory
from console.views.listings import history_table, hosts_table, runs_table
from tests.views import story
from tests.views.golden import screen, too_wide


def runs() -> list[RunSummary]:
    return [
        RunSummary(
            id="01K2EXAMPLE0000000000000CC",
            path="/x",
            runbook="extend-context",
            started="2026-03-04T04:00:00.000Z",
            targets=(story.TARGET,),
            alive=True,
        ),
        RunSummary(
            id="01K2EXAMPLE0000000000000BB",
            path="/x",
            runbook="extend-context",
            purpose="resume",
            started="2026-03-04T03:30:00.000Z",
            targets=(story.TARGET, "node8/chat"),
            outcomes={story.TARGET: "applied-unverified", "node8/chat": "not-started"},
            open_targets={story.TARGET: "its process is gone: changed, not proven to serve"},
            needs_recover=True,
            next=("console recover", "console resume 01K2EXAMPLE0000000000000BB"),
        ),
        RunSummary(id="01K2EXAMPLE0000000000000AA", path="/x", damaged="it has no run.started: nothing was begun"),
    ]


def history() -> list[HistoryRow]:
    return [
        HistoryRow(
            sha="d" * 40,
            at="2026-03-04T03:06:03Z",
            run="01K2EXAMPLE0000000000000AA",
            target=story.TARGET,
            runbook="extend-context",
            outcome="verified",
            operator="ops@desk",
            subject="node7/chat: context_length 16384 -> 65536 (+1), verified",
            simulated=True,
        ),
        HistoryRow(
            sha="e" * 40,
            at="2026-03-04T02:06:03Z",
            run="01K2EXAMPLE0000000000000ZZ",
            target=story.TARGET,
            runbook="extend-context",
            outcome="no-change",
            operator="ops@desk",
            subject="node7/chat: context_length already 16384, no-change",
        ),
    ]


def test_runs_read_as_their_screen() -> None:
    assert runs_table(runs(), with_next=True) + "\n" == screen("runs_open")
    assert too_wide(runs_table(runs(), with_next=True)) == []


def test_an_open_run_is_marked_in_every_listing() -> None:
    text = runs_table(runs())
    assert "OPEN node7/chat: its process is gone" in text
    assert "next:" not in text


def test_history_reads_as_its_screen() -> None:
    assert history_table(history()) + "\n" == screen("history")
    assert too_wide(history_table(history())) == []


def test_hosts_say_how_each_is_reached() -> None:
    inventory = Inventory.model_validate(
        {
            "schema": 1,
            "defaults": {"user": "ops"},
            "hosts": {
                "node7": {
                    "address": "node7.example.net",
                    "port": 2222,
                    "jump": "bastion",
                    "protected": True,
                    "tags": ["h100", "chat"],
                    "services": {"chat": {"unit": story.UNIT, "engine": "sglang", "url": "http://127.0.0.1:30000"}},
                },
                "spare": {},
            },
            "groups": {"chat": {"members": [story.TARGET]}},
        }
    )
    text = hosts_table(inventory)
    assert "ops@node7.example.net:2222" in " ".join(text.split()) or "ops@node7" in text
    assert "hosts without a service: spare" in text
    assert "group chat: node7/chat; at least 1 ready" in text
    assert too_wide(text) == []
