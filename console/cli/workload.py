"""`console workload`: the shape of the traffic out of traces and logs; only lengths, times and hashes are read."""

from __future__ import annotations

import argparse
from pathlib import Path

from console.cli.output import Output
from console.errors import UsageError


def add(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="workload", metavar="WHAT", required=True)
    profile = verbs.add_parser("profile", help="lengths, reuse, arrivals and concurrency of a trace or request log")
    profile.add_argument("files", nargs="*", metavar="FILE", help="plain, .gz or .zst; several are one workload")
    common(profile)
    profile.add_argument("--target", metavar="TARGET", help="instead of files: the request log of a target")
    profile.add_argument("--since", default="1h", metavar="TIME", help="how far back that log is read (default 1h)")
    profile.add_argument("--dask", default="", metavar="ADDRESS", help="parse on this Dask cluster: tcp://HOST:8786")
    profile.add_argument("--json", action="store_true", help="the whole profile as one line of JSON")
    freeze = verbs.add_parser("freeze", help="keep lengths, times and prefix structure as a trace to replay")
    freeze.add_argument("files", nargs="+", metavar="FILE", help="as for profile")
    freeze.add_argument("--name", required=True, help="what it is called in the results repository")
    freeze.add_argument("--seed", type=int, default=0, metavar="N", help="spreads times of a coarse clock (default 0)")
    freeze.add_argument("--out", metavar="FOLDER", help="write it there instead; nothing is committed")
    common(freeze)
    freeze.add_argument("--json", action="store_true", help="what was frozen as one line of JSON")


def common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--map", default="", metavar="MAP", help="kind of trace, or a column map of your own (TOML)")
    parser.add_argument("--tolerance", type=share, default=0.01, metavar="SHARE", help="of bad lines (default 0.01)")


def share(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 1")
    return value


def run(arguments: argparse.Namespace, output: Output) -> int:
    if arguments.workload == "freeze":
        return freeze(arguments, output)
    from console.measure.trace_files import profile_of
    from console.views.workload import profile_text

    paths = [Path(one) for one in arguments.files]
    if bool(paths) == bool(arguments.target):
        raise UsageError("say either files or --target")
    if arguments.target:
        from console.cli.workload_target import profile_of_target

        found = profile_of_target(arguments, output)
    elif arguments.dask:
        from console.measure.dask_workers import on_dask

        with on_dask(arguments.dask) as parsed:
            found = profile_of(paths, arguments.map, tolerance=arguments.tolerance, parsed=parsed)
    else:
        found = profile_of(paths, arguments.map, tolerance=arguments.tolerance)
    if arguments.json:
        output.json(found.model_dump(mode="json"))
    else:
        output.data(profile_text(found))
    return 0


def freeze(arguments: argparse.Namespace, output: Output) -> int:
    """Read, sort, hash and keep; the same requests and seed give the same bytes."""
    from console.cli.results import known
    from console.measure.trace_files import frozen_of
    from console.results import traces
    from console.results.repository import Repository
    from console.schema.names import NAME

    if not NAME.fullmatch(arguments.name):
        raise UsageError(f"{arguments.name!r} is no name: letters, digits, '.', '_', '-'")
    paths = [Path(one) for one in arguments.files]
    told = {"tolerance": arguments.tolerance, "seed": arguments.seed}
    head, requests, notes = frozen_of(paths, arguments.map, arguments.name, **told)
    if arguments.out:
        where = Path(arguments.out)
        traces.write(where, head, requests)
        kept = str(where)
    else:
        repository = Repository(known(arguments).results)
        kept = f"{repository.path / traces.FOLDER / head.name} ({traces.keep(repository, head, requests)[:12]})"
    for note in notes:
        output.note(note)
    if arguments.json:
        output.json({"name": head.name, "sha256": head.sha256, "requests": head.requests, "where": kept})
    else:
        output.data(f"{head.name}: {head.requests:,} requests in {head.span_s:.0f} s, sha256 {head.sha256}")
        output.note(f"kept in {kept}; send it: console measure replay {arguments.out or head.name} TARGET")
    return 0
