"""`console measure`: decode rate and context sweep of a target, recorded as any run."""

from __future__ import annotations

import argparse
from pathlib import Path

from console.cli import one_step
from console.cli.output import Output

# verb → (step, title)
VERBS = {
    "decode": ("measure.decode", "Measure the decode rate"),
    "sweep": ("measure.sweep", "Measure step time over context"),
    "load": ("measure.load", "Measure latencies under load"),
    "replay": ("measure.replay", "Replay a frozen trace"),
}


def add(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="measure", metavar="WHAT", required=True)
    decode = verbs.add_parser("decode", help="decode rate by class of text, step time and avg commit")
    decode.add_argument("--contexts", metavar="LIST", help="prompt tokens: 1663,8k,50%%,old-limit,max")
    decode.add_argument("--text-classes", metavar="LIST", help="short,repetitive,prose,code,analysis")
    decode.add_argument("--samples", type=int, metavar="N", help="pairs a cell at most (default 12)")
    add_common(decode)
    decode.add_argument("--target-width", type=float, metavar="SHARE", help="stop at this half-width (default 0.01)")

    decode.add_argument("--cold", action="store_true", help="every request computes its whole prompt")
    decode.add_argument("--prompts", type=int, metavar="N", help="also avg commit over N prompts of each class (20)")

    sweep = verbs.add_parser("sweep", help="step time over context, and what it predicts")
    sweep.add_argument("--contexts", metavar="LIST", help="prompt tokens: 1663,8k,50%%,old-limit,max")
    sweep.add_argument("--text-class", metavar="CLASS", help="repetitive, prose, code or analysis (default prose)")
    sweep.add_argument("--rounds", type=int, metavar="N", help="times each context is measured (default 2)")
    sweep.add_argument("--budget", metavar="TIME", help="no cell beyond this: 15m")
    add_common(sweep)
    load = verbs.add_parser("load", help="latencies and throughput of several streams; never on a live target")
    load.add_argument("--concurrency", metavar="LIST", help="streams at once (default 1,2,4,8)")
    load.add_argument("--rate", type=float, metavar="N", help="requests a second that arrive by themselves instead")
    load.add_argument("--requests", type=int, metavar="N", help="of each level (default four a stream)")
    load.add_argument("--context", type=int, metavar="N", help="prompt tokens (default 1024)")
    load.add_argument("--output-tokens", type=int, metavar="N", help="length of each answer (default 256)")
    load.add_argument("--text-class", metavar="CLASS", help="repetitive, prose, code or analysis (default prose)")
    one_step.add(load)
    replay = verbs.add_parser("replay", help="a frozen trace, sent as it came; never on a live target")
    replay.add_argument("trace", metavar="TRACE", help="a name of `console workload freeze`, or a folder")
    replay.add_argument("--speed", type=float, metavar="N", help="so many times as fast (default 1)")
    replay.add_argument("--minutes", type=float, metavar="N", help="no longer than this (default the whole trace)")
    replay.add_argument("--longer", choices=("skip", "cut"), help="requests that do not fit (default skip)")
    replay.add_argument("--dask", metavar="ADDRESS", help="send from the workers of this Dask cluster: tcp://HOST:8786")
    replay.add_argument("--ttft", type=float, metavar="S", help="a good request's seconds to the first token")
    replay.add_argument("--gap-ms", type=float, metavar="MS", help="a good request's time between two tokens")
    one_step.add(replay)
    baseline = verbs.add_parser("baseline", help="sweep, load and replay beside what its log shows of production")
    baseline.add_argument(
        "--name", default="", metavar="NAME", help="keep it as what gates compare with; never changed"
    )
    baseline.add_argument("--trace", required=True, metavar="TRACE", help="a frozen trace")
    baseline.add_argument("--since", default="1h", metavar="TIME", help="of the production sample (default 1h)")
    baseline.add_argument("--minutes", type=float, metavar="N", help="of the replay (default the whole trace)")
    baseline.add_argument("--concurrency", metavar="LIST", help="streams of the load (default 1,2,4,8)")
    baseline.add_argument("--contexts", metavar="LIST", help="of the sweep")
    one_step.add(baseline)


def add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--output-tokens", type=int, metavar="N", help="length of the long answer")
    parser.add_argument("--prompt-file", metavar="FILE", help="a text of your own instead of the corpus")
    parser.add_argument("--on-live", action="store_true", help="also cells above 10 %% of a live target's pool")
    one_step.add(parser)


def run(arguments: argparse.Namespace, output: Output) -> int:
    if arguments.measure == "baseline":
        from console.cli import baseline

        return baseline.run(arguments, output)
    uses, title = VERBS[arguments.measure]
    return one_step.run(arguments, output, one_step.runbook_of(uses, title, fields_of(arguments)))


def fields_of(arguments: argparse.Namespace) -> dict[str, one_step.Field]:
    """What was said on the command line, as keys of the step; what was not said keeps the step's default."""
    named = {
        "contexts": "contexts",
        "text_classes": "text_classes",
        "text_class": "text_class",
        "output_tokens": "output_tokens",
        "samples": "samples",
        "prompts": "prompts",
        "rounds": "rounds",
        "target_width": "target",
        "budget": "budget",
        "concurrency": "concurrency",
        "rate": "rate",
        "requests": "requests",
        "context": "context",
        "speed": "speed",
        "minutes": "minutes",
        "longer": "longer",
        "dask": "dask",
        "ttft": "ttft",
        "gap_ms": "gap_ms",
    }
    fields = {key: getattr(arguments, name, None) for name, key in named.items()}
    found: dict[str, one_step.Field] = {key: value for key, value in fields.items() if value is not None}
    if getattr(arguments, "trace", None):
        # A folder of this machine by its whole path: the run may be resumed from elsewhere.
        own = Path(arguments.trace).expanduser()
        found["trace"] = str(own.resolve()) if own.exists() else arguments.trace
    if getattr(arguments, "prompt_file", None):
        found["prompt_file"] = str(Path(arguments.prompt_file).resolve())
    if getattr(arguments, "on_live", False):
        found["on_live"] = True
    if getattr(arguments, "cold", False):
        found["cold"] = True
    return found
