"""A plan kept in a file: carried out once, and only while the host is as it was."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from console import __version__
from console.errors import InvalidFileError, StalePlanError, StateError
from console.planning import nodes
from console.remote.session import Reader
from console.runs.directory import RunDirectory, base_folder, masked_json, write_durably
from console.runs.log import read_events
from console.schema.events import ChangeIntended
from console.schema.facts import Facts
from console.schema.hosts import Host, Inventory, Target
from console.schema.plan import Plan, PlanFile
from console.schema.runbook import Runbook, parse_runbook
from console.secrets import Redactor


@dataclass(frozen=True)
class SavedPlan:
    """A plan file with its runbook."""

    file: PlanFile
    runbook: Runbook

    @property
    def targets(self) -> list[Target]:
        return list(self.file.targets)

    def targets_now(self, inventory: Inventory | None) -> list[Target]:
        """The plan's targets, with what the inventory says by now of how a host is protected."""
        hosts = inventory.hosts if inventory else {}
        return [
            target.model_copy(update={"host": target.host.model_copy(update={"protected": _protected(target, hosts)})})
            if target.host_name in hosts
            else target
            for target in self.targets
        ]

    def inventory_now(self) -> Inventory:
        """What the run needs of the inventory: where the results go. The targets are those of the plan."""
        table: dict[str, Any] = {"schema": 1, "results": {"path": self.file.results_path, "push": self.file.push}}
        return Inventory.model_validate(table)

    def planners(self) -> Mapping[str, Callable[[Facts, Reader], Awaitable[Plan]]]:
        """One function a target that hands out its plan, or raises StalePlanError."""
        return {plan.target.name: _still(plan) for plan in self.file.plans}


def _protected(target: Target, hosts: Mapping[str, Host]) -> bool:
    names = (target.host_name, *(node.host_name for node in target.nodes))
    return any(hosts[name].protected for name in names if name in hosts)


def _still(plan: Plan) -> Callable[[Facts, Reader], Awaitable[Plan]]:
    async def hand_out(facts: Facts, reader: Reader) -> Plan:
        check_fresh(plan, facts)
        return plan

    return hand_out


def check_fresh(plan: Plan, facts: Facts) -> None:
    """Raise StalePlanError when the host is not as the plan read it: files, boot, or the unit's start."""
    now = nodes.deciding(facts)
    differing = sorted(path for path in plan.deciding.keys() | now.keys() if plan.deciding.get(path) != now.get(path))
    reasons = [f"{path} changed" for path in differing]
    if facts.host.boot_id != plan.boot_id:
        reasons.append("the host was rebooted")
    elif facts.unit.invocation_id != plan.invocation_id:
        reasons.append(f"{facts.unit.id} was started again")
    if reasons:
        raise StalePlanError(
            f"the plan is stale: {', '.join(reasons)}; nothing was written",
            where=plan.target.name,
            hint="plan again and look at the difference",
        )


def save_plan(
    path: Path, runbook: Runbook, inventory: Inventory, plans: Sequence[Plan], plan_id: str, redactor: Redactor
) -> None:
    """Keep plans, masked, for `console run --plan FILE`; `plan_id` is what they are used once by. Raises StateError."""
    file = PlanFile(
        console_version=__version__,
        runbook=runbook.name,
        runbook_path=runbook.path,
        inventory=str(inventory.path or ""),
        results_path=str(inventory.results_path),
        push=inventory.results.push,
        waves=tuple(str(wave) for wave in runbook.waves),
        targets=tuple(plan.target for plan in plans),
        plans=tuple(plans),
        plan_id=plan_id,
    )
    try:
        write_durably(path, masked_json(file, redactor))
    except OSError as error:
        raise StateError(f"cannot write: {error.strerror or error}", where=str(path)) from error


def load_plan(path: Path) -> SavedPlan:
    """Raises InvalidFileError for a file that is no plan of ours."""
    try:
        document = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise InvalidFileError("no such file", where=str(path)) from None
    except (OSError, ValueError) as error:
        raise InvalidFileError(f"not a plan: {error}", where=str(path)) from None
    version = document.get("schema") if isinstance(document, dict) else None
    if version != 1:
        raise InvalidFileError(f"schema = {version!r}: this program reads plans of schema 1", where=str(path))
    try:
        file = PlanFile.model_validate(document)
    except ValidationError as problem:
        first = problem.errors(include_url=False, include_input=False)[0]
        key = ".".join(map(str, first["loc"]))
        raise InvalidFileError(f"not a plan: {key}: {first['msg']}", where=str(path)) from None
    if not file.plans:
        raise InvalidFileError("the plan has no target", where=str(path))
    text = file.plans[0].runbook_text
    return SavedPlan(file, parse_runbook(text, tomllib.loads(text), file.runbook_path or str(path)))


def unused(saved: SavedPlan, environment: Mapping[str, str]) -> None:
    """Raise StalePlanError when a run of this machine carries the plan out, or changed something by it already."""
    if not saved.file.plan_id:
        return
    for plan in base_folder(environment).glob("*/plan.json"):
        try:
            used = json.loads(plan.read_text("utf-8")).get("plan_id")
        except (OSError, ValueError, AttributeError):
            continue
        if used != saved.file.plan_id:
            continue
        directory = RunDirectory(plan.parent)
        if directory.alive():
            raise StalePlanError(f"this plan is being carried out by run {directory.run_id}", hint="console runs")
        if _changed_something(directory):
            raise StalePlanError(
                f"this plan was carried out by run {directory.run_id}", hint="a plan is used once: plan again"
            )


def _changed_something(directory: RunDirectory) -> bool:
    """Whether a run came as far as its first change; a log that cannot be read may have."""
    try:
        events = read_events(directory.events_path)
    except StateError:
        return True
    return any(isinstance(event, ChangeIntended) for event in events)
