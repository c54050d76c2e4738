"""The way to a host: which jump hosts stand in between, each with its own options, the first one first."""

from __future__ import annotations

from collections.abc import Sequence

from console.errors import UsageError
from console.remote.config import HostConfig, host_config

MOST_HOPS = 8


def hops(named: str | None, target: HostConfig, *, known_hosts: str | None, where: str) -> tuple[HostConfig, ...]:
    """The jump hosts of `a,b` or of ProxyJump, those before the first one with them. Raises UsageError for a circle."""
    found = _chain(named, known_hosts, (target,), where)
    return tuple(found)


def _chain(named: str | None, known_hosts: str | None, behind: Sequence[HostConfig], where: str) -> list[HostConfig]:
    if not named or named.lower() == "none":
        return []
    chain: list[HostConfig] = []
    for index, part in enumerate(piece.strip() for piece in named.split(",")):
        user, alias, port = split_jump(part)
        hop = host_config(alias, user=user, port=port, known_hosts=known_hosts)
        if _same(hop, behind[0]) and index == 0 and "," not in named:
            return []  # `Host *` with ProxyJump applies to the jump host, too
        if any(_same(hop, other) for other in (*behind, *chain)):
            raise UsageError(f"the way there goes through {alias} twice: {named}", where=where)
        if len(behind) + len(chain) > MOST_HOPS:
            raise UsageError(f"more than {MOST_HOPS} jump hosts on the way", where=where)
        if index == 0:
            # As in OpenSSH: only the first one named is looked for behind others.
            chain += _chain(hop.jump, known_hosts, (hop, *behind), where)
        chain.append(hop)
    return chain


def _same(one: HostConfig, other: HostConfig) -> bool:
    return (one.hostname, one.port) == (other.hostname, other.port)


def split_jump(text: str) -> tuple[str | None, str, int | None]:
    """`[user@]host[:port]` as its parts."""
    user, at, rest = text.rpartition("@")
    host, colon, port = rest.rpartition(":")
    if not colon or not port.isdigit():
        host, port = rest, ""
    return (user if at else None), host.strip("[]"), (int(port) if port else None)


def through_openssh(hop: HostConfig, target: HostConfig, *, attended: bool) -> list[str]:
    """The system's own `ssh` as the way through a jump host: masters, tokens and tickets work as they do by hand."""
    words = ["ssh", "-o", "LogLevel=ERROR", "-W", f"[{target.hostname}]:{target.port}"]
    words += [] if attended else ["-o", "BatchMode=yes"]
    words += ["-p", str(hop.port)] if hop.port != 22 else []
    return [*words, "--", f"{hop.user}@{hop.alias}"]
