"""vLLM's data parallelism over hosts: the head serves, the headless ones run replicas of it and serve nothing.

Each says how many replicas it runs (`--data-parallel-size-local`) and from which on (`--data-parallel-start-rank`).
"""

from __future__ import annotations

from collections.abc import Sequence

from console.engines.base import Engine
from console.engines.disaggregation import value_of
from console.engines.recognise import several_nodes
from console.errors import RefusedError
from console.schema.hosts import Target

SIZE = "--data-parallel-size"
LOCAL = "--data-parallel-size-local"
START = "--data-parallel-start-rank"
# With these every host answers clients by itself, and something before them spreads the requests.
_ALL_SERVE = frozenset({"--data-parallel-hybrid-lb", "--data-parallel-external-lb", "--data-parallel-rank"})
# Where they meet, and how many they are, is one thing for all of them.
_ALIKE = (SIZE, "--data-parallel-address", "--data-parallel-rpc-port")


def spread(argv: Sequence[str], engine: Engine) -> bool:
    """Whether these words start some of the replicas of a server that has others on other hosts."""
    if engine.name != "vllm":
        return False
    return any(value_of(argv, engine, flag) for flag in (LOCAL, START)) or several_nodes(argv, engine).startswith(
        ("--data-parallel", "--data_parallel", "-dpa", "-dpr")
    )


def check(words: Sequence[Sequence[Sequence[str]]], engine: Engine, target: Target) -> None:
    """`words`: of each place the command lines on disk and at work. Raises RefusedError for what is no such server."""
    places = (target, *target.nodes)
    if not target.nodes or not any(spread(argv, engine) for each in words for argv in each):
        return
    for column in range(max(len(each) for each in words)):
        begin, sizes = 0, set()
        for place, each in zip(places, words, strict=True):
            argv = each[min(column, len(each) - 1)]
            _serves_or_not(argv, engine, place)
            sizes.add(tuple(value_of(argv, engine, flag) for flag in _ALIKE))
            start = value_of(argv, engine, START) or "0"
            if start != str(begin):
                raise RefusedError(
                    f"{START} {start}: the places before it run {begin} replicas",
                    where=place.name,
                    hint="nodes = […] in hosts.toml names the headless ones in the order of their replicas",
                )
            local = value_of(argv, engine, LOCAL) or value_of(argv, engine, SIZE)
            begin += int(local) if local.isdigit() else 0
        if len(sizes) > 1:
            said = "; ".join(" ".join(word or "-" for word in each) for each in sorted(sizes))
            raise RefusedError(f"they do not agree on {', '.join(_ALIKE)}: {said}", where=target.name)
        wanted = sizes.pop()[0]
        if wanted != str(begin):
            raise RefusedError(
                f"{SIZE} {wanted or '1'}, and the hosts declared run {begin} replicas",
                where=target.name,
                hint="nodes = […] in hosts.toml names another number of hosts than this server has",
            )


def _serves_or_not(argv: Sequence[str], engine: Engine, place: Target) -> None:
    for word in argv:
        name = word.partition("=")[0]
        full = (engine.resolve_flag(name) or name) if name.startswith("-") else ""
        if full in _ALL_SERVE:
            raise RefusedError(
                f"{full}: each of its hosts answers clients by itself",
                where=place.name,
                hint="declare them as services of their own, and as a group",
            )
    nodes = value_of(argv, engine, "--nnodes")
    if nodes not in ("", "1"):
        raise RefusedError(
            f"--nnodes {nodes} beside replicas on other hosts: such an engine cannot be declared in hosts.toml",
            where=place.name,
            hint="change its parts by hand, in one go",
        )
    if bool(place.rank) != ("--headless" in argv):
        raise RefusedError(
            "without --headless it answers clients by itself" if place.rank else "--headless: it serves nothing",
            where=place.name,
            hint="the service's own host serves, and nodes = […] in hosts.toml names the headless ones",
        )
