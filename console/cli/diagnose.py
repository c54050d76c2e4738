"""`console diagnose TARGET|GROUP`: why is it slow? A run of one step that sends no load."""

from __future__ import annotations

import argparse

from console.cli import one_step
from console.cli.diagnose_group import Replicas
from console.cli.output import Output
from console.errors import UsageError
from console.schema.names import seconds

FIGURES = ("observed", "accept", "ttft")


def add(parser: argparse.ArgumentParser) -> None:
    one_step.add(parser)
    parser.add_argument("--observed", default="", metavar="TOK/S", help="what one request was seen to get")
    parser.add_argument("--prompt", type=int, default=0, metavar="N", help="prompt tokens of that request")
    parser.add_argument("--tokens", type=int, default=0, metavar="N", help="tokens it generated")
    parser.add_argument("--accept", default="", metavar="L", help="tokens a step committed (accept_length)")
    parser.add_argument(
        "--baseline",
        action="append",
        default=[],
        metavar="R[@N]",
        help="tok/s that were expected, at N tokens of context; may be given again",
    )
    parser.add_argument("--ttft", default="", metavar="S", help="seconds to the first token")
    parser.add_argument("--bottleneck", action="store_true", help="what limits it under load, from its recorded loads")
    parser.add_argument("--since", default="1h", metavar="TIME", help="how far back the log is read (default 1h)")


def run(arguments: argparse.Namespace, output: Output) -> int:
    from console.analysis.diagnosis.complaint import stated
    from console.steps.diagnose_decode import baselines_of

    for name in FIGURES:
        try:
            if text := getattr(arguments, name):
                stated(text)
        except ValueError as error:
            raise UsageError(f"--{name}: {error}", hint="a figure above 0, such as 32 or 0.06") from error
    try:
        list(baselines_of(" ".join(arguments.baseline)))
        seconds(arguments.since)
    except ValueError as error:
        raise UsageError(str(error), hint="--baseline 138, --baseline 113@3072, --since 2h") from error
    if arguments.bottleneck:
        from console.cli import diagnose_bottleneck

        return diagnose_bottleneck.run(arguments, output)
    if arguments.prompt < 0 or arguments.tokens < 0:
        raise UsageError("--prompt and --tokens are counts of tokens")
    fields: dict[str, one_step.Field] = {
        "observed": arguments.observed,
        "prompt": arguments.prompt,
        "tokens": arguments.tokens,
        "accept": arguments.accept,
        "baseline": " ".join(arguments.baseline),
        "ttft": arguments.ttft,
        "since": arguments.since,
    }
    title = f"Why is {' '.join(arguments.targets) or 'it'} slow?"
    given = {key: value for key, value in fields.items() if value}
    # Nothing is sent to them, and who is odd is told in each one's record.
    runbook = one_step.runbook_of("diagnose.decode", title, given, together=True)
    replicas = Replicas()
    code = one_step.run(arguments, output, runbook, also=replicas.event)
    if arguments.json and len(replicas.seen) > 1:
        output.json(
            {"type": "group.compared", "odd": [{"target": one.target, "text": one.text} for one in replicas.odd()]}
        )
    elif told := list(replicas.lines()):
        output.data("\n" + "\n".join(told))
    return code
