"""A restart where a process would run something else, and from the start that was seen."""

from __future__ import annotations

from typing import Any

import pytest

from console.schema.change import RestartChange
from console.steps.base import Look, Skip
from console.steps.service_restart import ServiceRestart
from tests.fakes import OLD, SGLANG, effective, facts, target


def look(unit: dict[str, Any] | None = None, **more: Any) -> Look:
    return Look(target(), facts(unit=unit or {}), SGLANG, effective(""), "restart", "c2", **more)


def restart(step: ServiceRestart, seen: Look) -> RestartChange:
    (change,) = step.plan(seen)
    assert isinstance(change, RestartChange)
    return change


def test_it_ends_the_start_that_was_seen() -> None:
    change = restart(ServiceRestart(), look({"n_restarts": 4}, restart_due=True))
    assert (change.unit, change.invocation_before, change.n_restarts_before) == ("chat.service", OLD, 4)


def test_a_job_that_was_queued_before_is_told_from_ours() -> None:
    assert restart(ServiceRestart(), look({"job": "7"}, restart_due=True)).job_before == "7"


def test_it_is_skipped_when_the_process_runs_what_the_files_say() -> None:
    assert list(ServiceRestart().plan(look())) == [Skip("what runs is what the files say")]


def test_always_restarts_in_any_case() -> None:
    assert restart(ServiceRestart(always=True), look()).invocation_before == OLD


@pytest.mark.parametrize(
    ("unit", "reset"),
    [
        ({"active_state": "failed", "result": "exit-code"}, True),
        ({"active_state": "inactive", "result": "start-limit-hit"}, True),
        ({"active_state": "activating", "sub_state": "auto-restart", "result": "exit-code"}, True),
        ({"active_state": "activating", "sub_state": "auto-restart-queued"}, True),
        ({"active_state": "active", "n_restarts": 1}, True),
        ({"active_state": "inactive", "result": "success"}, False),
        ({"active_state": "active"}, False),
    ],
)
def test_the_counter_of_failed_starts_is_reset_where_systemd_would_refuse(unit: dict[str, Any], reset: bool) -> None:
    assert restart(ServiceRestart(), look(unit, restart_due=True)).reset_failed is reset
