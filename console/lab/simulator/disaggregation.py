"""Prefill and decode apart: a request has a room; prefill puts its cache there, decode waits for it and fetches it.

Neither answers a request without a room, as of 0.5.10; the router in front gives each one. Only that the cache is there
is carried over, not the cache.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from .http_wire import MAX_HEAD, HttpReply, HttpRequest, Server, json_reply

GENERATIONS = ("/generate", "/v1/completions", "/v1/chat/completions")
ARRIVES_S = 30.0  # wall seconds that decode waits for a cache
POLL_S = 0.02

Route = Callable[[HttpRequest], Awaitable[HttpReply]]


class Transfer:
    """One side of the pair."""

    def __init__(self, mode: str, port: int) -> None:
        self.mode = mode  # null, prefill, decode
        self.port = port  # of the rooms, which lie with prefill
        self.rooms: set[int] = set()

    @property
    def apart(self) -> bool:
        return self.mode != "null"

    async def listen(self, host: str) -> None:
        """Prefill lets decode ask for its rooms."""
        if self.mode == "prefill":
            listener = socket.create_server((host, self.port), backlog=128)
            await asyncio.start_server(Server(self.room).connection, sock=listener, limit=MAX_HEAD)

    async def room(self, request: HttpRequest) -> HttpReply:
        number = int(request.query.get("room", "-1"))
        return json_reply({"ready": True}, 200) if number in self.rooms else json_reply({"ready": False}, 404)

    async def serve(self, route: Route, request: HttpRequest) -> HttpReply:
        """A request as this side takes it."""
        asked = request.json()
        room = asked.get("bootstrap_room")
        if room is None:
            told = "Invalid request: Disaggregated request received without bootstrap room id."
            return json_reply({"error": {"message": f"{told} req.rid={asked.get('rid')!r}"}}, 400)
        if self.mode == "prefill":
            reply = await route(replace(request, body=json.dumps(shortened(asked)).encode()))
            if reply.status == 200:
                self.rooms.add(int(room))
            return reply
        host, port = str(asked.get("bootstrap_host")), int(asked.get("bootstrap_port") or self.port)
        if not await arrived(host, port, int(room), request):
            told = f"KVTransferError(bootstrap_room={room}): Failed to get kvcache from prefill instance"
            return json_reply({"error": {"message": told}}, 500)
        return await route(request)


def shortened(asked: dict[str, Any]) -> dict[str, Any]:
    """The same request, for one token."""
    if "sampling_params" in asked:
        return {**asked, "stream": False, "sampling_params": {**asked["sampling_params"], **ONE_TOKEN_NATIVE}}
    return {**asked, "stream": False, "max_tokens": 1, "min_tokens": 0}


ONE_TOKEN_NATIVE = {"max_new_tokens": 1, "min_new_tokens": 0}


async def arrived(host: str, port: int, room: int, request: HttpRequest) -> bool:
    deadline = asyncio.get_running_loop().time() + ARRIVES_S
    while asyncio.get_running_loop().time() < deadline and not request.gone():
        try:
            status, _ = await ask(f"http://{host}:{port}", "GET", f"/room?room={room}")
        except OSError:
            return False
        if status == 200:
            return True
        await asyncio.sleep(POLL_S)
    return False


async def ask(url: str, method: str, path: str, body: bytes = b"", key: str = "") -> tuple[int, bytes]:
    """One request over a connection of its own. Raises OSError where nobody answers."""
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port or 80)
    try:
        head = [
            f"{method} {path} HTTP/1.1",
            f"host: {parts.netloc}",
            "connection: close",
            f"content-length: {len(body)}",
        ]
        head += ["content-type: application/json"] + ([f"authorization: {key}"] if key else [])
        writer.write(("\r\n".join(head) + "\r\n\r\n").encode("latin-1") + body)
        await writer.drain()
        raw = await reader.read()
    finally:
        writer.close()
    first, _, rest = raw.partition(b"\r\n\r\n")
    words = first.split(b" ", 2)
    if len(words) < 2 or not words[1].isdigit():
        raise ConnectionResetError("no answer")
    return int(words[1]), rest
