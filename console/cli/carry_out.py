"""Carry out a runbook, or a saved plan: what is asked and allowed first, then the run in its loop."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from console.cli import connecting, consent, identity, note, runbooks
from console.cli.front import Front
from console.cli.inventory import inventory
from console.cli.output import Output
from console.clock import SystemClock
from console.errors import RefusedError, UsageError
from console.planning import change_policy, lint, policy
from console.planning.bind import bind
from console.planning.saved import SavedPlan, load_plan, unused
from console.runner.context import Options, RunContext
from console.runner.launch import Request, launch
from console.runner.run import RunResult
from console.schema.hosts import Inventory, Target, load_inventory
from console.schema.runbook import Runbook

if TYPE_CHECKING:
    from console.remote.ssh import Connections


def options(arguments: argparse.Namespace, output: Output, **more: str) -> Options:
    return Options(
        operator=identity.operator(),
        from_host=identity.this_host(),
        yes=arguments.yes,
        terminal=output.is_terminal and not arguments.json,
        reason=arguments.reason,
        ticket=arguments.ticket,
        note=note.note_of(arguments, output),
        consent=consent.read(arguments),
        on_abort=arguments.on_abort,
        commit=not arguments.no_commit,
        **more,  # type: ignore[arg-type]
    )


def allowed(hosts: Inventory, runbook: Runbook, chosen: Options, override: str) -> Options:
    """The options with an override's reason in them. Raises UsageError for what the inventory's policy forbids."""
    if policy.may_change(runbook):
        change_policy.check(
            hosts.policy, SystemClock().now(), reason=chosen.reason, ticket=chosen.ticket, override=override
        )
    if not override:
        return chosen
    return replace(chosen, reason="; ".join(part for part in (chosen.reason, f"policy override: {override}") if part))


def approved(hosts: Inventory, targets: Sequence[Target], runbook: Runbook, plan: Path | None, plan_id: str) -> None:
    """Raise RefusedError where a protected host is to be changed and too few others approved the plan."""
    wanted = hosts.policy.approvals
    if not wanted or not policy.may_change(runbook) or not any(target.protected for target in targets):
        return
    if plan is None:
        raise RefusedError(
            f"a protected host needs {wanted} approvals, and those are given to a saved plan",
            hint="console plan … --out FILE; somebody else: console history approve FILE; console run --plan FILE",
        )
    from console.results import approvals
    from console.results.history import History

    approvals.check(History(hosts.results_path, os.environ), plan_id, approvals.digest(plan), wanted)


def run(arguments: argparse.Namespace, output: Output, ways: Connections | None, loop: asyncio.Runner) -> int:
    """`ways` are connections of this loop, some of which may have begun already."""
    if arguments.plan:
        return _run_saved(arguments, output)
    runbook = runbooks.load(arguments.runbook)
    variables = lint.variables(runbook, runbooks.assignments(arguments.assignments))
    hosts = inventory(arguments)
    targets = bind(hosts, arguments.targets, runbook.targets, arguments.limit)
    chosen = options(arguments, output)
    chosen = allowed(hosts, runbook, chosen, arguments.override)
    policy.attended(runbook, targets, terminal=chosen.terminal, yes=chosen.yes, reason=chosen.reason)
    approved(hosts, targets, runbook, None, "")
    if runbook.experiment is not None:
        from console.cli import experiment

        if ways is not None:
            loop.run(ways.aclose())  # each of its runs has a loop of its own
        return experiment.run(arguments, output, runbook, variables, hosts, targets, chosen)
    if arguments.continued:
        raise UsageError("--continue is for a runbook with an [experiment] table")
    front = Front(output, json=arguments.json, title=runbook.title or runbook.name)
    request = Request(
        runbook=runbook,
        targets=targets,
        variables=variables,
        inventory=hosts,
        options=chosen,
        front=front,
        redactor=output.redactor,
        on_event=front.event,
        ways=ways or connecting.connections(arguments, output),
        note=output.note,
    )
    return drive(request, front, loop).exit_code


def _run_saved(arguments: argparse.Namespace, output: Output) -> int:
    if arguments.runbook or arguments.assignments or arguments.limit:
        raise UsageError("--plan FILE stands alone: no RUNBOOK, TARGET, --set or --limit")
    saved = load_plan(Path(arguments.plan))
    unused(saved, os.environ)
    hosts = saved.inventory_now()
    targets = saved.targets_now(_inventory_of(arguments, saved))
    chosen = options(arguments, output)
    now = _inventory_of(arguments, saved)
    if now is None and policy.may_change(saved.runbook) and any(target.protected for target in targets):
        raise RefusedError(
            "the inventory that says who approves changes of a protected host cannot be read",
            where=saved.file.inventory,
            hint="console --hosts FILE run --plan …",
        )
    now = now.model_copy(update={"results": hosts.results}) if now else hosts
    chosen = allowed(now, saved.runbook, chosen, arguments.override)
    policy.attended(saved.runbook, targets, terminal=chosen.terminal, yes=chosen.yes, reason=chosen.reason)
    approved(now, targets, saved.runbook, Path(arguments.plan), saved.file.plan_id)
    front = Front(output, json=arguments.json, title=saved.runbook.title or saved.runbook.name)
    request = Request(
        runbook=saved.runbook,
        targets=targets,
        variables=dict(saved.file.plans[0].variables),
        inventory=now,
        options=chosen,
        front=front,
        redactor=output.redactor,
        on_event=front.event,
        ways=connecting.connections(arguments, output),
        plans=saved.planners(),
        plan_id=saved.file.plan_id,
    )
    return drive(request, front).exit_code


def _inventory_of(arguments: argparse.Namespace, saved: SavedPlan) -> Inventory | None:
    """The inventory as it is now: the one named, else the one that the plan was made with, where it can be read."""
    if arguments.hosts:
        return inventory(arguments)
    path = Path(saved.file.inventory)
    return load_inventory(path) if saved.file.inventory and path.exists() else None


def drive(request: Request, front: Front, loop: asyncio.Runner | None = None) -> RunResult:
    """Run a request in this loop, else in one of its own, with the signals of a terminal mapped to a stop."""
    whole = _drive(lambda on_start: launch(with_start(request, on_start), os.environ), front)
    return loop.run(whole) if loop else asyncio.run(whole)


def with_start(request: Request, on_start: Callable[[RunContext], None]) -> Request:
    return replace(request, on_start=on_start)


async def _drive(start: Callable[[Callable[[RunContext], None]], Awaitable[RunResult]], front: Front) -> RunResult:
    loop = asyncio.get_running_loop()

    def on_start(context: RunContext) -> None:
        front.context = context
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, context.abort.request, signal.Signals(number).name)

    try:
        return await start(on_start)
    finally:
        front.close()
