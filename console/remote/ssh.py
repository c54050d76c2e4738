"""Connecting: one authenticated SSH connection to a host, through jump hosts where need be, every key checked."""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import asyncssh

from console.errors import AuthenticationError, ConnectError, UnreachableError
from console.remote.config import HostConfig, host_config
from console.remote.keys import Keys, certificate_end, load_keys
from console.remote.known_hosts import SCANNED_TYPES, HostKey, KnownHosts, host_key, refusal
from console.remote.login import Client, Prompter
from console.remote.mapping import CONNECT_EXCEPTIONS, THROTTLED, connect_error
from console.remote.route import hops, through_openssh
from console.remote.sudo import SudoWord
from console.schema.hosts import Target

if TYPE_CHECKING:
    from console.remote.link import Link, Seen

Standing = Literal["pinned", "unknown", "changed"]

# sshd's MaxStartups default starts to drop connections at random from the eleventh unauthenticated one on.
SCAN_TRIES = 3  # of one type of key, where the connection is lost before anything is said
UNAUTHENTICATED_AT_ONCE = 8
CONNECT_ATTEMPTS = 6
LOGIN_TIMEOUT_S = 30.0
ATTENDED_LOGIN_TIMEOUT_S = 180.0  # a person looks for their token
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
    certificate_ends: int | None = None  # of the certificate it was opened with, seconds since the epoch


