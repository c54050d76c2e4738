"""The lab engine at the end of a bad path, as the measuring code sees any target."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path as Folder
from tempfile import TemporaryDirectory
from typing import Any

import httpx

from bench.proxy import Path, Proxy
from console.clock import SystemClock
from console.engines.base import Reply, Request
from console.engines.measuring import measuring_of
from console.engines.registry import engine_named
from console.lab.bare import BareEngine, bare_engine
from console.measure.bench import Bench
from console.measure.limits import Limits
from console.measure.prompt import Prompt, Source
from console.remote.http import OnPart
from console.remote.session import Reader
from console.schema.hosts import Host, Service, Target
from console.schema.serving import Serving
from console.secrets import Redactor

# 4 tokens a step of 25 ms: 160 tok/s at any context, and both reply lengths end on a whole step.
STEP_MS, ACCEPT = 25.0, 4.0
RATE = 160.0
SPEED = 10.0
PROMPT_TOKENS = 1024


class PathReader(Reader):
    """Asks an engine on a port of loopback, one connection a request as through SSH; it knows no host behind it."""

    def __init__(self, port: int, speed: float, engine: str = "sglang") -> None:
        self.target = Target(
            host_name="lab",
            service_name="bare",
            host=Host(address="127.0.0.1", user="ops"),
            service=Service(unit="bare.service", engine=engine, url=f"http://127.0.0.1:{port}"),
        )
        self.redactor = Redactor()
        self.clock = SystemClock(speed)
        self.client = httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{port}", trust_env=False, limits=httpx.Limits(max_keepalive_connections=0)
        )

    async def fetch(self, request: Request, *, patience_s: float = 0.0) -> Reply:
        return await self._exchange(request, None)

    async def stream(self, request: Request, on_part: OnPart) -> Reply:
        return await self._exchange(request, on_part)

    async def aclose(self) -> None:
        await self.client.aclose()

    async def _exchange(self, request: Request, on_part: OnPart | None) -> Reply:
        began = self.clock.monotonic()
        body = b""
        content = None if request.json is None else json.dumps(request.json).encode()
        headers = {} if content is None else {"Content-Type": "application/json"}
        try:
            async with self.client.stream(
                request.method, request.path, content=content, headers=headers, timeout=request.timeout_s
            ) as response:
                async for part in response.aiter_bytes():
                    if on_part is not None and response.status_code == 200:
                        on_part(self.clock.monotonic() - began, part)
                    else:
                        body += part
        except httpx.HTTPError as error:
            return Reply(0, error=f"{type(error).__name__}: {error}", duration_s=self.clock.monotonic() - began)
        return Reply(response.status_code, body, "", self.clock.monotonic() - began)


@contextmanager
def lab_engine(**options: Any) -> Iterator[BareEngine]:
    """A lab engine with the known truth, already started."""
    settings = {
        "speed": SPEED,
        "load_s": 1.0,
        "step_ms": STEP_MS,
        "step_ms_per_token": 0.0,
        "accept_short": ACCEPT,
        "accept_repetitive": ACCEPT,
        "accept_other": ACCEPT,
        "stop_tokens": 100_000,
        "first_request_s": 0.0,
        **options,
    }
    with TemporaryDirectory() as folder, bare_engine(Folder(folder), "--enable-metrics", **settings) as engine:
        yield engine


@asynccontextmanager
async def bench_at(port: int, path: Path, seed: str, speed: float = SPEED) -> AsyncIterator[tuple[Bench, Proxy]]:
    """Everything a cell needs to measure the engine at `port` through `path`."""
    async with Proxy(port, path, random.Random(seed)) as proxy:
        reader = PathReader(proxy.port, speed)
        left: list[asyncio.Task[Any]] = []

        def later(work: Coroutine[Any, Any, Any]) -> None:
            left.append(asyncio.ensure_future(work))

        engine = engine_named("sglang")
        serving = Serving(context_length=200_000, pool_tokens=200_000, settings={"speculative_algorithm": "EAGLE3"})
        bench = Bench(
            reader=reader,
            engine=engine,
            measuring=measuring_of("sglang"),
            clock=reader.clock,
            limits=Limits.of(engine, serving, old=None, live=False, on_live=True),
            request_id=f"console-bench-{seed[-8:]:0>8}",
            say=lambda **_: None,
            later=later,
            nonce=seed,
        )
        try:
            yield bench, proxy
            await asyncio.gather(*left, return_exceptions=True)
        finally:
            await reader.aclose()


async def prompt_for(bench: Bench) -> Prompt:
    return await Source(bench).prompt("prose", PROMPT_TOKENS, nonce=bench.nonce)
