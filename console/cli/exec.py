"""`console exec TARGET… -- COMMAND`: the same look on several hosts, recorded; equal answers are shown once.

It promises to read only: no batching, no variables, and a protected host wants a reason. A change is a runbook's.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping, Sequence

from console.cli import one_step
from console.cli.inventory import inventory
from console.cli.output import Output
from console.errors import UsageError
from console.planning.bind import bind
from console.schema.events import Event, StepFinished, StepProgress

USAGE = "console exec [--reason TEXT] [--timeout TIME] TARGET… -- COMMAND [WORD…]"


def add(parser: argparse.ArgumentParser) -> None:
    parser.usage = USAGE
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="TARGET… -- COMMAND", help="options stand before")
    parser.add_argument("--sudo", action="store_true", help="as root")
    parser.add_argument("--timeout", default="60s", metavar="TIME", help="default 60s")
    one_step.add_options(parser)


def run(arguments: argparse.Namespace, output: Output) -> int:
    if "--" not in arguments.words:
        raise UsageError("a command stands after --", hint=USAGE)
    cut = arguments.words.index("--")
    arguments.targets, command = arguments.words[:cut], arguments.words[cut + 1 :]
    if not command or not arguments.targets:
        raise UsageError("targets stand before --, a command after it", hint=USAGE)
    arguments.limit = None
    targets = bind(inventory(arguments), arguments.targets, (), None)
    protected = [target.host_name for target in targets if target.protected]
    if protected and not arguments.reason:
        raise UsageError(f"{', '.join(protected)} is protected: a command there needs a reason", hint="--reason TEXT")
    said: dict[str, list[str]] = {}
    ended: dict[str, str] = {}

    def heard(event: Event) -> None:
        if isinstance(event, StepProgress) and event.phase == "output":
            said.setdefault(event.target or "", []).append(event.message)
        elif isinstance(event, StepFinished) and event.uses == "host.command":
            ended[event.target or ""] = event.message

    # One word is a line of shell, as with ssh; several are exactly those words.
    text = command[0] if len(command) == 1 else shlex.join(command)
    runbook = one_step.runbook_of(
        "host.command",
        "Look with a command",
        {"command": text, "mutates": False, "sudo": arguments.sudo, "timeout": arguments.timeout},
        together=True,
    )
    code = one_step.run(arguments, output, runbook, also=heard, end_is_data=False)
    if not arguments.json:
        for names, answer in grouped([target.name for target in targets], said, ended):
            output.data("\n".join([f"=== {', '.join(names)}", *answer]))
    return code


def grouped(
    names: Sequence[str], said: Mapping[str, Sequence[str]], ended: Mapping[str, str]
) -> list[tuple[list[str], list[str]]]:
    """Targets whose answer is the same, together, in the order of the first; without output, how it ended."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for name in names:
        answer = tuple(said.get(name) or [ended.get(name, "it did not come to that")])
        groups.setdefault(answer, []).append(name)
    return [(list(of), list(answer)) for answer, of in groups.items()]
