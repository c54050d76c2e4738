"""The ranks of an engine on several hosts as hosts.toml declares them, held against the words that start them."""

from __future__ import annotations

from collections.abc import Sequence

from console.engines.base import Engine
from console.engines.recognise import several_nodes
from console.errors import RefusedError
from console.planning import pairs, policy, replicas
from console.schema.facts import Facts
from console.schema.hosts import Target
from console.settings import resolve
from console.settings.flags import sought
from console.settings.levels import level_of_words


def check(facts: Facts, engine: Engine, target: Target) -> None:
    """Refuse an engine on several hosts that hosts.toml does not declare, or declares otherwise than it is started."""
    if target.rank:
        return
    policy.whole_engine(target)
    if target.nodes and len(facts.nodes) != len(target.nodes):
        raise RefusedError("its nodes were not looked at", where=target.name)
    if target.in_parts:
        pairs.check(facts, engine, target)
        return
    parallel: set[tuple[str, str]] = set()
    words: list[list[Sequence[str]]] = []
    for rank, (place, seen) in enumerate(zip((target, *target.nodes), (facts, *facts.nodes), strict=True)):
        unit = resolve.unit_of(seen)
        on_disk = resolve.argv_on_disk(unit, resolve.environment_on_disk(unit))
        if target.nodes and not on_disk:
            raise RefusedError("what its files start there cannot be told: nothing to compare", where=place.name)
        words.append([argv for argv in (on_disk, seen.process.argv) if argv])
        for argv in words[-1]:
            if not target.nodes:
                _alone(argv, engine, target)
                continue
            _as_declared(argv, engine, place, rank, len(target.nodes) + 1)
            parallel.add((_value(argv, engine, "tensor_parallel"), _value(argv, engine, "pipeline_parallel")))
    replicas.check(words, engine, target)
    if len(parallel) > 1:
        said = ", ".join(sorted(f"{tensor} x {pipeline}" for tensor, pipeline in parallel))
        raise RefusedError(
            f"its ranks disagree on tensor x pipeline parallelism: {said}",
            where=target.name,
            hint="one of them is no part of this engine, or was edited alone",
        )


def _alone(argv: Sequence[str], engine: Engine, target: Target) -> None:
    part = several_nodes(argv, engine)
    if not part:
        return
    hint = "such an engine cannot be declared in hosts.toml: change its parts by hand, in one go"
    if not several_nodes(argv, engine, ranks=False):
        hint = (
            'nodes = ["HOST", …] on the service of rank 0 in hosts.toml names the others, in the order of their ranks'
        )
    elif not several_nodes(argv, engine, pairs=False):
        hint = pairs.declare(target)
    raise RefusedError(
        f"{part}: this unit is one part of an engine in several places, which start and stop together",
        where=target.name,
        hint=hint,
    )


def _as_declared(argv: Sequence[str], engine: Engine, place: Target, rank: int, count: int) -> None:
    other = several_nodes(argv, engine, ranks=False)
    if other:
        raise RefusedError(
            f"{other}: hosts in nodes = […] of hosts.toml are the ranks of one engine, and this is another split",
            where=place.name,
            hint='the parts of a prefill/decode pair are services of their own: nodes = ["HOST/SERVICE"]',
        )
    if replicas.spread(argv, engine):
        return
    for name, usual, wanted in (("--nnodes", "1", str(count)), ("--node-rank", "0", str(rank))):
        value = _flag(argv, engine, name) or usual
        if value != wanted:
            raise RefusedError(
                f"{name} {value}: nodes = […] in hosts.toml makes it {wanted} here",
                where=place.name,
                hint="rank 0 is the service's own host; nodes names the others, in the order of their ranks",
            )
    if rank == 0 and "--headless" in argv:
        raise RefusedError("--headless: this rank serves nothing, and rank 0 must", where=place.name)
    tensor, pipeline = _value(argv, engine, "tensor_parallel"), _value(argv, engine, "pipeline_parallel")
    if (tensor + pipeline).isdigit() and int(tensor) * int(pipeline) % count:
        raise RefusedError(
            f"{tensor} x {pipeline} GPUs (tensor x pipeline) cannot be spread evenly over {count} hosts",
            where=place.name,
            hint="nodes = […] in hosts.toml names another number of hosts than this engine has",
        )


def _flag(argv: Sequence[str], engine: Engine, flag: str) -> str:
    return level_of_words(tuple(argv), engine, sought(engine, flag=flag)).value or ""


def _value(argv: Sequence[str], engine: Engine, setting: str) -> str:
    if setting not in engine.spellings:
        return "1"
    return level_of_words(tuple(argv), engine, sought(engine, setting=setting)).value or "1"
