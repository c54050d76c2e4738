"""A whole run: look at every target, plan, ask, then change them wave by wave, and end in a record each."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from console import __version__
from console.errors import CommitError
from console.planning import waves
from console.results.repository import Repository
from console.runner import finish, prepare, undo
from console.runner.ask import Question
from console.runner.context import RunContext
from console.runner.target_run import TargetRun
from console.runs.state import RunState
from console.schema.events import LogLine, RunFinished, RunStarted, WaveFinished, WaveStarted
from console.schema.outcome import OPEN_OUTCOMES, Outcome, worst
from console.schema.runbook import Runbook, Value

# Each holds a lock or two as processes of its own, and needs sessions to work with.
TARGETS_OF_A_HOST = 2
TARGETS_AT_ONCE = 32
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
            temporary=options.consent.temporary,
            until=options.consent.until,
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
    try:
        asking = asyncio.create_task(_ask_for(repository, context))
        ready = all(await asyncio.gather(*(prepare.prepare(run) for run in targets)))
        await asking
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


async def _ask_for(repository: Repository | None, context: RunContext) -> None:
    """Before anybody agrees, say that the record will not be committed; no change waits for that."""
    if repository is None or not context.options.commit:
        return
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
    """One wave after the other, under one stop rule over the whole run. What is not begun stays not-started."""
    rule = waves.StopRule(runbook.stop_after)
    places = Places()
    left = list(targets)
    for index, size in enumerate(waves.sizes(runbook.waves, len(targets)), start=1):
        wave, left = left[:size], left[size:]
        names = tuple(run.target.name for run in wave)
        if len(targets) > 1:
            context.emit(WaveStarted(index=index, targets=names))
        # What one target raises must not close the connections under the others.
        await asyncio.gather(*(_turn(context, run, state, repository, rule, places, ended) for run in wave))
        verdict = "stop" if rule.stopped else "go on"
        if len(targets) > 1:
            begun = sum(name in ended for name in names)
            bad = f", {rule.bad} not well so far" if rule.bad else ""
            context.emit(WaveFinished(index=index, targets=names, verdict=f"{verdict}: {begun} of {size} begun{bad}"))
        if rule.stopped or (left and not await _gate(context, runbook, index, left)):
            break


async def _turn(
    context: RunContext,
    run: TargetRun,
    state: RunState,
    repository: Repository | None,
    rule: waves.StopRule,
    places: Places,
    ended: dict[str, tuple[Outcome, int | None]],
) -> None:
    """One target's whole run, when there is a place for it and the rule still lets it begin."""
    name = run.target.name
    async with places.of(run.target.host_name):
        stop_asked = context.abort.count > context.abort.kept_on
        if rule.stopped or (ended and stop_asked):
            return
        context.together.begins(name)
        try:
            ended[name] = await _one(run, state, repository)
        except Exception as error:  # noqa: BLE001 - the other targets go on
            context.messages.append(f"{name}: {type(error).__name__}: {error}")
            ended[name] = (state.outcome(name), state.targets[name].exit_code or 1)
            rule.ended(well=False)
        else:
            rule.ended(well=ended[name][0] in GOOD)
        finally:
            context.together.ends(name)
            if name in ended:
                await context.doors.ended(name, serves=ended[name][0] not in OPEN_OUTCOMES)


class Places:
    """How many targets are at work at once: few on one host, whose sshd gives a connection ten sessions."""

    def __init__(self) -> None:
        self.everywhere = asyncio.Semaphore(TARGETS_AT_ONCE)
        self.hosts: dict[str, asyncio.Semaphore] = {}

    @asynccontextmanager
    async def of(self, host: str) -> AsyncIterator[None]:
        async with self.hosts.setdefault(host, asyncio.Semaphore(TARGETS_OF_A_HOST)), self.everywhere:
            yield


async def _gate(context: RunContext, runbook: Runbook, index: int, left: Sequence[TargetRun]) -> bool:
    """Whether the next wave may begin; a person is asked where the runbook says so."""
    if runbook.between_waves == "go on":
        return True
    answer = await context.desk.put(
        Question(
            id=f"after-wave-{index}",
            target="",
            text=f"Wave {index} ended well. Begin the next? {len(left)} targets are left.",
            choices=("go on", "stop"),
            default="stop",
        )
    )
    return answer == "go on"


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
