"""A whole run: look at every target, plan, ask, then change them wave by wave, and end in a record each."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from console import __version__
from console.results.repository import Repository
from console.runner import finish
from console.runner.context import RunContext
from console.runner.target_run import TargetRun
from console.runs.state import RunState
from console.schema.events import RunFinished, RunStarted, WaveFinished, WaveStarted
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
    planned = await asyncio.gather(*(run.prepare() for run in targets))
    keep_plan(targets)
    ready = all(planned)
    if ready:
        for run in targets:
            if not await run.confirm():
                ready = False
                planned[targets.index(run)] = False
                break
    if ready:
        await _waves(context, state, runbook, targets, repository, ended)
    else:
        # One refusal stops them all: a fleet is not changed half because one host could not be asked.
        for run, prepared in zip(targets, planned, strict=True):
            if not prepared or len(targets) == 1:
                ended[run.target.name] = await finish.finish(run, state, repository)
            elif run.reader is not None:
                await run.reader.aclose()
    return _close(context, state, targets, ended, repository)


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
        results = await asyncio.gather(*(_one(run, state, repository) for run in wave))
        for run, result in zip(wave, results, strict=True):
            ended[run.target.name] = result
        good = all(outcome in GOOD for outcome, _ in results)
        if len(targets) > 1:
            context.emit(WaveFinished(index=index, targets=names, verdict="go on" if good else "stop"))
        if not good:
            break
    for run in targets:
        if run.target.name not in ended and run.reader is not None:
            await run.reader.aclose()


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
