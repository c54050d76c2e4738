"""What the results repository holds of a target's speed: its last sweep, other rates, and its last good facts."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from console.analysis.diagnosis.diagnosis import Recorded
from console.analysis.diagnosis.recorded import Cell, Rate
from console.errors import ConsoleError
from console.results.queries.list import HistoryRow, list_records
from console.schema.outcome import Outcome

# Older records say little of the service as it is now.
LOOK_BACK = 100
LEAST_CELLS = 3
# Records that keep no cells keep their rates only: a sweep's are the two-point of 32 and 600 output tokens.
HALF_OUTPUT_TOKENS = 316
GOOD = frozenset({Outcome.VERIFIED.value, Outcome.MEASURED.value, Outcome.NO_CHANGE.value})


@dataclass(frozen=True)
class KnownSpeed:
    """`facts` are those of the last good record, as JSON; `since` names it."""

    recorded: Recorded = field(default_factory=Recorded)
    facts: Mapping[str, Any] = field(default_factory=dict)
    since: str = ""
    reason: str = ""  # why there is nothing


def known_speed(path: Path, target: str, *, environment: Mapping[str, str] = os.environ) -> KnownSpeed:
    """The newest sweep with three cells or more, all other rates, and the newest good facts of one target.

    Never raises: without a repository, or without records of the target, `reason` says so.
    """
    try:
        rows = list_records(path, limit=LOOK_BACK, target=target, environment=environment)
    except ConsoleError as error:
        return KnownSpeed(reason=error.message)
    folder = path.expanduser().resolve()
    cells: tuple[Cell, ...] = ()
    rates: list[Rate] = []
    source, since = "", ""
    facts: Mapping[str, Any] = {}
    for row in rows:
        record = _load(folder, row)
        if record is None:
            continue
        found = tuple(_cells(record, "sweep")) or tuple(_cells_of_findings(record))
        if not cells and len(found) >= LEAST_CELLS:
            cells, source = found, f"the sweep of {row.at[:16]}Z"
        rates += [
            Rate(one.rate_tok_s, one.context_tokens, f"two-point of {row.at[:10]}") for one in _cells(record, "decode")
        ]
        good = record.get("outcome") in GOOD and not str(record.get("runbook", "")).startswith("diagnose")
        if (
            not facts
            and good
            and isinstance(found_facts := record.get("facts_after") or record.get("facts_before"), dict)
        ):
            facts, since = found_facts, f"{row.at[:16]}Z"
    reason = "" if rows else f"no record of {target} in {folder}"
    return KnownSpeed(Recorded(cells, tuple(rates), source), facts, since, reason)


def _load(folder: Path, row: HistoryRow) -> dict[str, Any] | None:
    """record.json of a commit, as it lies in the working tree; records of any version are read as far as they go."""
    host, _, service = row.target.partition("/")
    for path in sorted((folder / host / service).glob(f"*/{row.run}/record.json")):
        try:
            document = json.loads(path.read_bytes())
        except (OSError, ValueError, RecursionError):
            return None
        return document if isinstance(document, dict) else None
    return None


def _cells(record: Mapping[str, Any], step: str) -> Iterator[Cell]:
    for one in _tables(record, "cells"):
        if one.get("step") != step or one.get("state") == "refused":
            continue
        prompt, at = _number(one.get("context_tokens")), _number(one.get("at_tokens"))
        rate, accept = _number(one.get("rate_tok_s")), _number(one.get("accept_length"))
        if prompt is not None and rate and accept:
            text_class, positions = str(one.get("text_class") or ""), tuple(_numbers(one.get("draft_positions")))
            yield Cell(prompt, at or prompt + HALF_OUTPUT_TOKENS, rate, accept, text_class, positions)


def _cells_of_findings(record: Mapping[str, Any]) -> Iterator[Cell]:
    """Rates with the acceptance that was found with them, or at the same context of the same text."""
    rates: dict[tuple[float, str], float] = {}
    accepts: dict[tuple[float, str], float] = {}
    for one in _tables(record, "findings"):
        context, value = _number(one.get("context_tokens")), _number(one.get("value"))
        if context is None or not value:
            continue
        key, figures = (context, str(one.get("text_class") or "")), one.get("figures")
        if one.get("name") == "decode_rate":
            rates[key] = value
            if isinstance(figures, dict) and (accept := _number(figures.get("accept_length"))):
                accepts[key] = accept
        elif one.get("name") == "accept_length":
            accepts[key] = value
    for (context, text_class), rate in rates.items():
        if accept := accepts.get((context, text_class)):
            yield Cell(context, context + HALF_OUTPUT_TOKENS, rate, accept, text_class)


def _tables(record: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    found = record.get(name)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _numbers(values: object) -> Iterator[float]:
    for value in values if isinstance(values, list) else ():
        number = _number(value)
        if number is not None:
            yield number


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
