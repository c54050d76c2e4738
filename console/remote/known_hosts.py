"""Host keys: which are known, why one is refused, and how one is pinned."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import asyncssh

from console.errors import ConnectError, HostKeyChangedError, HostKeyUnknownError, StateError
from console.remote.config import HostConfig

# One connect each: a server shows one key an exchange, of the first type both sides know.
SCANNED_TYPES = (
    "ssh-ed25519",
    "ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521",
    "rsa-sha2-512,rsa-sha2-256",
)


@dataclass(frozen=True)
class HostKey:
    """A key a host showed, and the known_hosts line that would trust it."""

    kind: str
    fingerprint: str
    line: str


@dataclass(frozen=True)
class Offered:
    """What a server showed that was not trusted; `addr` is where it answered from."""

    key: asyncssh.SSHKey
    host: str
    addr: str
    port: int
    authority: bool = False  # the key of the authority that signed its certificate


class KnownHosts:
    """known_hosts files, each parsed once while it stays the same."""

    def __init__(self) -> None:
        self._parsed: dict[tuple[tuple[str, int, int], ...], asyncssh.SSHKnownHosts] = {}

    def load(self, files: Iterable[Path]) -> asyncssh.SSHKnownHosts:
        """All entries of the files there are. A line that does not parse trusts nobody, as in OpenSSH."""
        there = [path for path in files if path.is_file()]
        stats = [path.stat() for path in there]
        key = tuple((str(path), stat.st_mtime_ns, stat.st_size) for path, stat in zip(there, stats, strict=True))
        if key not in self._parsed:
            text = "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in there)
            self._parsed[key] = _parse(text)
        return self._parsed[key]


def _parse(text: str) -> asyncssh.SSHKnownHosts:
    try:
        return asyncssh.import_known_hosts(text)
    except ValueError:
        pass
    lines = []
    for line in text.splitlines():
        try:
            asyncssh.import_known_hosts(line)
        except ValueError:
            continue
        lines.append(line)
    return asyncssh.import_known_hosts("\n".join(lines))


def refusal(
    offered: Offered | None,
    known: asyncssh.SSHKnownHosts,
    config: HostConfig,
    *,
    where: str,
    host_name: str,
    said: str,
) -> ConnectError:
    """Why a host key was not accepted: unknown, changed or revoked. asyncssh tells these apart nowhere."""
    port = config.port if config.port != 22 else None
    trusted, authorities, revoked = known.match(config.known_as, offered.addr if offered else "", port)[:3]
    if port is not None:
        # asyncssh falls back to entries without the port, which may be of another server on that machine: no change.
        trusted = known.match(pattern(config), "", None)[0]
    name = pattern(config)
    file = config.known_hosts_files[0] if config.known_hosts_files else Path("~/.ssh/known_hosts")
    shown = f"{offered.key.get_algorithm()} {offered.key.get_fingerprint()}" if offered else said
    if offered and offered.key in revoked:
        return HostKeyChangedError(f"the host key {shown} is marked as revoked", where=where)
    if trusted:
        pinned = ", ".join(f"{key.get_algorithm()} {key.get_fingerprint()}" for key in trusted)
        return HostKeyChangedError(
            f"THE HOST KEY HAS CHANGED: known is {pinned}; the host shows {shown}. Somebody may be listening in, "
            "or the host was installed anew",
            where=where,
            hint=f"ask who runs the host; if it was installed anew: ssh-keygen -f {file} -R '{name}'",
        )
    what = "certificate authority" if offered and offered.authority else "host key"
    if authorities and offered is None:
        return HostKeyUnknownError(f"the host certificate is not accepted: {said}", where=where)
    return HostKeyUnknownError(
        f"the {what} is not known: {shown}",
        where=where,
        hint=f"compare the fingerprint, then: console hosts trust {host_name}",
    )


def pattern(config: HostConfig) -> str:
    """How known_hosts names this host: `[name]:port` where the port is not 22."""
    return config.known_as if config.port == 22 else f"[{config.known_as}]:{config.port}"


def host_key(key: asyncssh.SSHKey, config: HostConfig) -> HostKey:
    public = key.export_public_key("openssh").decode("ascii").split()
    return HostKey(key.get_algorithm(), key.get_fingerprint(), f"{pattern(config)} {public[0]} {public[1]}")


def pin(path: Path, lines: Sequence[str]) -> int:
    """Append the lines that are not there yet; returns how many. Raises StateError when the file cannot be written."""
    path = path.expanduser()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        before = path.read_bytes() if path.exists() else b""
        have = set(before.decode("utf-8", "replace").splitlines())
        fresh = [line for line in lines if line not in have]
        if fresh:
            gap = b"" if not before or before.endswith(b"\n") else b"\n"
            descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(gap + "".join(f"{line}\n" for line in fresh).encode())
                file.flush()
                os.fsync(file.fileno())
    except OSError as error:
        raise StateError(f"{path} cannot be written: {error.strerror}", hint="pin the key with ssh-keyscan") from error
    return len(fresh)
