"""`console demo`: the main job on a simulated host, from the plan to the commit."""

from __future__ import annotations

import argparse
import asyncio
import os
from datetime import UTC, datetime
from pathlib import Path

from console.cli import identity
from console.cli.carry_out import drive
from console.cli.front import Front
from console.cli.output import Output
from console.cli.terminal import needs_terminal
from console.errors import RefusedError
from console.lab.lab import LabError, start_detached, stop_detached
from console.lab.simulator.faults import NAMES
from console.planning import lint
from console.planning.shelf import runbook_path
from console.runner.context import Options
from console.runner.launch import Request
from console.schema.hosts import Inventory, load_inventory

SPEED = 20.0
# As few requests as still make a decode rate with an interval, and a line.
DEMO_VARIABLES = {"mem_fraction": "0.92", "samples": "5", "sweep_contexts": "13,1663,3333,5553", "budget": "8m"}
# A fault strikes the start with the larger window only, so that the demo also shows the way back.
FAULT_ABOVE_CONTEXT = 32768
SERVICES = ("k26", "chat", "coder")


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--fault", choices=NAMES, help="let the simulated engine fail in this way")
    parser.add_argument("--tui", action="store_true", help="the terminal UI on three targets, one of them in trouble")
    parser.add_argument("--story", action="store_true", help="one night, from a complaint to the record")
    parser.add_argument("--json", action="store_true", help="events as JSON lines on stdout")


def run(arguments: argparse.Namespace, output: Output) -> int:
    folder = demo_folder()
    if arguments.tui:
        return tui(folder, output)
    if arguments.story:
        from console.cli.story import tell

        return tell(folder, output)
    output.note(
        f"a simulated host in {folder}: everything it says is marked as simulated, "
        f"and its clock runs {SPEED:.0f} times as fast as yours"
    )
    try:
        lab = start_detached(folder, speed=SPEED, fault=arguments.fault, above_context=FAULT_ABOVE_CONTEXT)
    except LabError as error:
        raise RefusedError(str(error), where=str(folder)) from error
    try:
        hosts = load_inventory(lab.hosts_toml)
        code = change(hosts, arguments, output)
        if not arguments.json:
            show(hosts, output)
    finally:
        stop_detached(folder)
    return code


def tui(folder: Path, output: Output) -> int:
    """The terminal UI on a simulated host with three services; the host ends with it."""
    needs_terminal()
    from console.cli.main import VERBS
    from console.tui.opening import run_app

    output.note(f"a simulated host with three services in {folder}; it takes some seconds")
    try:
        lab = start_detached(folder, speed=SPEED, services=SERVICES)
    except LabError as error:
        raise RefusedError(str(error), where=str(folder)) from error
    try:
        # Somebody edited the second one and never reloaded; the third one is down.
        edited = lab.service(SERVICES[1]).unit_file
        edited.write_text(
            edited.read_text("utf-8").replace("--context-length 32768", "--context-length 65536"), "utf-8"
        )
        lab.ask("systemctl", "stop", "--no-block", lab.service(SERVICES[2]).unit)
        return run_app(lab.hosts_toml, output.redactor, verbs={verb: text for verb, (_, text) in VERBS.items()})
    finally:
        stop_detached(folder)


def demo_folder() -> Path:
    """A new folder for this call."""
    base = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "console" / "demo"
    return base / datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")


def change(hosts: Inventory, arguments: argparse.Namespace, output: Output) -> int:
    """extend_context with mem_fraction 0.92: 32768 -> 200000 in a pool that then holds it, and measured shortly."""
    runbook = lint.load(runbook_path("extend_context.toml"))
    front = Front(output, json=arguments.json, title=runbook.title)
    request = Request(
        runbook=runbook,
        targets=hosts.targets(),
        variables=lint.variables(runbook, DEMO_VARIABLES),
        inventory=hosts,
        options=Options(operator=identity.operator(), from_host=identity.this_host(), yes=True, reason="demonstration"),
        front=front,
        redactor=output.redactor,
        on_event=front.event,
    )
    return drive(request, front).exit_code


def show(hosts: Inventory, output: Output) -> None:
    """The commit that an auditor will find, and the commands for a real host."""
    text = asyncio.run(_last_commit(hosts.results_path))
    target = hosts.targets()[0]
    output.data(f"\nWhat git log of {hosts.results_path} says:\n")
    output.data("\n".join(f"    {line}".rstrip() for line in text.splitlines()))
    output.data(
        "\nThe simulated host is gone now, and with it what `next` names; `console lab up` starts one that stays.\n"
        "\nOn a host of yours:\n"
        f"    console hosts add gpu1/{target.service_name} --address gpu1.example.net --unit {target.service.unit} \\\n"
        f"        --engine sglang --url http://127.0.0.1:30000\n"
        "    console hosts trust gpu1\n"
        f"    console plan runbooks/extend_context.toml gpu1/{target.service_name} --set mem_fraction=0.92\n"
        f"    console run runbooks/extend_context.toml gpu1/{target.service_name} --set mem_fraction=0.92"
    )


async def _last_commit(path: Path) -> str:
    from console.results.repository import last_message

    return await asyncio.to_thread(last_message, path)
