"""An SSH server in the test's own process that runs a real /bin/sh, and can be told to fail."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import asyncssh

from console.schema.hosts import Defaults, Host, Service, Target


@dataclass
class Faults:
    """What goes wrong from now on."""

    drop_after_s: float | None = None  # the connection dies so long after a command began
    refuse_sessions: bool = False
    hang_up_first: int = 0  # so many connections are dropped before any key is asked for
    refuse_login: bool = False
    asks: dict[str, str] = field(default_factory=dict)  # question → answer; instead of a key


@dataclass
class Sshd:
    """One server. `bin` stands first on the PATH of its commands; `commands` are those it was asked to run."""

    folder: Path
    host_key: asyncssh.SSHKey
    user_key: asyncssh.SSHKey
    port: int = 0
    faults: Faults = field(default_factory=Faults)
    connections: list[asyncssh.SSHServerConnection] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    logins: int = 0
    answers: list[tuple[str, ...]] = field(default_factory=list)
    open_sessions: int = 0
    most_sessions: int = 0
    environment: dict[str, str] = field(default_factory=dict)
    _server: asyncssh.SSHAcceptor | None = None
    _running: dict[int, asyncio.Event] = field(default_factory=dict)

    @property
    def bin(self) -> Path:
        return self.folder / "bin"

    @property
    def state(self) -> Path:
        return self.folder / "state"

    @property
    def runtime(self) -> Path:
        return self.folder / "run"

    def known_as(self, name: str = "127.0.0.1") -> str:
        public = self.host_key.export_public_key("openssh").decode().split()
        return f"[{name}]:{self.port} {public[0]} {public[1]}\n"

    def stand_in(self, name: str, script: str) -> None:
        """A command that is found before the real one."""
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def target(self, *, url: str = "http://127.0.0.1:30000", **more: str) -> Target:
        values = {
            "address": "127.0.0.1",
            "port": self.port,
            "user": "ops",
            "identity": str(self.folder / "id_ed25519"),
            "known_hosts": str(self.folder / "known_hosts"),
            "state_folder": str(self.state),
            "runtime_folder": str(self.runtime),
        }
        service_keys = {key: more.pop(key) for key in ("api_key_env", "router") if key in more}
        return Target(
            host_name="gpu1",
            service_name="k26",
            host=Host.model_validate({**values, **more}),
            service=Service.model_validate(
                {"unit": "sglang-k26.service", "engine": "sglang", "url": url, **service_keys}
            ),
            defaults=Defaults(),
        )

    async def start(self) -> None:
        self._server = await asyncssh.create_server(
            lambda: _Login(self),
            "127.0.0.1",
            self.port,
            server_host_keys=[self.host_key],
        )
        self.port = self._server.get_port()

    async def stop(self) -> None:
        """Close the port and cut every connection."""
        if self._server is not None:
            self._server.close()
            self.cut()
            await self._server.wait_closed()
            self._server = None

    async def reap(self) -> None:
        """End what still runs; as with OpenSSH, a command outlives its connection."""
        for pid, over in list(self._running.items()):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
            await over.wait()

    def cut(self) -> None:
        """Every connection dies without a word."""
        for connection in self.connections:
            connection.abort()
        self.connections.clear()

    async def run(self, process: asyncssh.SSHServerProcess[bytes]) -> None:
        self.commands.append(process.command or "")
        self.open_sessions += 1
        self.most_sessions = max(self.most_sessions, self.open_sessions)
        child = await asyncio.create_subprocess_exec(
            "/bin/sh",
            "-c",
            process.command or "true",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
            cwd=self.folder,
            env={
                "PATH": f"{self.bin}:{os.environ['PATH']}",
                "HOME": str(self.folder),
                "LAB": str(self.folder),
                **self.environment,
            },
        )
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stderr is not None
        if self.faults.drop_after_s is not None:
            asyncio.get_running_loop().call_later(self.faults.drop_after_s, self.cut)
        over = self._running[child.pid] = asyncio.Event()
        feeding = asyncio.create_task(_pump_in(process.stdin, child.stdin))
        try:
            await asyncio.gather(_pump_out(child.stdout, process.stdout), _pump_out(child.stderr, process.stderr))
            status = await child.wait()
            with contextlib.suppress(OSError, asyncssh.Error):
                process.exit(status) if status >= 0 else process.exit_with_signal("KILL")
        finally:
            self.open_sessions -= 1
            feeding.cancel()
            child.stdin.close()
            del self._running[child.pid]
            over.set()


class _Login(asyncssh.SSHServer):
    def __init__(self, sshd: Sshd) -> None:
        self._sshd = sshd
        self._connection: asyncssh.SSHServerConnection | None = None

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        if self._sshd.faults.hang_up_first > 0:
            self._sshd.faults.hang_up_first -= 1
            conn.abort()
            return
        self._connection = conn
        self._sshd.connections.append(conn)

    def begin_auth(self, username: str) -> bool:
        self._sshd.logins += 1
        return True

    def public_key_auth_supported(self) -> bool:
        return not self._sshd.faults.asks

    def kbdint_auth_supported(self) -> bool:
        return bool(self._sshd.faults.asks)

    def get_kbdint_challenge(
        self, username: str, lang: str, submethods: str
    ) -> tuple[str, str, str, list[tuple[str, bool]]]:
        return "", "", "en-US", [(text, False) for text in self._sshd.faults.asks]

    def validate_kbdint_response(self, username: str, responses: Sequence[str]) -> bool:
        self._sshd.answers.append(tuple(responses))
        return list(responses) == list(self._sshd.faults.asks.values())

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        return not self._sshd.faults.refuse_login and key == self._sshd.user_key.convert_to_public()

    def session_requested(
        self,
    ) -> tuple[asyncssh.SSHServerChannel[bytes], asyncssh.SSHServerProcess[bytes]] | bool:
        if self._sshd.faults.refuse_sessions or self._connection is None:
            return False
        channel = self._connection.create_server_channel(encoding=None)
        return channel, asyncssh.SSHServerProcess(self._sshd.run, None, 3, False)

    def connection_requested(self, dest_host: str, dest_port: int, orig_host: str, orig_port: int) -> bool:
        return True


async def _pump_in(source: asyncssh.SSHReader[bytes], sink: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError, asyncssh.Error):
        while chunk := await source.read(65536):
            sink.write(chunk)
            await sink.drain()
    with contextlib.suppress(OSError):
        sink.close()


async def _pump_out(source: asyncio.StreamReader, sink: asyncssh.SSHWriter[bytes]) -> None:
    while chunk := await source.read(65536):
        with contextlib.suppress(OSError, asyncssh.Error):
            sink.write(chunk)
            await sink.drain()


@contextlib.asynccontextmanager
async def running(folder: Path) -> AsyncIterator[Sshd]:
    """A server with a key that may log in, and a known_hosts file that knows it."""
    for name in ("bin", "state", "run"):
        (folder / name).mkdir(parents=True)
    sshd = Sshd(folder, asyncssh.generate_private_key("ssh-ed25519"), asyncssh.generate_private_key("ssh-ed25519"))
    sshd.user_key.write_private_key(str(folder / "id_ed25519"))
    sshd.user_key.write_public_key(str(folder / "id_ed25519.pub"))
    await sshd.start()
    (folder / "known_hosts").write_text(sshd.known_as())
    try:
        yield sshd
    finally:
        await sshd.stop()
        await sshd.reap()
