"""A small history with a story: a baseline, an attempt, a change, a hand edit, and sweeps."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from console.results.history import History
from console.results.repository import Repository
from console.schema.events import FindingMade
from console.schema.outcome import Outcome
from console.schema.record import ObservedSetting, Record, RecordSetting, Stack
from console.secrets import Redactor

CONTEXTS = (13, 1663, 3333, 5553)
NOISE = (0.002, -0.001, 0.0015, -0.002)


def run_id(number: int) -> str:
    return f"01KAYX5V00000000000000{number:04d}"


def stack(**settings: str) -> Stack:
    return Stack(id="-".join(settings.values()), engine="sglang", version="0.5", settings=settings)


def change(before: str | None, after: str, *, made: bool = True) -> tuple[RecordSetting, ...]:
    return (RecordSetting(setting="context_length", before=before, after=after, path="/etc/x", made=made),)


def sweep(factor: float, sign: int = 1) -> tuple[FindingMade, ...]:
    return tuple(
        FindingMade(
            name="decode_rate",
            value=140 * factor * (1 - context / 20000) * (1 + sign * noise),
            unit="tok/s",
            context_tokens=context,
            text_class="analysis",
        )
        for context, noise in zip(CONTEXTS, NOISE, strict=True)
    )


Commit = Callable[..., None]


@pytest.fixture
def commit(repository: Repository, record: Record) -> Commit:
    """Commit a record of run `number` that ended on that day of March 2026."""

    def add(number: int, **values: Any) -> None:
        day = f"2026-03-{number:02d}T05:00:00.000Z"
        plain = {"settings": (), "changes": (), "findings": (), "levels": (), "outage_s": None}
        asked = plain | {"run": run_id(number), "finished_at": day, "invocation_after": f"i{number}"} | values
        repository.commit_target(record.model_copy(update=asked), Redactor())

    return add


@pytest.fixture
def history(repository: Repository, commit: Commit) -> History:
    small, large = (
        stack(context_length="32768", mem_fraction="0.85"),
        stack(context_length="200000", mem_fraction="0.85"),
    )
    hand = stack(context_length="131072", mem_fraction="0.85")
    commit(1, purpose="adopt", outcome=Outcome.NO_CHANGE, stack_before=small, reason="begin here")
    commit(
        2, settings=change("32768", "200000"), outcome=Outcome.ROLLED_BACK, stack_before=small, stack_after=large,
        outage_s=400.0,
    )  # fmt: skip
    commit(
        3, settings=change("32768", "200000"), stack_before=small, stack_after=large, outage_s=251.4,
        operator="robin", reason="longer documents", ticket="OPS-9", findings=sweep(1.0),
    )  # fmt: skip
    commit(4, outcome=Outcome.MEASURED, stack_before=large, findings=sweep(1.001, -1))
    commit(
        5, purpose="observe", outcome=Outcome.NO_CHANGE, stack_before=hand,
        observed=(
            ObservedSetting(
                setting="context_length", before="200000", after="131072", how="by hand",
                since="2026-03-04T05:00:00Z", until="2026-03-05T05:00:00Z",
            ),
        ),
    )  # fmt: skip
    commit(6, outcome=Outcome.MEASURED, stack_before=hand, findings=sweep(1.05, -1))
    return History(repository.path, os.environ)
