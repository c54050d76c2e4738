"""Keeping a target's record: saved and fsynced first, then committed once. What fails here changes no outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from console.errors import ConsoleError
from console.results.record import build_record, save_record
from console.results.repository import Repository
from console.runs.directory import RunDirectory
from console.runs.state import RunState
from console.schema.events import Event, RecordCommitted, RecordSaved
from console.schema.plan import Plan
from console.secrets import Redactor


async def keep(
    emit: Callable[[Event], object],
    state: RunState,
    directory: RunDirectory,
    target: str,
    plan: Plan | None,
    repository: Repository | None,
    redactor: Redactor,
) -> list[str]:
    """Save and commit the record of a target that began; no `repository`: only save. Returns what did not go well."""
    try:
        record = build_record(state, target, plan)
        path = await asyncio.to_thread(save_record, directory, record, redactor)
        if state.target(target).record is None:
            emit(RecordSaved(target=target, path=str(path)))
    except Exception as error:  # noqa: BLE001 - a record that cannot be made must not take the other targets with it
        return [f"{target}: the record could not be kept: {said(error)}; the events are in {directory.path}"]
    if repository is None:
        return []
    try:
        sha = await asyncio.to_thread(repository.commit_target, record, redactor)
    except Exception as error:  # noqa: BLE001 - as above
        emit(RecordCommitted(target=target, path=str(path), error=f"saved, not committed: {said(error)}"))
        return [f"{target}: saved, not committed: {said(error)}: {path}"]
    emit(RecordCommitted(target=target, path=str(path), sha=sha))
    return []


def said(error: Exception) -> str:
    return error.message if isinstance(error, ConsoleError) else f"{type(error).__name__}: {error}"
