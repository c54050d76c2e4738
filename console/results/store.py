"""Records as the repository keeps them: found by run, read out of git's objects, whatever the working tree holds."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from console.errors import StateError, UsageError
from console.results.history import History, Row, Span, as_ended

if TYPE_CHECKING:
    from console.schema.record import Record

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_RUN = re.compile(rf"[{_CROCKFORD}]{{1,26}}")
TIME_DIGITS = 10


@dataclass(frozen=True)
class Seen:
    """The settings in force on a target when it was seen last, by a record."""

    at: str
    run: str
    sha: str
    settings: Mapping[str, str]
    document: Mapping[str, Any]


def begun(run: str) -> datetime | None:
    """When a run began, as its id says (github.com/ulid/spec); None for too short a beginning of one."""
    if len(run) < TIME_DIGITS or not _RUN.fullmatch(run):
        return None
    number = 0
    for digit in run[:TIME_DIGITS]:
        number = number * 32 + _CROCKFORD.index(digit)
    try:
        return datetime.fromtimestamp(number / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return None


def find_rows(history: History, prefix: str) -> list[Row]:
    """The records of the run whose id begins so, one a target. Raises UsageError for none, or for several runs."""
    wanted = prefix.strip().upper()
    if not _RUN.fullmatch(wanted):
        raise UsageError(f"{prefix!r} is not the beginning of a run's id", hint="console history list shows them")
    moment = begun(wanted)
    span = Span(moment.timestamp() - 86400 if moment else None, None)
    rows = [row for row in history.rows(span=span, patterns=[f"^Run-Id: {wanted}"]) if row.run.startswith(wanted)]
    runs = list(dict.fromkeys(row.run for row in rows))
    if not runs:
        raise UsageError(f"no record of a run {prefix!r}", where=str(history.path), hint="console history list")
    if len(runs) > 1:
        raise UsageError(f"{len(runs)} runs begin with {prefix!r}: {', '.join(runs[:5])}", hint="give more of the id")
    return rows


def document_of(history: History, row: Row, name: str = "record.json") -> str:
    """A file of a record as its commit has it. Raises StateError where it is not there."""
    for year in _years(row):
        answer = history.git.run("cat-file", "blob", f"{row.sha}:{row.target}/{year}/{row.run}/{name}")
        if answer.ok:
            return answer.out
    raise StateError(
        f"the commit of run {row.run} has no {name} that git can read",
        where=f"{history.path} {row.sha[:12]}",
        hint=f"git -C {history.path} fsck says whether it is damaged; a clone elsewhere may have it whole",
    )


def raw_record(history: History, row: Row) -> dict[str, Any]:
    """record.json as it was written. Raises StateError where it cannot be read."""
    try:
        document = json.loads(document_of(history, row))
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise StateError(f"the record of run {row.run} is damaged", where=f"{history.path} {row.sha[:12]}")
    return document


def record_of(history: History, row: Row) -> Record:
    """The record of a row. Raises StateError where it cannot be read."""
    from console.results.record import read_record

    return read_record(raw_record(history, row), where=f"{history.path} {row.sha[:12]}")


def sightings(history: History, target: str) -> Iterator[Seen]:
    """The records that saw the target's command line, newest first."""
    for row in as_ended(history.rows(target)):
        if (seen := sighting(history, row)) is not None:
            yield seen


def sighting(history: History, row: Row) -> Seen | None:
    """What a record saw of its target's command line; None where it saw nothing, or is damaged."""
    try:
        document = raw_record(history, row)
    except StateError:
        return None  # a damaged record hides itself, not the ones before it
    settings = settings_of(document)
    return Seen(row.at, row.run, row.sha, settings, document) if settings else None


def newest_settings(history: History, target: str) -> Seen | None:
    """The newest record that saw the target's command line; None where there is none."""
    return next(sightings(history, target), None)


def settings_of(document: Mapping[str, Any]) -> dict[str, str]:
    """The settings in force at the end of a record's run, as far as it says; empty where nothing was seen."""
    before, after = _settings(document, "before"), _settings(document, "after")
    match document.get("outcome"):
        case "rolled-back":
            return before or after
        case "verified" | "verified-incomplete" | "applied-unverified" if before and not after:
            # It was not looked at again: what was made stands all the same.
            listed = document.get("settings")
            made = [
                one for one in (listed if isinstance(listed, list) else ())
                if isinstance(one, Mapping) and one.get("made") and "setting" in one
            ]  # fmt: skip
            changed = before | {str(one["setting"]): one.get("after") for one in made}
            return {name: str(value) for name, value in changed.items() if value is not None}
    return after or before


def _settings(document: Mapping[str, Any], when: str) -> dict[str, str]:
    stack = document.get(f"stack_{when}")
    if isinstance(stack, Mapping):
        found = stack.get("settings")
        return {str(key): str(value) for key, value in found.items()} if isinstance(found, Mapping) else {}
    facts = document.get(f"facts_{when}")
    if f"stack_{when}" in document or not isinstance(facts, Mapping) or not facts:
        return {}
    from console.results.stack import stack_of  # records of older versions have facts only

    old = stack_of(str(document.get("engine", "")), facts)
    return old.settings if old is not None else {}


def _years(row: Row) -> list[str]:
    """The folders a record may lie in: by the year its target's run started."""
    ended = datetime.fromtimestamp(row.ended, UTC).year
    moment = begun(row.run)
    return list(dict.fromkeys(str(year) for year in (ended, moment.year if moment else ended, ended - 1)))
