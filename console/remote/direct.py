"""An answer straight over a channel of the connection: no port of ours in between, and each piece as it comes.

A load has many answers under way at once, and each piece of each costs time of the one loop that must also send the
next request at its moment. Over a forwarded port a piece passes two sockets and an HTTP client more; and that no more
than a look at eight hosts asks for takes a fifth of a second to load.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import asyncssh
import h11

OnBytes = Callable[[bytes], None]
NOT_THERE = "connection refused or closed"
HEAD_LIMIT = 100 * 1024  # a proxy before the engine may send large headers


class AnswerError(Exception):
    """Why there is no whole answer, in words."""


class Listening(asyncssh.SSHTCPSession[bytes]):
    """One exchange: reads the answer as its bytes arrive, and says in `ended` when it is whole or cannot be."""

    def __init__(self, hear: OnBytes | None, limit: int) -> None:
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.http = h11.Connection(h11.CLIENT, max_incomplete_event_size=HEAD_LIMIT)
        self.status = 0
        self.body = bytearray()
        self.cut = False
        self.heard_at = asyncio.get_running_loop().time()
        self._hear = hear
        self._limit = limit

    def data_received(self, data: bytes, datatype: asyncssh.DataType) -> None:
        self.heard_at = asyncio.get_running_loop().time()
        self._read(data)

    def eof_received(self) -> bool:
        self._read(b"")
        self._end(AnswerError(f"{NOT_THERE} (in the middle of an answer)"))
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(AnswerError(NOT_THERE))

    def _read(self, data: bytes) -> None:
        if self.ended.done():
            return
        try:
            self.http.receive_data(data)
            while not self.ended.done():
                event = self.http.next_event()
                if isinstance(event, h11.Response):
                    self.status = event.status_code
                elif isinstance(event, h11.Data):
                    self._take(bytes(event.data))
                elif isinstance(event, h11.EndOfMessage):
                    self._end(None)
                elif event in (h11.NEED_DATA, h11.PAUSED) or isinstance(event, h11.ConnectionClosed):
                    return
        except h11.RemoteProtocolError as error:
            self._end(AnswerError(f"{NOT_THERE} ({error})"))
        except Exception as error:  # noqa: BLE001 - raised into asyncssh it would end the connection of all
            self._end(error)

    def _take(self, piece: bytes) -> None:
        if self.status == 200 and self._hear is not None:
            self._hear(piece)
            return
        self.body += piece
        if len(self.body) > self._limit:
            self.cut = True
            del self.body[self._limit :]
            self._end(None)

    def _end(self, error: Exception | None) -> None:
        if self.ended.done():
            return
        if error is None:
            self.ended.set_result(None)
        else:
            self.ended.set_exception(error)


async def ask(
    connection: asyncssh.SSHClientConnection,
    host: str,
    port: int,
    *,
    method: str,
    path: str,
    headers: Mapping[str, str],
    content: bytes,
    hear: OnBytes | None,
    idle_s: float,
    limit: int,
) -> tuple[int, bytes, bool]:
    """Status, body, and whether that was cut at `limit` bytes; the body of a 200 goes to `hear`, where there is one.

    Raises AnswerError for an answer that is none, TimeoutError when nothing came for `idle_s`, and what asyncssh raises
    when no channel can be opened.
    """

    def session() -> Listening:
        return Listening(hear, limit)

    opened: Any = await asyncio.wait_for(connection.create_connection(session, host, port), idle_s)
    channel: asyncssh.SSHTCPChannel[bytes] = opened[0]
    listening: Listening = opened[1]
    try:
        http = listening.http
        try:
            head = h11.Request(method=method, target=path, headers=list(headers.items()))
            parts = [http.send(head), http.send(h11.Data(data=content)), http.send(h11.EndOfMessage())]
        except h11.LocalProtocolError:  # whose words would hold the key
            raise AnswerError("it cannot be asked: a header is not valid (a blank or line end in the key?)") from None
        channel.write(b"".join(part for part in parts if part))
        await _until(listening, idle_s)
    finally:
        if not listening.ended.cancel() and not listening.ended.cancelled():
            listening.ended.exception()  # whoever was stopped in the same moment does not ask for it
        channel.close()
    return listening.status, bytes(listening.body), listening.cut


async def _until(listening: Listening, idle_s: float) -> None:
    """Until the answer is whole, or nothing more came for `idle_s`."""
    loop = asyncio.get_running_loop()
    listening.heard_at = loop.time()
    while (left_s := listening.heard_at + idle_s - loop.time()) > 0:
        ended, _ = await asyncio.wait([listening.ended], timeout=left_s)
        if ended:
            return listening.ended.result()
    raise TimeoutError
