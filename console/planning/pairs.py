"""Prefill and decode apart, as hosts.toml declares them, held against the words that start each part."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from console.engines.base import Engine
from console.engines.disaggregation import Role, role_of, value_of
from console.engines.recognise import several_nodes
from console.errors import RefusedError
from console.schema.facts import Facts
from console.schema.hosts import Target
from console.settings import resolve


def declare(target: Target) -> str:
    """The lines for hosts.toml that make this service and another one a pair."""
    return (
        f"[hosts.{target.host_name}.services.{target.service_name}] in hosts.toml, or the same of the other part: "
        'nodes = ["HOST/SERVICE"] names the other, router = "http://127.0.0.1:PORT" is what clients talk to'
    )


def check(facts: Facts, engine: Engine, target: Target) -> None:
    """Refuse what is declared as a pair and is started as something else."""
    roles: list[Role] = []
    for place, seen in zip((target, *target.nodes), (facts, *facts.nodes), strict=True):
        unit = resolve.unit_of(seen)
        on_disk = resolve.argv_on_disk(unit, resolve.environment_on_disk(unit))
        if not on_disk:
            raise RefusedError("what its files start there cannot be told: nothing to compare", where=place.name)
        found = [_role(argv, engine, place) for argv in (on_disk, seen.process.argv) if argv]
        if len(set(found)) > 1:
            raise RefusedError(f"its files start {found[0]}, and {found[1]} runs", where=place.name)
        roles.append(found[0])
    _complete(roles, target)
    _one_model(facts, engine, target)
    if not target.service.router:
        raise RefusedError(
            f"it is {roles[0]} of a pair, which answers no client by itself, and no router is declared",
            where=target.name,
            hint=f'router = "http://127.0.0.1:PORT" under [hosts.{target.host_name}.services.{target.service_name}] '
            "in hosts.toml: what its clients talk to, as seen from this host",
        )
    if facts.router_silent:
        raise RefusedError(
            f"its router {target.service.router} does not answer ({facts.router_silent}): nothing could be proven",
            where=target.name,
            hint="start the router first, or mend its URL in hosts.toml; it is asked from this service's host",
        )


def _role(argv: Sequence[str], engine: Engine, place: Target) -> Role:
    role = role_of(argv, engine)
    if not role:
        raise RefusedError(
            "it is started neither for prefill nor for decode, and hosts.toml makes it a part of a pair",
            where=place.name,
            hint="--disaggregation-mode (SGLang) or kv_role of --kv-transfer-config (vLLM) says which it is",
        )
    other = several_nodes(argv, engine, pairs=False)
    if other:
        raise RefusedError(
            f"{other}: a part of a pair that is itself spread over hosts cannot be declared",
            where=place.name,
            hint="change its parts by hand, in one go",
        )
    return role


def _complete(roles: Sequence[Role], target: Target) -> None:
    """At least one of each, of different servers."""
    either = roles.count("both")
    if len(roles) > 1 and (roles.count("prefill") or either) and (roles.count("decode") or either):
        return
    said = ", ".join(f"{place.name} {role}" for place, role in zip((target, *target.nodes), roles, strict=True))
    missing = "decode" if roles.count("prefill") else "prefill"
    raise RefusedError(
        f"no part is {missing}: {said}",
        where=target.name,
        hint=f'nodes = ["HOST/SERVICE", …] under [hosts.{target.host_name}.services.{target.service_name}] in '
        "hosts.toml names every part but this one",
    )


def _one_model(facts: Facts, engine: Engine, target: Target) -> None:
    """A cache of one model is of no use to another. Its config.json tells, or else the last word of its path."""
    hashes = [next((config.sha256 for config in seen.models if config.role == "model"), "") for seen in _all(facts)]
    names = [_model(seen, engine) for seen in _all(facts)]
    for place, digest, name in zip(target.nodes, hashes[1:], names[1:], strict=True):
        known = bool(digest and hashes[0])
        if (digest != hashes[0]) if known else (PurePosixPath(name).name != PurePosixPath(names[0]).name):
            raise RefusedError(
                f"its model is {name or 'not named'}, and that of {target.name} is {names[0] or 'not named'}"
                + ("; their config.json differ" if known else ""),
                where=place.name,
                hint="the parts of a pair serve one model",
            )


def _all(facts: Facts) -> tuple[Facts, ...]:
    return (facts, *facts.nodes)


def _model(facts: Facts, engine: Engine) -> str:
    """As it is started: a flag, or vLLM's first word after `serve`."""
    unit = resolve.unit_of(facts)
    argv = resolve.argv_on_disk(unit, resolve.environment_on_disk(unit)) or []
    named = value_of(argv, engine, "--model-path") or value_of(argv, engine, "--model")
    if not named and "serve" in argv[:-1] and not argv[argv.index("serve") + 1].startswith("-"):
        named = argv[argv.index("serve") + 1]
    return named
