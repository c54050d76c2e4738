"""What `resume` and `rollback` share: finding the earlier run, on this machine or in the host's ledger."""

from __future__ import annotations

import argparse
import os
import tomllib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from console.cli.front import Front
from console.cli.output import Output
from console.cli.run import drive, options
from console.engines.registry import engine_named
from console.errors import StateError
from console.planning import policy
from console.remote.session import Reader
from console.runner import again
from console.runner.launch import Request
from console.runs.directory import base_folder
from console.runs.listing import find_run
from console.schema.facts import Facts
from console.schema.hosts import Inventory, Target
from console.schema.plan import Plan
from console.schema.runbook import Runbook, parse_runbook

Purpose = Literal["resume", "rollback"]


@dataclass(frozen=True)
class Earlier:
    """A run that was: its plans by target, and the inventory's word on results."""

    run: str
    plans: Mapping[str, Plan]
    inventory: Inventory
    runbook: Runbook


def of_this_machine(name: str) -> Earlier:
    """The run of an id (or its beginning) in this machine's run directories. Raises StateError."""
    directory = find_run(base_folder(os.environ), name)
    if directory.alive():
        raise StateError(f"run {directory.run_id} is still going on", hint="stop it where it runs, or wait for it")
    file = directory.read_plan()
    if not file.plans:
        raise StateError(f"run {directory.run_id} ended before anything was planned", hint="it changed nothing")
    table: dict[str, Any] = {"schema": 1, "results": {"path": file.results_path, "push": file.push}}
    plans = {plan.target.name: plan for plan in file.plans}
    return Earlier(directory.run_id, plans, Inventory.model_validate(table), runbook_of(file.plans[0]))


def runbook_of(plan: Plan) -> Runbook:
    return parse_runbook(plan.runbook_text, tomllib.loads(plan.runbook_text), plan.runbook_path or plan.runbook)


def carry_out(earlier: Earlier, purpose: Purpose, arguments: argparse.Namespace, output: Output) -> int:
    """Plan again from the earlier run and the host as it is, ask, and do it: a run of its own with a parent."""
    targets = [plan.target for plan in earlier.plans.values()]
    runbook = earlier.runbook.model_copy(update={"unattended": "refuse", "waves": ()})
    asks = runbook if runbook.confirm else runbook.model_copy(update={"confirm": "Go on?"})
    chosen = options(arguments, output, parent=earlier.run, purpose=purpose)
    policy.attended(asks, targets, terminal=chosen.terminal, yes=chosen.yes, reason=chosen.reason)
    verb = "Go on with" if purpose == "resume" else "Roll back"
    front = Front(output, json=arguments.json, title=f"{verb} {earlier.run}")
    request = Request(
        runbook=runbook,
        targets=targets,
        variables=dict(next(iter(earlier.plans.values())).variables),
        inventory=earlier.inventory,
        options=chosen,
        front=front,
        redactor=output.redactor,
        on_event=front.event,
        plans={name: planner(plan, purpose) for name, plan in earlier.plans.items()},
    )
    return drive(request, front).exit_code


def planner(plan: Plan, purpose: Purpose) -> Callable[[Facts, Reader], Awaitable[Plan]]:
    make = again.resume_plan if purpose == "resume" else again.rollback_plan

    async def plan_again(facts: Facts, reader: Reader) -> Plan:
        return await make(plan, facts, reader, engine_named(plan.target.service.engine))

    return plan_again


def target_named(inventory: Inventory, name: str) -> Target | None:
    """The target of that name, or None when the word is something else (a run's id)."""
    known = {target.name for target in inventory.targets()} | set(inventory.hosts)
    return inventory.target(name) if name in known else None
