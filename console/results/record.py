"""record.json: made from the events of a run, masked, and saved before anything else is done with it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import ValidationError

from console.errors import InternalError, StateError
from console.results import before_after, measured, report
from console.results.stack import stack_of
from console.runs.directory import RunDirectory, write_durably
from console.runs.state import RunState
from console.runs.target_state import ChangeState, StepState, TargetState
from console.schema.change import FileChange
from console.schema.events import DriftObserved, RunStarted
from console.schema.names import NAME
from console.schema.plan import Plan
from console.schema.record import Record, RecordChange, RecordSetting, RecordStep
from console.secrets import Redactor

LOG_LINES = 100
LOG_TEXT_CHARACTERS = 400


def build_record(state: RunState, target: str, plan: Plan | None = None) -> Record:
    """The record of one target, from its events; the plan adds what events do not say. Not yet masked.

    Raises KeyError for a target that no event names.
    """
    seen = state.targets[target]
    started = state.started or RunStarted(runbook=plan.runbook if plan else "")
    facts_before = seen.facts.get("before") or seen.facts.get("plan") or {}
    facts_after = seen.facts.get("after") or {}
    edit = seen.edits[0] if seen.edits else None
    engine = seen.engine or (plan.target.service.engine if plan else "")
    return Record.model_validate(
        {
            "run": state.run,
            "parent": started.parent,
            "purpose": started.purpose,
            "target": target,
            "unit": seen.unit or (plan.target.service.unit if plan else ""),
            "engine": engine,
            "runbook": started.runbook,
            "runbook_sha256": started.runbook_sha256,
            "runbook_text": plan.runbook_text if plan else "",
            "plan_sha256": seen.plan.plan_sha256 if seen.plan else started.plan_sha256,
            "variables": started.vars,
            "operator": started.operator,
            "taken_over_from": started.taken_over_from,
            "operator_auth": seen.auth,
            "from_host": started.from_host,
            "reason": started.reason,
            "ticket": started.ticket,
            "note": started.note,
            "started_at": seen.started_at or started.ts,
            "finished_at": seen.finished.ts if seen.finished else seen.last_at,
            "duration_s": _duration_s(seen),
            "outcome": seen.outcome,
            "exit_code": seen.exit_code,
            "message": _message(seen),
            "live": seen.finished.live if seen.finished else seen.live,
            "settings": _settings(seen, plan),
            "changes": [_change(change) for change in seen.changes.values()],
            "steps": [_step(step) for step in seen.steps.values()],
            "levels": list(seen.levels.values()),
            "levels_before": list(seen.levels_before.values()),
            "observed": [_observed(one) for one in seen.observed],
            "outage_s": _outage_s(seen),
            "router": seen.router,
            "stack_before": stack_of(engine, facts_before),
            "stack_after": stack_of(engine, facts_after),
            "invocation_before": _invocation(facts_before),
            "invocation_after": seen.verified.invocation_id if seen.verified else _invocation(facts_after),
            "digests_before": _digests(facts_before),
            "digests_after": _digests(facts_after),
            "findings": seen.findings,
            "cells": seen.cells,
            "loads": seen.loads,
            "conclusions": seen.conclusions,
            "log": [
                line.model_copy(update={"text": line.text[:LOG_TEXT_CHARACTERS]}) for line in seen.log[-LOG_LINES:]
            ],
            "facts_before": facts_before,
            "facts_after": facts_after,
            "warnings": plan.warnings if plan else seen.plan.warnings if seen.plan else (),
            "answers": seen.plan.answers if seen.plan else {},
            "capacity": seen.plan.capacity if seen.plan else None,
            "also_activates": edit.also_activates if edit else (),
            "diff": "".join(dict.fromkeys(_diffs(seen, plan))),
            "argv_before": plan.argv_before if plan else edit.argv_before if edit else (),
            "argv_after": plan.argv_after if plan else edit.argv_after if edit else (),
            "next": seen.finished.next if seen.finished else (),
            "simulated": bool(facts_before.get("host", {}).get("simulated")) or bool(plan and plan.target.simulated),
            "speed": plan.target.host.speed if plan else 1.0,
            "console_version": started.console_version,
            "schema": 1,
        }
    )


def masked(record: Record, redactor: Redactor) -> Record:
    """The record without secrets. Masking what is masked already changes nothing."""
    try:
        return Record.model_validate(redactor.tree(record.model_dump(mode="json", by_alias=True)))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise InternalError(f"the masked record is not one: {first['loc']}: {first['msg']}") from None


def folder_of(record: Record) -> PurePosixPath:
    """Where a record lies in the repository: `<host>/<service>/<yyyy>/<run-id>`."""
    host, _, service = record.target.partition("/")
    year = record.started_at[:4]
    for part in (host, service, year, record.run):
        if not NAME.fullmatch(part):
            raise InternalError(f"{part!r} of the record of {record.target!r} cannot be part of a path")
    return PurePosixPath(host, service, year, record.run)


def documents(record: Record) -> dict[str, bytes]:
    """The files of a masked record, by name: record.json, report.md (with the difference), and what was measured."""
    files = {
        "record.json": json.dumps(record.model_dump(mode="json", by_alias=True), indent=1, ensure_ascii=False) + "\n",
        "report.md": report.render(record),
        **measured.files(record),
    }
    if svg := before_after.chart(before_after.pairs(record), title=f"{record.target}: tokens before and after"):
        files[before_after.NAME] = svg
    return {name: text.encode("utf-8", "backslashreplace") for name, text in files.items()}


def save_record(directory: RunDirectory, record: Record, redactor: Redactor) -> Path:
    """Keep a record in its run's directory, durably; returns the path of record.json. Raises StateError.

    This copy needs no repository: when committing fails, nothing is lost.
    """
    record = masked(record, redactor)
    folder = directory.records_path / folder_of(record)
    try:
        write_documents(folder, documents(record))
    except OSError as error:
        raise StateError(
            f"cannot save the record: {error.strerror or error}", where=str(error.filename or folder)
        ) from error
    return folder / "record.json"


def write_documents(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write the files of a record, each whole or not at all, record.json last. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.iterdir():
        if any(left.name.startswith(f".{name}.") for name in files):
            left.unlink(missing_ok=True)  # of a console that died while it wrote
    for name in sorted(files, key=lambda name: name == "record.json"):
        write_durably(folder / name, files[name], mode=0o644)


def load_record(path: Path) -> Record:
    """A record as saved. Raises StateError; records of newer versions are read as far as they are understood."""
    try:
        document: Any = json.loads(path.read_bytes())
    except OSError as error:
        raise StateError(f"cannot read: {error.strerror or error}", where=str(path)) from None
    except ValueError as error:
        raise StateError(f"not a record: {str(error).splitlines()[0]}", where=str(path)) from None
    return read_record(document, where=str(path))


def read_record(document: Any, *, where: str) -> Record:
    """A record out of its JSON, of whichever version. Raises StateError."""
    version = document.get("schema") if isinstance(document, dict) else None
    if isinstance(version, int) and version > 1:
        document = document | {"schema": 1}
    try:
        return Record.model_validate(document)
    except ValidationError as error:
        raise StateError(f"not a record: {str(error).splitlines()[0]}", where=where) from None


def _duration_s(seen: TargetState) -> float:
    if seen.finished is not None:
        return seen.finished.duration_s
    try:
        passed = datetime.fromisoformat(seen.last_at) - datetime.fromisoformat(seen.started_at)
    except ValueError:
        return 0.0
    return max(0.0, round(passed.total_seconds(), 3))


def _outage_s(seen: TargetState) -> float | None:
    """From the restart until it served, as the steps took; None where nothing was restarted."""
    if not any(change.change.kind == "restart" and change.was_made for change in seen.changes.values()):
        return None
    waited = (step for step in seen.steps.values() if step.uses in ("service.restart", "service.wait_ready"))
    return round(sum(step.duration_s for step in waited), 3)


def _observed(event: DriftObserved) -> dict[str, str | None]:
    return event.model_dump(include={"setting", "before", "after", "how", "since", "until", "path"})


def _invocation(facts: Mapping[str, Any]) -> str:
    unit = facts.get("unit")
    return str(unit.get("invocation_id") or "") if isinstance(unit, Mapping) else ""


def _digests(facts: Mapping[str, Any]) -> dict[str, str]:
    """sha256 of every file that decides the unit, by its path."""
    files = facts.get("files")
    found = [file for file in files if isinstance(file, Mapping)] if isinstance(files, list | tuple) else []
    return {str(file.get("path")): str(file["sha256"]) for file in found if file.get("sha256")}


def _message(seen: TargetState) -> str:
    if seen.finished is not None and seen.finished.message:
        return seen.finished.message
    bad = ("failed", "refused", "unknown", "aborted")
    return next((step.message for step in seen.steps.values() if step.outcome in bad and not step.undoing), "")


def _settings(seen: TargetState, plan: Plan | None) -> list[RecordSetting]:
    """The settings asked for; made where the file change that carries them was made."""
    written = {
        path
        for change in seen.changes.values()
        if change.was_made and isinstance(change.change, FileChange)
        for path in (change.change.path, change.change.real_path)
    }
    if plan is not None:
        asked = [(one.setting, one.before, one.after, one.path) for one in (*plan.settings, *plan.unchanged)]
    else:
        asked = [(one.setting, one.before, one.after, one.file.rpartition(":")[0] or one.file) for one in seen.edits]
    return [
        RecordSetting(setting=name, before=before, after=after, path=path, made=before != after and path in written)
        for name, before, after, path in asked
    ]


def _change(change: ChangeState) -> RecordChange:
    undone = "undone" if change.was_made else "not made"
    state = {"intended": "unknown", "made": "made", "undoing": "unknown", "undone": undone}[change.state]
    return RecordChange(
        id=change.change.id,
        kind=change.change.kind,
        step=change.step,
        summary=change.change.summary,
        state=state,
        before=change.before,
        after=change.after,
        backup=change.backup,
    )


def _step(step: StepState) -> RecordStep:
    return RecordStep(
        id=step.id,
        uses=step.uses,
        title=step.title,
        outcome=step.outcome or "unknown",
        message=step.message,
        started_at=step.started_at,
        duration_s=step.duration_s,
        error=step.error,
    )


def _diffs(seen: TargetState, plan: Plan | None) -> Iterable[str]:
    diffs = [edit.diff for edit in (plan.edits if plan else seen.edits) if edit.diff]
    return [diff if diff.endswith("\n") else diff + "\n" for diff in diffs]
