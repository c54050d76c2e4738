"""What clients of a prefill/decode pair talk to, in the manner of `sglang_router.launch_router --pd-disaggregation`.

Each generation gets a room and goes to a prefill and a decode server at once; decode's answer is the client's. A server
that could not be reached is left out for a while, and a request that finds none is answered with 503. Answers come
whole, also of streams.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import random
from collections.abc import Sequence
from urllib.parse import urlsplit

from .disaggregation import GENERATIONS, ask
from .http_wire import MAX_HEAD, HttpReply, HttpRequest, Server, json_reply
from .sim_clock import log


class Router:
    """One prefill and one decode in turn, of those that answered last."""

    def __init__(self, prefills: Sequence[Sequence[str]], decodes: Sequence[str], hold_s: float) -> None:
        self.prefills = [(each[0], int(each[1]) if len(each) > 1 else 8998) for each in prefills]
        self.decodes = list(decodes)
        self.hold_s = hold_s
        self.held: dict[str, float] = {}  # URL → until when it is left out
        self.turn = itertools.count()

    async def __call__(self, request: HttpRequest) -> HttpReply:
        if request.path in ("/health", "/readiness", "/liveness"):
            return HttpReply(200, b"OK", "text/plain")
        if request.path in GENERATIONS:
            return await self.generate(request)
        status, body = await self.sent(self.decodes[0], request, request.body)
        return HttpReply(status, body)

    async def generate(self, request: HttpRequest) -> HttpReply:
        turn = next(self.turn)
        prefills = [each for each in self.prefills if self.in_use(each[0])]
        decodes = [each for each in self.decodes if self.in_use(each)]
        for kind, found in (("prefill", prefills), ("decode", decodes)):
            if not found:
                return json_reply({"error": f"No available {kind} workers (all circuits open or unhealthy)"}, 503)
        (prefill, port), decode = prefills[turn % len(prefills)], decodes[turn % len(decodes)]
        room = {
            "bootstrap_host": urlsplit(prefill).hostname,
            "bootstrap_port": port,
            "bootstrap_room": random.getrandbits(62),
        }
        body = json.dumps({**request.json(), **room}).encode()
        decoding = asyncio.ensure_future(self.sent(decode, request, body))
        status, answer = await self.sent(prefill, request, body)
        if status == 200:
            status, answer = await decoding
        decoding.cancel()
        return HttpReply(status, answer, "text/event-stream" if b"data: " in answer[:6] else "application/json")

    def in_use(self, url: str) -> bool:
        return asyncio.get_running_loop().time() >= self.held.get(url, 0.0)

    async def sent(self, url: str, request: HttpRequest, body: bytes) -> tuple[int, bytes]:
        try:
            return await ask(url, request.method, request.path, body, request.headers.get("authorization", ""))
        except OSError as error:
            self.held[url] = asyncio.get_running_loop().time() + self.hold_s
            return 503, json.dumps({"error": f"{url}: {error}"}).encode()


def main(words: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="router")
    parser.add_argument("--pd-disaggregation", action="store_true")
    parser.add_argument("--prefill", action="append", nargs="+", required=True)
    parser.add_argument("--decode", action="append", required=True)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=30000)
    parser.add_argument("--cb-timeout-duration-secs", type=float, default=60.0)
    found = parser.parse_args(words)
    router = Router(found.prefill, found.decode, found.cb_timeout_duration_secs)
    asyncio.run(listen(router, found.host, found.port))


async def listen(router: Router, host: str, port: int) -> None:
    server = await asyncio.start_server(Server(router).connection, host, port, limit=MAX_HEAD)
    log(f"router listens on http://{host}:{port}")
    await server.serve_forever()
