"""Experiments at the command line: `console run` of a runbook with an [experiment] table."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace

from console.cli import connecting
from console.cli.carry_out import drive
from console.cli.front import Front
from console.cli.output import Output
from console.clock import SystemClock, ulid
from console.errors import UsageError
from console.runner.context import Options
from console.runner.experiment import ArmEnd, Figures, conduct, spec_of
from console.runner.launch import Request
from console.runs.experiment_log import ExperimentLog
from console.schema.events import Event
from console.schema.hosts import Inventory, Target
from console.schema.runbook import Runbook, Value
from console.views.experiment import experiment_text


def run(
    arguments: argparse.Namespace,
    output: Output,
    runbook: Runbook,
    given: Mapping[str, Value],
    inventory: Inventory,
    targets: Sequence[Target],
    options: Options,
) -> int:
    """Each arm an ordinary run with the experiment as its parent; the table at the end is data."""
    if len(targets) != 1:
        raise UsageError(f"an experiment is of one target, these are {len(targets)}")
    if not options.yes:
        raise UsageError(
            "an experiment restarts its target again and again: it needs --yes",
            hint="console plan shows what one run of it does",
        )
    spec = spec_of(runbook)
    clock = SystemClock()
    experiment = arguments.continued or ulid(clock.now(), os.urandom(10))
    log = ExperimentLog.of(experiment, os.environ)
    if arguments.continued:
        _same(log, runbook, targets[0])
    else:
        log.begin({"schema": 1, "runbook": runbook.sha256, "target": targets[0].name, "objective": arguments.runbook})
        output.note(f"experiment {experiment}; if this ends early: the same command with --continue {experiment}")

    def run_arm(name: str, variables: dict[str, Value]) -> ArmEnd:
        front = Front(output, json=arguments.json, title=f"{runbook.title or runbook.name}: {name}")
        figures = Figures()
        began = clock.monotonic()

        def heard(event: Event) -> None:
            figures.hear(event)
            front.event(event)

        request = Request(
            runbook=runbook,
            targets=targets,
            variables=variables,
            inventory=inventory,
            options=replace(options, parent=experiment, note=f"experiment arm {name}"),
            front=front,
            redactor=output.redactor,
            on_event=heard,
            ways=connecting.connections(arguments, output),
            note=output.note,
        )
        ended = drive(request, front)
        minutes = (clock.monotonic() - began) / 60
        return ArmEnd(
            ended.exit_code,
            figures.run,
            figures.found,
            minutes,
            figures.limit,
            figures.layer,
            figures.why,
            stop_asked(front),
        )

    now = conduct(runbook, given, log, run_arm, output.note)
    text = experiment_text(spec, log.results(), now)
    if arguments.json:
        told = {"kept": now.kept, "ended": now.ended, "limit": now.limit, "next_layer": now.layer}
        output.json({"experiment": experiment, **told, "table": text.splitlines()})
    else:
        output.data(text)
    return 0


def stop_asked(front: Front) -> str:
    """By what the run was asked to stop, and not told to keep on; nothing where it was not."""
    context = front.context
    if context is None or context.abort.count <= context.abort.kept_on:
        return ""
    aborts = front.narration.state.aborts
    return aborts[-1].how if aborts else "a stop"


def _same(log: ExperimentLog, runbook: Runbook, target: Target) -> None:
    """An experiment goes on only as what it was."""
    document = log.document()
    if document.get("runbook") != runbook.sha256 or document.get("target") != target.name:
        raise UsageError(
            f"it was begun on {document.get('target')} with another text of the runbook",
            hint="results of two experiments are not mixed: begin anew",
        )
