"""`console plan`: what a run would do. Touches nothing, and exits as the run would before its first change."""

from __future__ import annotations

import argparse
import asyncio
import os
import secrets
from collections.abc import Sequence
from pathlib import Path

from console import __version__
from console.cli import runbooks
from console.cli.inventory import inventory
from console.cli.output import Output
from console.clock import SystemClock, ulid
from console.engines.registry import engine_named
from console.errors import ConsoleError, StateError
from console.facts.collect import collect
from console.planning import lint, policy
from console.planning.bind import bind
from console.planning.plan import make_plan
from console.remote.session import connect_reader
from console.remote.ssh import Connections
from console.runs.directory import write_durably
from console.schema.facts import Facts
from console.schema.hosts import Target
from console.schema.outcome import worst
from console.schema.plan import Plan, PlanFile
from console.schema.runbook import Runbook, Value
from console.views.plan import plan_text
from console.views.plan_markdown import plan_markdown


def add(parser: argparse.ArgumentParser) -> None:
    runbooks.add_binding(parser)
    parser.add_argument("--out", metavar="FILE", help="keep the plan, for 'console run --plan FILE'")
    parser.add_argument("--md", metavar="FILE", help="write the plan as Markdown")
    parser.add_argument("--accept-pending", action="store_true", help="do not refuse what others left on disk")


def run(arguments: argparse.Namespace, output: Output) -> int:
    runbook = runbooks.load(arguments.runbook)
    variables = lint.variables(runbook, runbooks.assignments(arguments.assignments))
    hosts = inventory(arguments)
    targets = bind(hosts, arguments.targets, runbook.targets, arguments.limit)
    policy.keys(targets, os.environ)
    results = asyncio.run(_plan_all(runbook, targets, variables, output, accept=arguments.accept_pending))
    plans = [plan for plan, _, _ in results if plan is not None]
    codes = []
    for plan, facts, error in results:
        if plan is not None:
            output.data(plan_text(plan, facts))
        codes.append(output.error(error) if error is not None else 0)
    if arguments.md and plans:
        _write(Path(arguments.md), "\n".join(output.redactor.text(plan_markdown(plan)) for plan in plans))
    code = worst(codes)
    if arguments.out and code == 0:
        file = PlanFile(
            console_version=__version__,
            runbook=runbook.name,
            runbook_path=runbook.path,
            inventory=str(hosts.path or ""),
            results_path=str(hosts.results_path),
            push=hosts.results.push,
            waves=runbook.waves,
            targets=tuple(targets),
            plans=tuple(plans),
            plan_id=ulid(SystemClock().now(), secrets.token_bytes(10)),
        )
        _write(Path(arguments.out), file.model_dump_json(by_alias=True, indent=1) + "\n")
        output.note(f"kept in {arguments.out}; carry it out with: console run --plan {arguments.out}")
    return code


def _write(path: Path, text: str) -> None:
    try:
        write_durably(path, text.encode())
    except OSError as error:
        raise StateError(f"cannot write: {error.strerror or error}", where=str(path)) from error


async def _plan_all(
    runbook: Runbook, targets: Sequence[Target], variables: dict[str, Value], output: Output, *, accept: bool
) -> list[tuple[Plan | None, Facts | None, ConsoleError | None]]:
    connections = Connections(os.environ)

    async def one(target: Target) -> tuple[Plan | None, Facts | None, ConsoleError | None]:
        plan: Plan | None = None
        facts: Facts | None = None
        try:
            clock = SystemClock(speed=target.host.speed)
            engine = engine_named(target.service.engine)
            reader = await connect_reader(
                target,
                redactor=output.redactor,
                clock=clock,
                environment=os.environ,
                on_connection=None,
                connections=connections,
            )
            facts = await collect(reader, engine)
            plan = make_plan(
                runbook, target, facts, engine, variables, redactor=output.redactor, now=SystemClock().now()
            )
            policy.unlocked(facts)
            policy.permitted(plan, facts)
            policy.answerable(plan)
            policy.pending(plan, accept=accept)
        except ConsoleError as error:
            return plan, facts, error
        return plan, facts, None

    try:
        return list(await asyncio.gather(*(one(target) for target in targets)))
    finally:
        await connections.aclose()
