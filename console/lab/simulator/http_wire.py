"""HTTP/1.1 for one application, over asyncio streams: keep-alive, bodies of both kinds, streamed answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from .sim_clock import log

MAX_HEAD = 64 * 1024
MAX_BODY = 64 * 1024 * 1024
REASONS = {
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    404: "Not Found",
    405: "Method Not Allowed",
    422: "Unprocessable Entity",
    500: "Internal Server Error",
    503: "Service Unavailable",
}


class DisconnectedError(Exception):
    """The client is gone; nobody waits for the answer."""


@dataclass(frozen=True)
class HttpRequest:
    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]  # names in lower case
    body: bytes
    reader: asyncio.StreamReader = field(repr=False)

    def json(self) -> Any:
        return json.loads(self.body or b"{}")

    def gone(self) -> bool:
        return self.reader.at_eof() or self.reader.exception() is not None


@dataclass(frozen=True)
class HttpReply:
    """`stream` instead of `body`: each piece is sent as it comes."""

    status: int = 200
    body: bytes = b""
    content_type: str = "application/json"
    stream: AsyncIterator[bytes] | None = None


def json_reply(value: Any, status: int = 200) -> HttpReply:
    return HttpReply(status, json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode())


Application = Callable[[HttpRequest], Awaitable[HttpReply]]


class Server:
    """Serves an application on a socket or address until the process ends."""

    def __init__(self, application: Application) -> None:
        self.application = application
        self.busy: set[asyncio.Task[None]] = set()
        self.answering = 0  # requests whose answer is not wholly sent

    async def connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self.busy.add(task)
        try:
            while await self.exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, DisconnectedError):
            pass
        finally:
            if task is not None:
                self.busy.discard(task)
            writer.close()

    async def exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request and its answer; whether the connection goes on."""
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        method, target, version = [*first.split(" "), "", ""][:3]
        headers = {}
        for line in lines:
            name, colon, value = line.partition(":")
            if colon:
                headers[name.strip().lower()] = value.strip()
        if headers.get("expect", "").lower() == "100-continue":
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = await read_body(reader, headers)
        parts = urlsplit(target)
        request = HttpRequest(method, parts.path, dict(parse_qsl(parts.query)), headers, body, reader)
        self.answering += 1
        try:
            reply = await self.application(request)
            peer = writer.get_extra_info("peername") or ("127.0.0.1", 0)
            said = f"{reply.status} {REASONS.get(reply.status, '')}"
            log(f'INFO:     {peer[0]}:{peer[1]} - "{method} {target} HTTP/1.1" {said}')
            keep = version == "HTTP/1.1" and headers.get("connection", "").lower() != "close"
            await send(writer, reply, keep=keep, head_only=method == "HEAD")
        finally:
            self.answering -= 1
        return keep


async def read_body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    if headers.get("transfer-encoding", "").lower() == "chunked":
        pieces: list[bytes] = []
        while size := int((await reader.readline()).split(b";")[0], 16):
            pieces.append(await reader.readexactly(size))
            await reader.readexactly(2)
        await reader.readuntil(b"\r\n")
        return b"".join(pieces)
    size = int(headers.get("content-length") or 0)
    if size > MAX_BODY:
        raise DisconnectedError
    return await reader.readexactly(size)


async def send(writer: asyncio.StreamWriter, reply: HttpReply, *, keep: bool, head_only: bool) -> None:
    head = [
        f"HTTP/1.1 {reply.status} {REASONS.get(reply.status, '')}",
        "server: uvicorn",
        f"content-type: {reply.content_type}",
    ]
    head.append("transfer-encoding: chunked" if reply.stream else f"content-length: {len(reply.body)}")
    head.append("connection: keep-alive" if keep else "connection: close")
    writer.write(("\r\n".join(head) + "\r\n\r\n").encode("latin-1"))
    if reply.stream is None:
        writer.write(b"" if head_only else reply.body)
        await writer.drain()
        return
    async for piece in reply.stream:
        writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        await writer.drain()
    writer.write(b"0\r\n\r\n")
    await writer.drain()
