"""An SSH server on loopback that runs a real shell, with faults for tests."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import asyncssh

LOOPBACK = ("127.0.0.1", "localhost", "::1")
NOISE = b"\xff\xfe\x00 motd \x1b]0;title\x07\r\n"


@dataclass(frozen=True)
class SshFaults:
    """What goes wrong from now on."""

    refuse_sessions: bool = False
    refuse_forwarding: bool = False
    noise: bool = False  # bytes that are no text before every output
    max_sessions: int = 10  # as OpenSSH's
    delay_s: float = 0.0  # before each command starts
    drop_at: str = ""  # once: the connection dies right after a command with this in its script has begun
    drop_before: str = ""  # once: it dies before the script reached the shell


def read_faults(current: SshFaults, words: list[str]) -> SshFaults:
    """`name=value` words over `current`. Raises ValueError for a name or value that is none."""
    known: dict[str, Any] = {item.name: getattr(SshFaults(), item.name) for item in fields(SshFaults)}
    changes: dict[str, Any] = {}
    for word in words:
        name, _, value = word.partition("=")
        if name not in known:
            raise ValueError(f"no such fault: {name}")
        default = known[name]
        changes[name] = value in ("1", "true", "True") if isinstance(default, bool) else type(default)(value)
    return replace(current, **changes)


class SshServer:
    """Listens on a port of its own choice; every exec request is `/bin/sh -c COMMAND` with the lab's PATH."""

    def __init__(self, host_key: Path, client_keys: Path, environ: Mapping[str, str], home: Path) -> None:
        self.host_key = host_key
        self.client_keys = client_keys
        self.environ = dict(environ)
        self.home = home
        self.faults = SshFaults()
        self.connections: set[asyncssh.SSHServerConnection] = set()
        self.sessions: dict[asyncssh.SSHServerConnection, int] = {}
        self.tasks: set[asyncio.Task[None]] = set()
        self.acceptor: asyncssh.SSHAcceptor | None = None
        self.port = 0

    async def listen(self) -> None:
        """Accept connections, on the same port as before if there was one."""
        self.acceptor = await asyncssh.create_server(
            lambda: Front(self),
            "127.0.0.1",
            self.port,
            server_host_keys=[str(self.host_key)],
            authorized_client_keys=str(self.client_keys),
            encoding=None,
            line_editor=False,
            allow_pty=False,
            agent_forwarding=False,
            login_timeout=30,
            reuse_address=True,
        )
        self.port = self.acceptor.get_port()

    async def deaf(self) -> None:
        """Refuse new connections until `listen` is called again; those there are stay."""
        if self.acceptor is not None:
            self.acceptor.close()
            await self.acceptor.wait_closed()
            self.acceptor = None

    def drop(self) -> None:
        """Every connection dies, without a goodbye."""
        for connection in list(self.connections):
            connection.abort()

    async def handle(self, process: asyncssh.SSHServerProcess[bytes]) -> None:
        # A task of its own: what runs on the host outlives the connection it came by.
        task = asyncio.get_running_loop().create_task(self.run(process))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        await asyncio.shield(task)

    async def run(self, process: asyncssh.SSHServerProcess[bytes]) -> None:
        connection = process.channel.get_connection()
        assert isinstance(connection, asyncssh.SSHServerConnection)
        try:
            await asyncio.sleep(self.faults.delay_s)
            status = await self.shell(process, connection)
            with contextlib.suppress(OSError):
                if status < 0:
                    process.exit_with_signal(signal.Signals(-status).name.removeprefix("SIG"))
                else:
                    process.exit(status)
        finally:
            self.sessions[connection] = self.sessions.get(connection, 1) - 1

    async def shell(self, process: asyncssh.SSHServerProcess[bytes], connection: asyncssh.SSHServerConnection) -> int:
        command = process.command
        argv = ["-c", os.fsdecode(command)] if command is not None else ["-s"]
        child = await asyncio.create_subprocess_exec(
            "/bin/sh",
            *argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=self.environ,
            cwd=self.home,
            start_new_session=True,
        )
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stderr is not None
        if self.faults.noise:
            process.stdout.write(NOISE)
        feeding = asyncio.get_running_loop().create_task(self.feed(process, child.stdin, connection))
        try:
            await asyncio.gather(
                pump(child.stdout, process.stdout),
                pump(child.stderr, process.stderr),
            )
            return await child.wait()
        finally:
            feeding.cancel()

    async def feed(
        self,
        process: asyncssh.SSHServerProcess[bytes],
        stdin: asyncio.StreamWriter,
        connection: asyncssh.SSHServerConnection,
    ) -> None:
        seen = b""
        try:
            while True:
                try:
                    data = await process.stdin.read(65536)
                except (asyncssh.SignalReceived, asyncssh.BreakReceived, asyncssh.TerminalSizeChanged):
                    continue  # as OpenSSH does for a root login
                if not data:
                    return
                seen = (seen + data)[-(1 << 20) :]
                if self.faults.drop_before and self.faults.drop_before.encode() in seen:
                    self.faults = replace(self.faults, drop_before="")
                    connection.abort()
                    return
                stdin.write(data)
                await stdin.drain()
                if self.faults.drop_at and self.faults.drop_at.encode() in seen:
                    self.faults = replace(self.faults, drop_at="")
                    # The script as a whole is there once its end is: let the shell read it first.
                    stdin.write_eof()
                    await asyncio.sleep(0.05)
                    connection.abort()
                    return
        except (OSError, asyncssh.Error):
            pass
        finally:
            with contextlib.suppress(OSError):
                stdin.close()


async def pump(source: asyncio.StreamReader, target: asyncssh.SSHWriter[bytes]) -> None:
    """Until the end of `source`; once the channel is gone the rest is read and lost, so that the command goes on."""
    while data := await source.read(65536):
        with contextlib.suppress(OSError, asyncssh.Error):
            target.write(data)
            await target.drain()


class Front(asyncssh.SSHServer):
    """One connection."""

    def __init__(self, server: SshServer) -> None:
        self.server = server
        self.connection: asyncssh.SSHServerConnection | None = None

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self.connection = conn
        self.server.connections.add(conn)

    def connection_lost(self, exc: Exception | None) -> None:
        if self.connection is not None:
            self.server.connections.discard(self.connection)
            self.server.sessions.pop(self.connection, None)

    def session_requested(self) -> Any:
        """True means the process factory; OpenSSH refuses the eleventh session of a connection."""
        assert self.connection is not None
        open_now = self.server.sessions.get(self.connection, 0)
        if self.server.faults.refuse_sessions or open_now >= self.server.faults.max_sessions:
            return False
        self.server.sessions[self.connection] = open_now + 1
        return asyncssh.SSHServerProcess(self.server.handle, None, 0, False)

    def connection_requested(self, dest_host: str, dest_port: int, orig_host: str, orig_port: int) -> bool:
        return dest_host in LOOPBACK and not self.server.faults.refuse_forwarding
