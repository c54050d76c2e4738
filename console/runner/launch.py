"""Putting a run together: its id, directory, log, socket and person; then the run itself, to the end."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from console import __version__
from console.clock import SystemClock, stamp, ulid
from console.engines.registry import engine_named
from console.facts.glance import glance, unprivileged
from console.planning import policy
from console.planning.groups import Groups
from console.planning.plan import make_plan
from console.remote.login import Prompt
from console.remote.session import Reader, connect_reader
from console.remote.ssh import ATTENDED_LOGIN_TIMEOUT_S, Connections
from console.results.queries.decode_law import decode_law
from console.results.repository import Repository
from console.runner import describe
from console.runner import run as whole
from console.runner.abort import Abort, Choice
from console.runner.ask import Ask, Desk, Question
from console.runner.context import Options, RunContext
from console.runner.doors import Doors
from console.runner.notify import Notifier
from console.runner.target_run import TargetRun
from console.runs.control import Abort as StopIt
from console.runs.control import Answer, Extend, Reply
from console.runs.directory import RunDirectory, base_folder
from console.runs.log import kill_after
from console.runs.socket import ControlSocket
from console.runs.state import RunState
from console.schema.events import AbortRequested, Event, WaitExtended
from console.schema.facts import Facts
from console.schema.hosts import Inventory, Target
from console.schema.plan import Plan, PlanFile
from console.schema.runbook import Runbook, Value
from console.secrets import Redactor


@dataclass(frozen=True)
class Request:
    """What is to be run. `plans` are given ones (a saved plan, a resume, a rollback); else they are made from facts."""

    runbook: Runbook
    targets: Sequence[Target]
    variables: dict[str, Value]
    inventory: Inventory
    options: Options
    front: Ask
    redactor: Redactor
    on_event: Callable[[Event], None]
    plans: Mapping[str, Callable[[Facts, Reader], Awaitable[Plan]]] = field(default_factory=dict)
    plan_id: str = ""
    on_start: Callable[[RunContext], None] = lambda _context: None
    ways: Connections | None = None  # to be closed with the run; else it makes its own
    note: Callable[[str], None] = lambda _text: None  # what is said after the run's own last word


async def launch(request: Request, environment: Mapping[str, str]) -> whole.RunResult:
    """Carry out a request. Raises what is wrong before a run begins; after that everything ends in a record."""
    policy.keys(request.targets, environment)
    clock = SystemClock()
    speeds = {target.host.speed for target in request.targets}
    run_id = ulid(clock.now(), os.urandom(10))
    base = base_folder(environment)
    directory = RunDirectory.create(base, run_id)
    log = directory.log(
        now=lambda: stamp(clock.now()), redactor=request.redactor, kill_after=kill_after(dict(environment))
    )
    state = RunState()
    log.subscribe(state.apply)
    notifier = Notifier(request.inventory.notify, environment, state, request.redactor)
    log.subscribe(notifier.hear)
    log.subscribe(request.on_event)
    abort = Abort()
    context = RunContext(
        run=run_id,
        directory=directory,
        log=log,
        redactor=request.redactor,
        clock=SystemClock(speed=speeds.pop()) if len(speeds) == 1 else clock,
        desk=Desk(request.front, log.append),
        abort=abort,
        options=request.options,
        routers={target.name: describe.router(request.inventory, target.name) for target in request.targets},
        results_path=request.inventory.results_path,
    )
    abort.on_request = lambda how, choice, _count: _say_abort(context, how, choice)
    connections = request.ways or Connections(environment)
    if connections.prompter.followed:
        connections.prompter.ask = _login(context, request)
    repository = Repository(
        request.inventory.results_path, push=request.inventory.results.push, environment=environment
    )
    groups = _groups(request, connections, environment)
    context.doors = Doors(request.inventory.groups, frozenset(groups.of_run), groups.look)
    runs = [_target_run(context, request, target, connections, environment, groups) for target in request.targets]
    socket = ControlSocket(run_id, environment, _handler(context))
    await socket.start()
    request.on_start(context)
    try:
        return await whole.execute(
            context, state, request.runbook, runs, request.variables, repository, _keeper(context, request)
        )
    finally:
        context.desk.close()
        await notifier.aclose(request.note)
        await socket.close()
        await connections.aclose()
        log.close()
        directory.release()


def _login(context: RunContext, request: Request) -> Prompt:
    """Asks whoever follows the run what a host wants to know at login: a one-time code is good for one of them only."""

    async def ask(hop: str, text: str, echo: bool) -> str | None:
        host = next((target for target in request.targets if target.host_name == hop), request.targets[0])
        question = Question("login", host.name, f"{hop} asks at login: {text}", (), "", unseen=not echo)
        answer = await context.desk.put_outside(question, ATTENDED_LOGIN_TIMEOUT_S)
        if answer:
            request.redactor.learn(answer)
        return answer or None

    return ask


def _keeper(context: RunContext, request: Request) -> Callable[[Sequence[TargetRun]], None]:
    """Writes plan.json, once, when every target is planned."""

    def keep(runs: Sequence[TargetRun]) -> None:
        context.directory.write_plan(
            PlanFile(
                console_version=__version__,
                runbook=request.runbook.name,
                runbook_path=request.runbook.path,
                inventory=str(request.inventory.path or ""),
                results_path=str(request.inventory.results_path),
                push=request.inventory.results.push,
                waves=tuple(str(wave) for wave in request.runbook.waves),
                targets=tuple(request.targets),
                plans=tuple(run.plan for run in runs if run.plan is not None),
                plan_id=request.plan_id,
            ),
            context.redactor,
        )

    return keep


def _groups(request: Request, connections: Connections, environment: Mapping[str, str]) -> Groups:
    """The other members of the targets' groups, each looked at over a connection of its own, without sudo."""

    async def look(target: Target) -> Facts:
        policy.keys([target], environment)
        reader = await connect_reader(
            unprivileged(target),
            redactor=request.redactor,
            clock=SystemClock(speed=target.host.speed),
            environment=environment,
            connections=connections,
        )
        try:
            return await glance(reader, engine_named(target.service.engine))
        finally:
            await reader.aclose()

    return Groups(request.inventory, frozenset(target.name for target in request.targets), look)


