"""A whole run: look at every target, plan, ask, then change them wave by wave, and end in a record each."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from console import __version__
from console.errors import CommitError
from console.results.repository import Repository
from console.runner import finish, prepare, undo
from console.runner.context import RunContext
from console.runner.target_run import TargetRun
from console.runs.state import RunState
from console.schema.events import LogLine, RunFinished, RunStarted, WaveFinished, WaveStarted
from console.schema.outcome import Outcome, worst
from console.schema.runbook import Runbook, Value

GOOD = frozenset({Outcome.VERIFIED, Outcome.NO_CHANGE, Outcome.MEASURED})


@dataclass(frozen=True)
class RunResult:
    """How it all ended; `exit_code` is the worst of the targets'."""

    exit_code: int
    outcomes: dict[str, str] = field(default_factory=dict)


async def execute(
    context: RunContext,
    state: RunState,
    runbook: Runbook,
    targets: Sequence[TargetRun],
    variables: dict[str, Value],
    repository: Repository | None,
    keep_plan: Callable[[Sequence[TargetRun]], None],
) -> RunResult:
    """Carry out a run. Every target that began ends with an outcome, a record and a commit."""
    options = context.options
    context.emit(
        RunStarted(
            runbook=runbook.name,
            title=runbook.title,
            runbook_sha256=runbook.sha256,
            parent=options.parent,
            root=options.root,
            purpose=options.purpose,
            targets=tuple(run.target.name for run in targets),
            vars=dict(variables),
            operator=options.operator,
            taken_over_from=options.taken_over_from,
            from_host=options.from_host,
            reason=options.reason,
            ticket=options.ticket,
            note=options.note,
            on_abort=options.on_abort,
            console_version=__version__,
            pid=os.getpid(),
            results_path=str(repository.path) if repository else "",
            push=repository.push if repository else "never",
        )
    )
    ended: dict[str, tuple[Outcome, int | None]] = {}
    try:
        await _all(context, state, runbook, targets, repository, keep_plan, ended)
    except Exception as error:  # noqa: BLE001 - whatever it is, the run says how far it came
        context.messages.append(str(undo.known_error(error)))
        ended[""] = (Outcome.NOT_STARTED, 1)  # of no target, and never 0
    return _close(context, state, targets, ended, repository)


async def _all(
    context: RunContext,
    state: RunState,
    runbook: Runbook,
    targets: Sequence[TargetRun],
    repository: Repository | None,
    keep_plan: Callable[[Sequence[TargetRun]], None],
    ended: dict[str, tuple[Outcome, int | None]],
) -> None:
    """Plan and ask for every target, then change them. One refusal stops them all: no fleet is changed half."""
    if repository is not None and context.options.commit:
        await _ask_for(repository, context)
    try:
        ready = all(await asyncio.gather(*(prepare.prepare(run) for run in targets)))
        keep_plan(targets)
        for run in targets:
            ready = ready and await prepare.confirm(run)
        if ready:
            await _waves(context, state, runbook, targets, repository, ended)
    finally:
        for run in targets:
            name = run.target.name
            if name not in ended and state.target(name).begun:
                ended[name] = await finish.finish(run, state, repository)
            elif name not in ended and run.reader is not None:
                await run.reader.aclose()


async def _ask_for(repository: Repository, context: RunContext) -> None:
    """Before anybody agrees, say that the record will not be committed; no change waits for that."""
    try:
        await asyncio.to_thread(repository.open)
    except CommitError as error:
        text = f"the record will be saved, not committed: {error}"
        context.emit(LogLine(source="results", kind="failure", text=text))


async def _waves(
    context: RunContext,
    state: RunState,
    runbook: Runbook,
    targets: Sequence[TargetRun],
    repository: Repository | None,
    ended: dict[str, tuple[Outcome, int | None]],
) -> None:
    """All at once with waves = ["100%"], else one after the other, stopping at the first that is not good."""
    waves = [list(targets)] if runbook.waves else [[run] for run in targets]
    for index, wave in enumerate(waves, start=1):
        names = tuple(run.target.name for run in wave)
        if len(targets) > 1:
            context.emit(WaveStarted(index=index, targets=names))
        # What one target raises must not close the connections under the others.
        results = await asyncio.gather(*(_one(run, state, repository) for run in wave), return_exceptions=True)
        good = True
        for name, result in zip(names, results, strict=True):
            if isinstance(result, BaseException):
                context.messages.append(f"{name}: {type(result).__name__}: {result}")
                ended[name] = (state.outcome(name), state.targets[name].exit_code or 1)
            else:
                ended[name] = result
            good = good and not isinstance(result, BaseException) and result[0] in GOOD
        if len(targets) > 1:
            context.emit(WaveFinished(index=index, targets=names, verdict="go on" if good else "stop"))
        if not good:
            break


async def _one(run: TargetRun, state: RunState, repository: Repository | None) -> tuple[Outcome, int | None]:
    await run.execute()
    return await finish.finish(run, state, repository)


def _close(
    context: RunContext,
    state: RunState,
    targets: Sequence[TargetRun],
    ended: dict[str, tuple[Outcome, int | None]],
    repository: Repository | None,
) -> RunResult:
    outcomes = {
        run.target.name: ended[run.target.name][0].value if run.target.name in ended else Outcome.NOT_STARTED.value
        for run in targets
    }
    if repository is not None and (waiting := repository.waiting()):
        context.messages.append(f"{waiting} records not pushed")
    code = worst(exit_code for _, exit_code in ended.values())
    context.emit(
        RunFinished(
            exit_code=code,
            outcomes=outcomes,
            records=dict(state.records),
            commits=dict(state.commits),
            message="; ".join(context.messages),
        )
    )
    return RunResult(code, outcomes)
