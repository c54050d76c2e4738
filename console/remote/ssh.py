"""Connecting: one authenticated SSH connection to a host, through at most one jump host, its keys always checked."""

from __future__ import annotations

import asyncio
import random
import socket
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import asyncssh

from console.errors import ConnectError, UnreachableError, UsageError
from console.remote.config import HostConfig, host_config
from console.remote.keys import Keys, describe, load_keys
from console.remote.known_hosts import SCANNED_TYPES, HostKey, KnownHosts, Offered, host_key, refusal
from console.remote.mapping import CONNECT_EXCEPTIONS, THROTTLED, connect_error
from console.schema.hosts import Target

if TYPE_CHECKING:
    from console.remote.link import Link

Standing = Literal["pinned", "unknown", "changed"]

# sshd's MaxStartups default starts to drop connections at random from the eleventh unauthenticated one on.
UNAUTHENTICATED_AT_ONCE = 8
CONNECT_ATTEMPTS = 6
LOGIN_TIMEOUT_S = 30.0
KEEPALIVE_S = 10.0
KEEPALIVE_COUNT = 3
# In Python a packet of ChaCha20 takes six cipher contexts, one of AES-GCM two: a fifth of the time of a short command.
QUICK_CIPHERS = "^aes128-gcm@openssh.com,aes256-gcm@openssh.com"


@dataclass(frozen=True)
class Opened:
    """A connection that is logged in. `auth` says with what; `lost` is set once it is gone."""

    connection: asyncssh.SSHClientConnection
    auth: str
    user: str
    lost: asyncio.Event
    warnings: tuple[str, ...] = ()


class Client(asyncssh.SSHClient):
    """Offers our keys one by one, and remembers what the server showed and which key it took."""

    def __init__(self, keys: Keys, lost: asyncio.Event) -> None:
        self._keys = list(keys.pairs)
        self.tried: list[str] = []
        self.offered: Offered | None = None
        self.authenticated = False
        self._lost = lost

    def public_key_auth_requested(self) -> asyncssh.SSHKeyPair | None:
        if not self._keys:
            return None
        pair = self._keys.pop(0)
        self.tried.append(describe(pair))
        return pair

    def validate_host_public_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:
        self.offered = Offered(key, host, addr, port)
        return False

    def validate_host_ca_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:
        self.offered = Offered(key, host, addr, port, authority=True)
        return False

    def auth_completed(self) -> None:
        self.authenticated = True

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost.set()


