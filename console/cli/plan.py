"""`console plan`: what a run would do. Touches nothing, and exits as the run would before its first change."""

from __future__ import annotations

import argparse
import asyncio
import os
import secrets
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from console.cli import ask_sudo, connecting, consent, runbooks
from console.cli.inventory import inventory
from console.cli.output import Output
from console.clock import SystemClock, ulid
from console.errors import StateError
from console.planning import lint, policy
from console.planning.bind import bind
from console.planning.consent import Consent
from console.planning.groups import Groups
from console.planning.preview import Looking, Preview
from console.planning.saved import save_plan
from console.remote.ssh import Connections
from console.runs.directory import write_durably
from console.schema.hosts import Inventory, Target
from console.schema.outcome import worst
from console.schema.plan import Plan
from console.schema.runbook import Runbook, Value
from console.views.plan import plan_text
from console.views.plan_markdown import plan_markdown


def add(parser: argparse.ArgumentParser) -> None:
    runbooks.add_binding(parser)
    parser.add_argument("--out", metavar="FILE", help="keep the plan, for 'console run --plan FILE'")
    parser.add_argument("--md", metavar="FILE", help="write the plan as Markdown")
    consent.add(parser)
    ask_sudo.add(parser)


def run(arguments: argparse.Namespace, output: Output) -> int:
    runbook = runbooks.load(arguments.runbook, verb="plan")
    variables = lint.variables(runbook, runbooks.assignments(arguments.assignments))
    hosts = inventory(arguments)
    targets = bind(hosts, arguments.targets, runbook.targets, arguments.limit)
    policy.keys(targets, os.environ)
    results = asyncio.run(
        _plan_all(
            runbook,
            targets,
            variables,
            output,
            hosts,
            said=consent.read(arguments),
            ways=connecting.connections(arguments, output),
        )
    )
    plans = [preview.plan for preview in results if preview.plan is not None]
    codes = []
    for preview in results:
        if preview.plan is not None:
            commands = () if preview.error is not None else (command(arguments, preview.plan),)
            output.raw(plan_text(preview.plan, preview.facts, color=output.color, commands=commands))
        codes.append(output.error(preview.error) if preview.error is not None else 0)
    if arguments.md and plans:
        _write(Path(arguments.md), "\n".join(output.redactor.text(plan_markdown(plan)) for plan in plans))
    code = worst(codes)
    if arguments.out and code == 0:
        plan_id = ulid(SystemClock().now(), secrets.token_bytes(10))
        save_plan(Path(arguments.out), runbook, hosts, plans, plan_id, output.redactor)
        output.note(f"kept in {arguments.out}; carry it out with: console run --plan {arguments.out}")
    return code


def command(arguments: argparse.Namespace, plan: Plan) -> str:
    """The run that would carry this plan out, for one target; what a person must add stands in capitals."""
    words = ["console", *(["--hosts", arguments.hosts] if arguments.hosts else []), "run"]
    words += [arguments.runbook, plan.target.name]
    words += [word for assignment in arguments.assignments for word in ("--set", assignment)]
    said = consent.read(arguments)
    words += consent.words(replace(said, accept_pending=said.accept_pending or plan.activation.needs_accept))
    words += ["--reason", "TEXT"] if plan.target.protected else []
    return shlex.join(words)


def _write(path: Path, text: str) -> None:
    try:
        write_durably(path, text.encode())
    except OSError as error:
        raise StateError(f"cannot write: {error.strerror or error}", where=str(path)) from error


async def _plan_all(
    runbook: Runbook,
    targets: Sequence[Target],
    variables: dict[str, Value],
    output: Output,
    hosts: Inventory,
    *,
    said: Consent,
    ways: Connections,
) -> list[Preview]:
    looking = Looking(ways, output.redactor, os.environ, hosts.results_path)
    groups = Groups(hosts, {target.name for target in targets}, looking.glance)
    try:
        previews = (looking.preview(runbook, target, variables, consent=said, groups=groups) for target in targets)
        return list(await asyncio.gather(*previews))
    finally:
        await looking.aclose()
        await looking.connections.aclose()
