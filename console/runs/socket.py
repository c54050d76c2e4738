"""The control socket of a running run: abort, answer, extend; for the same user on the same machine."""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from console.errors import StateError
from console.runs.control import Abort, Answer, Extend, Message, Ping, Reply, read_message
from console.runs.directory import socket_candidates, socket_path

LINE_BYTES = 64 * 1024
CLIENTS = 16
IDLE_S = 60.0

Handler = Callable[[Abort | Answer | Extend], Reply]


class ControlSocket:
    """Serves one run's socket, in the run's own process, between `start` and `close`.

    `handle` is given each message and returns the reply; a ping is answered here.
    """

    def __init__(self, run_id: str, environment: Mapping[str, str], handle: Handler) -> None:
        self._run = run_id
        self._environment = environment
        self._handle = handle
        self._server: asyncio.Server | None = None
        self._clients: set[asyncio.Task[None]] = set()
        self._closed = False
        self.path: Path | None = None

    async def start(self) -> None:
        """Begin to serve. Raises StateError."""
        path = socket_path(self._run, self._environment)
        with suppress(FileNotFoundError):
            path.unlink()  # the id is this run's alone: what stands here was left by a process that is gone
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            listener.bind(str(path))
            path.chmod(0o600)
            self._server = await asyncio.start_unix_server(self._client, sock=listener, limit=LINE_BYTES)
        except OSError as error:
            listener.close()
            raise StateError(f"cannot serve: {error.strerror or error}", where=str(path)) from error
        self.path = path

    async def close(self) -> None:
        """Stop serving and take the socket away."""
        self._closed = True
        if self._server is not None:
            self._server.close()
        for task in tuple(self._clients):
            task.cancel()
        if self._clients:
            await asyncio.wait(self._clients, timeout=1.0)
        if self.path is not None:
            with suppress(OSError):
                self.path.unlink()

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._clients.add(task)
        try:
            # A client accepted just before `close` gets its turn only after it.
            if self._closed or len(self._clients) > CLIENTS or not _same_user(writer):
                return
            while True:
                try:
                    line = await asyncio.wait_for(reader.readline(), IDLE_S)
                except ValueError:  # asyncio: a line beyond the limit
                    await _say(writer, Reply(ok=False, message=f"a line holds at most {LINE_BYTES} bytes"))
                    return
                if not line.endswith(b"\n"):
                    return
                await _say(writer, self._reply(line))
        except (OSError, TimeoutError, asyncio.CancelledError):
            pass  # the other side is gone or idle, or the run has ended: nothing here matters to the run
        finally:
            self._clients.discard(task)
            writer.close()

    def _reply(self, line: bytes) -> Reply:
        try:
            message = read_message(line)
        except ValueError as error:
            return Reply(ok=False, message=str(error))
        if isinstance(message, Ping):
            return Reply(ok=True, message=self._run)
        return self._handle(message)


async def _say(writer: asyncio.StreamWriter, reply: Reply) -> None:
    writer.write(reply.model_dump_json().encode() + b"\n")
    await writer.drain()


def _same_user(writer: asyncio.StreamWriter) -> bool:
    """Whether the peer runs as we do; root may read anybody's run but gives it no orders either."""
    peer = writer.get_extra_info("socket")
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return True  # not Linux: the folder's mode 0700 is what keeps others out
    credentials = struct.Struct("3i")
    _pid, uid, _gid = credentials.unpack(peer.getsockopt(socket.SOL_SOCKET, option, credentials.size))
    return bool(uid == os.getuid())


async def send(path: Path, message: Message, *, timeout_s: float = 5.0) -> Reply:
    """Say one thing to a run and return its reply. Raises StateError when nobody answers there."""
    try:
        async with asyncio.timeout(timeout_s):
            reader, writer = await asyncio.open_unix_connection(str(path), limit=LINE_BYTES)
            try:
                writer.write(message.model_dump_json().encode() + b"\n")
                await writer.drain()
                line = await reader.readline()
            finally:
                writer.close()
    except TimeoutError:
        raise StateError(f"the run does not answer within {timeout_s:g} s", where=str(path)) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise StateError(f"the run cannot be reached: {reason}", where=str(path), hint="console runs") from None
    try:
        return Reply.model_validate_json(line)
    except ValueError:
        raise StateError("the run closed the connection without an answer", where=str(path)) from None


async def send_to_run(
    run_id: str, message: Message, environment: Mapping[str, str], *, timeout_s: float = 5.0
) -> Reply:
    """`send`, wherever the run put its socket. Raises StateError when there is none."""
    for path in socket_candidates(run_id, environment):
        if path.is_socket():
            return await send(path, message, timeout_s=timeout_s)
    raise StateError(f"run {run_id} has no control socket on this machine", hint="console runs")