@dataclass
class Connections:
    """What the connections of one process share: parsed known_hosts, jump hosts, and how many may knock at once."""

    environment: Mapping[str, str]
    randomness: random.Random = field(default_factory=random.SystemRandom)
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    known_hosts: KnownHosts = field(default_factory=KnownHosts)
    links: dict[str, Link] = field(default_factory=dict)  # one a host, whatever its number of services
    _gates: dict[tuple[str, int], asyncio.Semaphore] = field(
        default_factory=lambda: defaultdict(lambda: asyncio.Semaphore(UNAUTHENTICATED_AT_ONCE))
    )
    _jumps: dict[str, Opened] = field(default_factory=dict)
    _jump_locks: dict[str, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))

    async def open(self, target: Target) -> Opened:
        """Connect and log in. Raises ConnectError (7), InvalidFileError or UsageError (2)."""
        config = config_of(target)
        jump = await self._jump(target, config)
        return await self._open(config, target.host.identity or target.defaults.identity, jump, target.host_name)

    async def scan(self, target: Target) -> list[HostKey]:
        """The keys the host shows now, trusted or not; on the way a jump host is checked as ever."""
        config = config_of(target)
        jump = await self._jump(target, config)
        found: list[HostKey] = []
        for algorithms in SCANNED_TYPES:
            try:
                async with self._gate(config, jump):
                    key = await asyncssh.get_server_host_key(
                        config.alias,
                        config.port,
                        tunnel=jump.connection if jump else None,
                        server_host_key_algs=algorithms,
                        config=list(config.config_paths),
                    )
            except asyncssh.KeyExchangeFailed:
                continue  # it has no key of this type
            except CONNECT_EXCEPTIONS as error:
                raise connect_error(error, where=target.host_name) from error
            if key is not None:
                found.append(host_key(key, config))
        if not found:
            raise UnreachableError("the host shows no key of a type we know", where=target.host_name)
        return found

    def standing(self, target: Target, keys: Sequence[HostKey]) -> tuple[Path, dict[str, Standing]]:
        """Which of the shown keys (by fingerprint) are pinned, unknown, or other than the pinned one of their type.

        Also the known_hosts file that a new key of this target belongs into.
        """
        config = config_of(target)
        known = self.known_hosts.load(config.known_hosts_files)
        trusted = known.match(config.known_as, "", config.port if config.port != 22 else None)[0]
        pinned = {key.get_fingerprint() for key in trusted}
        kinds = {key.get_algorithm() for key in trusted}
        found: dict[str, Standing] = {}
        for key in keys:
            standing: Standing = "changed" if key.kind in kinds else "unknown"
            found[key.fingerprint] = "pinned" if key.fingerprint in pinned else standing
        return config.known_hosts_files[0], found

    async def aclose(self) -> None:
        """Close the jump hosts; the connections through them end with them."""
        for opened in self._jumps.values():
            opened.connection.close()
            await opened.connection.wait_closed()
        self._jumps.clear()

    async def _jump(self, target: Target, config: HostConfig) -> Opened | None:
        named = target.host.jump or target.defaults.jump or config.jump
        if not named or named.lower() == "none":
            return None
        if "," in named:
            raise UsageError(f"{named!r} names several jump hosts; one is supported", where=target.host_name)
        user, alias, port = split_jump(named)
        if alias in (config.alias, config.hostname) and (port or 22) == config.port:
            return None  # `Host *` with ProxyJump applies to the jump host, too
        async with self._jump_locks[named]:
            opened = self._jumps.get(named)
            if opened is None or opened.lost.is_set():
                known_hosts = target.host.known_hosts or target.defaults.known_hosts
                hop = host_config(alias, user=user, port=port, known_hosts=known_hosts)
                if hop.jump and split_jump(hop.jump)[1] not in (hop.alias, hop.hostname):
                    raise UsageError(
                        f"jump host {alias} is itself behind {hop.jump}; one hop is supported", where=target.host_name
                    )
                # Each hop is opened by us: asyncssh would not apply our known_hosts and keys to it.
                opened = await self._open(hop, target.defaults.identity, None, alias)
                self._jumps[named] = opened
            return opened

    def _gate(self, config: HostConfig, jump: Opened | None) -> asyncio.Semaphore:
        """Connects through a jump host are counted with the jump host: its sshd is the one that opens them."""
        if jump is not None:
            return self._gates["jump", id(jump.connection)]
        return self._gates[config.hostname, config.port]

    async def _open(self, config: HostConfig, identity: str | None, jump: Opened | None, host_name: str) -> Opened:
        keys = await load_keys(config, identity, self.environment)
        try:
            for attempt in range(1, CONNECT_ATTEMPTS + 1):
                lost = asyncio.Event()
                client = Client(keys, lost)
                try:
                    async with self._gate(config, jump):
                        connection = await self._connect(config, jump, client)
                except THROTTLED as error:
                    if client.authenticated or client.tried or attempt == CONNECT_ATTEMPTS:
                        raise self._error(error, client, keys, config, host_name) from error
                except CONNECT_EXCEPTIONS as error:
                    raise self._error(error, client, keys, config, host_name) from error
                else:
                    return Opened(connection, _auth(client, config), config.user, lost, config.warnings)
                await self.sleep(self.randomness.uniform(0.05, 0.3) * attempt)
        finally:
            await keys.aclose()
        raise AssertionError("unreachable")

    async def _connect(self, config: HostConfig, jump: Opened | None, client: Client) -> asyncssh.SSHClientConnection:
        known = self.known_hosts.load(config.known_hosts_files)
        return await asyncssh.connect(
            config.alias,
            config.port,
            username=config.user,
            # None: asyncssh would otherwise open a ProxyJump itself, without our checks.
            tunnel=jump.connection if jump else None,
            config=list(config.config_paths),
            client_factory=lambda: client,
            known_hosts=known,
            encryption_algs=() if config.chooses_ciphers else QUICK_CIPHERS,
            client_keys=None,
            gss_host=None,
            password_auth=False,
            kbdint_auth=False,
            agent_forwarding=False,
            request_pty=False,
            connect_timeout=config.connect_timeout_s,
            login_timeout=LOGIN_TIMEOUT_S,
            keepalive_interval=KEEPALIVE_S,
            keepalive_count_max=KEEPALIVE_COUNT,
        )

    def _error(
        self, error: BaseException, client: Client, keys: Keys, config: HostConfig, host_name: str
    ) -> ConnectError:
        where = host_name if host_name == config.alias else f"{host_name} ({config.shown})"
        refused = isinstance(error, asyncssh.HostKeyNotVerifiable)
        # With a known key asyncssh asks for its type only; a host that has another type fails before it shows one.
        no_type = isinstance(error, asyncssh.KeyExchangeFailed) and "host key" in str(error).lower()
        if refused or no_type:
            known = self.known_hosts.load(config.known_hosts_files)
            return refusal(client.offered, known, config, where=where, host_name=host_name, said=str(error))
        return connect_error(error, where=where, tried=[*client.tried, *keys.notes])


def config_of(target: Target) -> HostConfig:
    """The options for a target's host: inventory first, then the SSH config."""
    host, defaults = target.host, target.defaults
    return host_config(
        target.address,
        user=host.user or defaults.user,
        port=host.port or defaults.port,
        known_hosts=host.known_hosts or defaults.known_hosts,
    )


def split_jump(text: str) -> tuple[str | None, str, int | None]:
    """`[user@]host[:port]` as its parts."""
    user, at, rest = text.rpartition("@")
    host, colon, port = rest.rpartition(":")
    if not colon or not port.isdigit():
        host, port = rest, ""
    return (user if at else None), host.strip("[]"), (int(port) if port else None)


def _auth(client: Client, config: HostConfig) -> str:
    key = f"publickey {client.tried[-1]}" if client.tried else "none"
    sudo = "" if config.user == "root" else ", sudo to root"
    return f"{key} {config.user}@{config.alias} from {socket.gethostname()}{sudo}"
