"""The socket between the lab's supervisor, its stand-ins and whoever started it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from .answers import Answer

NAME = "control"
LIMIT = 1 << 20


def address(folder_fd: int) -> str:
    """A short way to the socket: its path may not be longer than 107 bytes, the folder's may."""
    return f"/proc/self/fd/{folder_fd}/{NAME}"


async def serve(state: Path, answer: Callable[[list[str]], Awaitable[Answer]]) -> asyncio.Server:
    """Answer requests at `state`/control until the server is closed."""
    (state / NAME).unlink(missing_ok=True)
    folder_fd = os.open(state, os.O_RDONLY)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(address(folder_fd))
    finally:
        os.close(folder_fd)

    async def connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            size = int.from_bytes(await reader.readexactly(4), "big")
            words = (await reader.readexactly(min(size, LIMIT))).decode("utf-8", "surrogateescape").split("\0")
            reply = await answer(words)
            for kind, text in ((b"o", reply.out), (b"e", reply.err), (b"x", str(reply.status))):
                data = text.encode("utf-8", "surrogateescape")
                if data:
                    writer.write(kind + len(data).to_bytes(4, "big") + data)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    return await asyncio.start_unix_server(connection, sock=listener, backlog=1024)


def ask(state: Path, words: Sequence[str], timeout_s: float = 30.0) -> Answer:
    """One request, from any process. Raises OSError when there is no supervisor or it does not answer in time."""
    folder_fd = os.open(state, os.O_RDONLY)
    channel = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    channel.settimeout(timeout_s)
    with contextlib.closing(channel):
        try:
            channel.connect(address(folder_fd))
        finally:
            os.close(folder_fd)
        data = "\0".join(words).encode("utf-8", "surrogateescape")
        channel.sendall(len(data).to_bytes(4, "big") + data)
        received = bytearray()
        while more := channel.recv(1 << 16):
            received += more
    texts = {b"o": b"", b"e": b"", b"x": b""}
    at = 0
    while at + 5 <= len(received):
        kind, size = bytes(received[at : at + 1]), int.from_bytes(received[at + 1 : at + 5], "big")
        texts[kind] += bytes(received[at + 5 : at + 5 + size])
        at += 5 + size
    if not texts[b"x"]:
        raise ConnectionError("the lab's supervisor ended in the middle of an answer")
    return Answer(
        int(texts[b"x"]),
        texts[b"o"].decode("utf-8", "surrogateescape"),
        texts[b"e"].decode("utf-8", "surrogateescape"),
    )
