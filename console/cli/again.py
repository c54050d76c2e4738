"""What `resume` and `rollback` share: finding the earlier run, on this machine or in the host's ledger."""

from __future__ import annotations

import argparse
import os
import tomllib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from console.cli import connecting, identity
from console.cli.carry_out import drive, options
from console.cli.front import Front
from console.cli.output import Output
from console.engines.registry import engine_named
from console.errors import StateError
from console.planning import policy
from console.remote.session import Reader
from console.runner.again import Earlier
from console.runner.launch import Request
from console.runner.recover import CLOSED
from console.runner.resume import resume_plan
from console.runner.rollback import rollback_plan
from console.runs.directory import RunDirectory, base_folder
from console.runs.listing import find_run, summarise
from console.runs.log import read_events
from console.runs.state import RunState, fold
from console.schema.facts import Facts
from console.schema.hosts import Inventory, Target
from console.schema.plan import Plan
from console.schema.runbook import Runbook, parse_runbook

Purpose = Literal["resume", "rollback"]


@dataclass(frozen=True)
class Past:
    """A run that was: what it did to each target, and the inventory's word on results."""

    run: str
    targets: Mapping[str, Earlier]
    inventory: Inventory
    runbook: Runbook
    root: str = ""  # the run whose ledger entry holds the backups
    operator: str = ""  # who began it, where that is not known to be the one who finishes it


def of_this_machine(name: str, purpose: Purpose) -> Past:
    """The run of an id (or its beginning) in this machine's run directories.

    Raises StateError for a run that still goes on, that changed nothing, or that has nothing left to go on with.
    """
    base = base_folder(os.environ)
    directory = find_run(base, name)
    if directory.alive():
        raise StateError(f"run {directory.run_id} is still going on", hint="stop it where it runs, or wait for it")
    summary = summarise(directory)
    state = fold(read_events(directory.events_path))
    cut_off = state.finished is not None and state.finished.message == CLOSED
    if purpose == "resume" and not (summary.open or summary.needs_recover or summary.left_out or cut_off):
        ended = ", ".join(f"{target} {outcome}" for target, outcome in summary.outcomes.items())
        raise StateError(f"run {directory.run_id} has ended: {ended or 'nothing begun'}", hint="plan and run again")
    started = state.started
    if purpose == "rollback" and started is not None and started.purpose != "run" and started.parent:
        if started.purpose == "rollback":
            raise StateError(
                f"run {directory.run_id} is a rollback itself",
                hint=f"console resume {directory.run_id} finishes it; to go forward again, run the runbook",
            )
        return of_this_machine(started.parent, purpose)  # a resume's changes are those of the run it went on with
    return _past(directory, state)


def _past(directory: RunDirectory, state: RunState) -> Past:
    file = directory.read_plan()
    targets = {plan.target.name: _earlier(directory.run_id, plan, state) for plan in file.plans}
    begun = {name: earlier for name, earlier in targets.items() if state.target(name).changes}
    if not file.plans:
        raise StateError(f"run {directory.run_id} ended before anything was planned", hint="it changed nothing")
    table: dict[str, Any] = {"schema": 1, "results": {"path": file.results_path, "push": file.push}}
    root = state.started.root if state.started and state.started.root else directory.run_id
    return Past(directory.run_id, begun or targets, Inventory.model_validate(table), runbook_of(file.plans[0]), root)


def _earlier(run: str, plan: Plan, state: RunState) -> Earlier:
    target = state.target(plan.target.name)
    known = target.changes
    return Earlier(
        run,
        plan,
        made=frozenset(name for name, change in known.items() if change.was_made or change.state == "intended"),
        tried=frozenset(known),
        undoing=target.undo_started is not None and not (target.undo_finished and target.undo_finished.proven),
        purpose=state.started.purpose if state.started else "run",
        root=state.started.root if state.started else "",
    )


def runbook_of(plan: Plan) -> Runbook:
    return parse_runbook(plan.runbook_text, tomllib.loads(plan.runbook_text), plan.runbook_path or plan.runbook)


def carry_out(past: Past, purpose: Purpose, arguments: argparse.Namespace, output: Output) -> int:
    """Plan again from the earlier run and the host as it is, ask, and do it: a run of its own with a parent."""
    targets = [earlier.plan.target for earlier in past.targets.values()]
    verb = "Go on with" if purpose == "resume" else "Roll back"
    runbook = past.runbook.model_copy(
        update={"unattended": "refuse", "waves": (), "confirm": past.runbook.confirm or f"{verb} {past.run}?"}
    )
    me = f"{identity.operator()} from {identity.this_host()}"
    others = past.operator if past.operator != me or arguments.verb == "takeover" else ""
    chosen = options(arguments, output, parent=past.run, purpose=purpose, root=past.root, taken_over_from=others)
    policy.attended(runbook, targets, terminal=chosen.terminal, yes=chosen.yes, reason=chosen.reason)
    front = Front(output, json=arguments.json, title=f"{verb} {past.run}")
    request = Request(
        runbook=runbook,
        targets=targets,
        variables=dict(next(iter(past.targets.values())).plan.variables),
        inventory=past.inventory,
        options=chosen,
        front=front,
        redactor=output.redactor,
        on_event=front.event,
        ways=connecting.connections(arguments, output),
        plans={name: planner(earlier, purpose) for name, earlier in past.targets.items()},
    )
    return drive(request, front).exit_code


def planner(earlier: Earlier, purpose: Purpose) -> Callable[[Facts, Reader], Awaitable[Plan]]:
    make = resume_plan if purpose == "resume" else rollback_plan

    async def plan_again(facts: Facts, reader: Reader) -> Plan:
        return await make(earlier, facts, reader, engine_named(earlier.plan.target.service.engine))

    return plan_again


def target_named(inventory: Inventory, name: str) -> Target | None:
    """The target of that name, or None when the word is something else (a run's id)."""
    known = {target.name for target in inventory.targets()} | set(inventory.hosts)
    return inventory.target(name) if name in known else None
