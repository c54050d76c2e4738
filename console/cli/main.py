"""The front door: finds the command group, and loads nothing else."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Sequence

from console import __version__
from console.cli.output import Output

# verb → (module, help). A module has `add(parser)` and `run(arguments, output) -> int`.
VERBS: dict[str, tuple[str, str]] = {
    "plan": ("console.cli.plan", "show what a run would do; touches nothing"),
    "run": ("console.cli.run", "carry out a runbook"),
    "runs": ("console.cli.runs", "runs of this machine, and which are open"),
    "attach": ("console.cli.attach", "follow a run that goes on, stop it, answer it"),
    "resume": ("console.cli.resume", "go on with an interrupted run"),
    "rollback": ("console.cli.rollback", "undo a run, or the last change of a target"),
    "takeover": ("console.cli.takeover", "finish a run of another machine, from the host's ledger"),
    "recover": ("console.cli.recover", "close and commit runs whose process is gone"),
    "measure": ("console.cli.measure", "decode rate, and step time over context"),
    "hosts": ("console.cli.hosts", "list or add hosts, pin their keys"),
    "logs": ("console.cli.logs", "the journals of several services as one, by time"),
    "exec": ("console.cli.exec", "the same look on several hosts, recorded; equal answers are shown once"),
    "facts": ("console.cli.facts", "what is so on a target, at four levels"),
    "capacity": ("console.cli.capacity", "will a context fit, and what would make it fit"),
    "diagnose": ("console.cli.diagnose", "why is it slow? Explained from its log and record; no load is sent"),
    "workload": ("console.cli.workload", "the shape of the traffic, out of traces and request logs"),
    "history": ("console.cli.history", "what happened, from the results repository"),
    "handover": ("console.cli.handover", "one page for whoever takes over"),
    "doctor": ("console.cli.doctor", "is the unit sane, and would the host start it again"),
    "lint": ("console.cli.lint", "check runbooks and the inventory"),
    "schema": ("console.cli.schema", "print a JSON schema for editors"),
    "demo": ("console.cli.demo", "the main job on a simulated host"),
    "lab": ("console.cli.lab", "start or stop a simulated host"),
}


def build(verb: str | None) -> argparse.ArgumentParser:
    """The parser, with only the arguments of `verb` filled in."""
    parser = argparse.ArgumentParser(
        prog="console",
        allow_abbrev=False,  # the command is found before the options are read, by their whole names
        description="Runbooks, proof and records for LLM inference hosts. Without a command: the terminal UI.",
        epilog="Exit codes: 0 done; 1 refused; 2 usage; 3 applied, unverified; 4 rolled back; 5 rollback failed; "
        "6 locked; 7 no connection; 8 stale plan; 9 unknown; 10 verified, a later step failed; 130 aborted.",
    )
    parser.add_argument("--version", action="version", version=f"console {__version__}")
    parser.add_argument(
        "--hosts",
        metavar="FILE",
        help="inventory (default: $CONSOLE_HOSTS, ./hosts.toml, $XDG_CONFIG_HOME/console/hosts.toml)",
    )
    if verb is None:
        importlib.import_module("console.cli.terminal").add(parser)
    commands = parser.add_subparsers(dest="verb", metavar="COMMAND", title="commands")
    for name, (module, text) in VERBS.items():
        command = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".", allow_abbrev=False)
        if name == verb:
            importlib.import_module(module).add(command)
    return parser


def verb_of(words: Sequence[str]) -> str | None:
    """The first word that is a command, past --hosts FILE."""
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word == "--hosts":
            skip = True
        elif not word.startswith("-"):
            return word
    return None


def run(words: Sequence[str]) -> int:
    """Parse, run the verb, and turn whatever ends it into one message and one exit code."""
    output = Output()
    verb = verb_of(words)
    with output.ending() as end:
        parser = build(verb)
        try:
            arguments = parser.parse_args(list(words))
        except SystemExit as stop:
            end.code = int(stop.code or 0)
            return end.code
        module = VERBS[arguments.verb][0] if arguments.verb else "console.cli.terminal"
        end.code = importlib.import_module(module).run(arguments, output)
    return end.code