def _target_run(
    context: RunContext,
    request: Request,
    target: Target,
    connections: Connections,
    environment: Mapping[str, str],
    groups: Groups,
) -> TargetRun:
    engine = engine_named(target.service.engine)

    async def open_reader() -> Reader:
        return await connect_reader(
            target,
            redactor=request.redactor,
            clock=SystemClock(speed=target.host.speed),
            environment=environment,
            on_connection=context.connection_said(target.name),
            connections=connections,
            nodes=True,
        )

    async def planner(facts: Facts, reader: Reader) -> Plan:
        given = request.plans.get(target.name)
        if given is not None:
            return await given(facts, reader)
        path = request.inventory.results_path
        law = await asyncio.to_thread(decode_law, path, target.name, environment=environment)
        return make_plan(
            request.runbook,
            target,
            facts,
            engine,
            request.variables,
            redactor=request.redactor,
            now=context.clock.now(),
            law=law,
            front=await groups.of(target, request.runbook),
        )

    return TargetRun(context, target, engine, open_reader, planner)


def _say_abort(context: RunContext, how: str, choice: Choice) -> None:
    context.emit(AbortRequested(how=how, choice=choice))


def _handler(context: RunContext) -> Callable[[StopIt | Answer | Extend], Reply]:
    """What another terminal may ask of this run through its socket."""

    def handle(message: StopIt | Answer | Extend) -> Reply:
        match message:
            case StopIt():
                context.abort.request(message.by or "attach", message.choice)
                return Reply(ok=True)
            case Answer():
                wrong = context.desk.answer(message.question, message.answer, message.by or "attach")
                return Reply(ok=not wrong, message=wrong)
            case Extend():
                context.extended_s += message.minutes * 60
                context.emit(WaitExtended(minutes=message.minutes, by=message.by or "attach"))
                return Reply(ok=True)

    return handle