@dataclass
class Connections:
    """What the connections of one process share: parsed known_hosts, jump hosts, and how many may knock at once."""

    environment: Mapping[str, str]
    randomness: random.Random = field(default_factory=random.SystemRandom)
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    known_hosts: KnownHosts = field(default_factory=KnownHosts)
    sudo: SudoWord = field(default_factory=SudoWord)
    links: dict[str, Link] = field(default_factory=dict)  # one a host, whatever its number of services
    ahead: dict[str, asyncio.Task[Seen]] = field(default_factory=dict)  # by target: what is read before anybody joined
    _gates: dict[tuple[str, int], asyncio.Semaphore] = field(
        default_factory=lambda: defaultdict(lambda: asyncio.Semaphore(UNAUTHENTICATED_AT_ONCE))
    )
    prompter: Prompter = field(default_factory=Prompter)
    _jumps: dict[tuple[str, ...], Opened] = field(default_factory=dict)
    _jump_locks: dict[tuple[str, ...], asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))

    async def open(self, target: Target) -> Opened:
        """Connect and log in. Raises ConnectError (7), InvalidFileError or UsageError (2)."""
        config = config_of(target)
        way = await self._way(target, config)
        return await self._open(config, target.host.identity or target.defaults.identity, way, target.host_name)

    async def scan(self, target: Target) -> list[HostKey]:
        """The keys the host shows now, trusted or not; on the way a jump host is checked as ever."""
        config = config_of(target)
        jump, command = await self._way(target, config)
        found: list[HostKey] = []
        lost: Exception | None = None
        for algorithms in SCANNED_TYPES:
            try:
                key = await self._shown_key(config, jump, command, algorithms)
            except asyncssh.KeyExchangeFailed:
                continue  # it has no key of this type
            except (asyncssh.ConnectionLost, ConnectionResetError) as error:
                # Also what is seen of a host without such a key, when its reset overtakes what it said of it.
                lost = error
                continue
            except CONNECT_EXCEPTIONS as error:
                raise connect_error(error, where=target.host_name) from error
            if key is not None:
                found.append(host_key(key, config))
        if lost is not None and not found:
            raise connect_error(lost, where=target.host_name) from lost
        if not found:
            raise UnreachableError("the host shows no key of a type we know", where=target.host_name)
        return found

    async def _shown_key(
        self, config: HostConfig, jump: Opened | None, command: list[str] | None, algorithms: Sequence[str]
    ) -> asyncssh.SSHKey | None:
        """The key of one type. Raises what asyncssh does; a connection that is lost is tried again first."""
        for left in reversed(range(SCAN_TRIES)):
            try:
                async with self._gate(config, jump):
                    return await asyncssh.get_server_host_key(
                        config.alias,
                        config.port,
                        tunnel=jump.connection if jump else None,
                        proxy_command=command or (),
                        server_host_key_algs=algorithms,
                        config=list(config.config_paths),
                    )
            except (asyncssh.ConnectionLost, ConnectionResetError):
                if not left:
                    raise
        return None

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
        """Close what nobody joined, and the jump hosts; the connections through them end with them."""
        await let_go(*self.ahead.values())
        await asyncio.gather(*(link.abandon() for link in list(self.links.values())))
        for opened in self._jumps.values():
            opened.connection.close()
            await opened.connection.wait_closed()
        self._jumps.clear()

    async def _way(self, target: Target, config: HostConfig) -> tuple[Opened | None, list[str] | None]:
        """The last jump host, logged in to; or the command that goes through it, where OpenSSH is to do that."""
        named = target.host.jump or target.defaults.jump or config.jump
        known_hosts = target.host.known_hosts or target.defaults.known_hosts
        chain = hops(named, config, known_hosts=known_hosts, where=target.host_name)
        if chain and (target.host.via or target.defaults.via) == "openssh":
            return None, through_openssh(
                chain[-1], config, attended=self.prompter.attended and not self.prompter.followed
            )
        jump: Opened | None = None
        for index, hop in enumerate(chain):
            jump = await self._jump(tuple(each.shown for each in chain[: index + 1]), hop, target, jump)
        return jump, None

    async def _jump(self, way: tuple[str, ...], hop: HostConfig, target: Target, before: Opened | None) -> Opened:
        """A jump host, shared by all who go through it. Each is opened by us: asyncssh would not check its key."""
        async with self._jump_locks[way]:
            opened = self._jumps.get(way)
            if opened is None or opened.lost.is_set():
                opened = await self._open(hop, target.defaults.identity, (before, None), hop.alias)
                self._jumps[way] = opened
            return opened

    def _gate(self, config: HostConfig, jump: Opened | None) -> asyncio.Semaphore:
        """Connects through a jump host are counted with the jump host: its sshd is the one that opens them."""
        if jump is not None:
            return self._gates["jump", id(jump.connection)]
        return self._gates[config.hostname, config.port]

    async def _open(
        self, config: HostConfig, identity: str | None, way: tuple[Opened | None, list[str] | None], host_name: str
    ) -> Opened:
        jump, command = way
        keys = await load_keys(config, identity, self.environment)
        try:
            for attempt in range(1, CONNECT_ATTEMPTS + 1):
                lost = asyncio.Event()
                client = Client(keys, lost, host_name, self.prompter)
                try:
                    async with self._gate(config, jump):
                        connection = await self._connect(config, jump, command, client)
                except THROTTLED as error:
                    if client.authenticated or client.tried or command or attempt == CONNECT_ATTEMPTS:
                        raise self._error(error, client, keys, config, host_name) from error
                except CONNECT_EXCEPTIONS as error:
                    # Where nobody answered one of its questions, the answers to the others were not refused.
                    if isinstance(error, asyncssh.PermissionDenied) and not client.asked:
                        for asked in client.given:
                            self.prompter.kept.refused(asked)
                    raise self._error(error, client, keys, config, host_name) from error
                else:
                    ends = certificate_end(client.pairs[-1]) if client.pairs else None
                    return Opened(connection, _auth(client, config), config.user, lost, config.warnings, ends)
                await self.sleep(self.randomness.uniform(0.05, 0.3) * attempt)
        finally:
            await keys.aclose()
        raise AssertionError("unreachable")

    async def _connect(
        self, config: HostConfig, jump: Opened | None, command: list[str] | None, client: Client
    ) -> asyncssh.SSHClientConnection:
        known = self.known_hosts.load(config.known_hosts_files)
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(config.connect_timeout_s) as limit:

            def patience(asking: bool) -> None:
                with contextlib.suppress(RuntimeError):  # it is over already
                    limit.reschedule(loop.time() + (ATTENDED_LOGIN_TIMEOUT_S if asking else config.connect_timeout_s))

            client.patience = patience
            return await asyncssh.connect(
                config.alias,
                config.port,
                username=config.user,
                # None: asyncssh would otherwise open a ProxyJump itself, without our checks.
                tunnel=jump.connection if jump else None,
                proxy_command=command or (),
                config=list(config.config_paths),
                client_factory=lambda: client,
                known_hosts=known,
                encryption_algs=() if config.chooses_ciphers else QUICK_CIPHERS,
                client_keys=None,
                gss_host=None,
                password_auth=False,
                kbdint_auth=True,
                agent_forwarding=False,
                request_pty=False,
                # Its own would go on while a person looks for their token.
                connect_timeout=None,
                login_timeout=ATTENDED_LOGIN_TIMEOUT_S if self.prompter.attended else LOGIN_TIMEOUT_S,
                keepalive_interval=KEEPALIVE_S,
                keepalive_count_max=KEEPALIVE_COUNT,
            )

    def _error(
        self, error: BaseException, client: Client, keys: Keys, config: HostConfig, host_name: str
    ) -> ConnectError:
        bare = host_name == config.alias and config.port == 22
        where = host_name if bare else f"{host_name} ({config.shown})"
        refused = isinstance(error, asyncssh.HostKeyNotVerifiable)
        # With a known key asyncssh asks for its type only; a host that has another type fails before it shows one.
        no_type = isinstance(error, asyncssh.KeyExchangeFailed) and "host key" in str(error).lower()
        if refused or no_type:
            known = self.known_hosts.load(config.known_hosts_files)
            return refusal(client.offered, known, config, where=where, host_name=host_name, said=str(error))
        if client.asked and isinstance(error, asyncssh.PermissionDenied):
            return AuthenticationError(
                # At the end: what stands behind `Password:` in a line is masked, whatever it says.
                f"nobody is there to answer what it asks at login "
                f"(tried: {'; '.join([*client.tried, *keys.notes]) or 'no key'}): {client.asked}",
                where=where,
                hint='run it at a terminal; or log in by hand with a ControlMaster and say via = "openssh"',
            )
        if client.asking:
            return AuthenticationError(
                f"nobody answered in time what it asks at login: {client.asking}",
                where=where,
                hint="try again, with the token at hand",
            )
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


def _auth(client: Client, config: HostConfig) -> str:
    key = f"publickey {client.tried[-1]}" if client.tried else "none"
    key += " and what a person answered" if client.answered else ""
    sudo = "" if config.user == "root" else ", sudo to root"
    return f"{key} {config.user}@{config.alias} from {socket.gethostname()}{sudo}"


async def let_go(*readings: asyncio.Task[Seen]) -> None:
    """End what nobody will ask for; how it ended is nobody's business."""
    for reading in readings:
        reading.cancel()
    await asyncio.gather(*readings, return_exceptions=True)
