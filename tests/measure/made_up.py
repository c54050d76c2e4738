"""An engine in memory with a known truth, on a clock that passes only while it works."""

from __future__ import annotations

import asyncio
import json
import math
import random
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from console.engines.base import Reply, Request
from console.engines.measuring import measuring_of
from console.measure.bench import Bench
from console.measure.limits import Limits
from console.measure.prompt import Prompt, Source
from console.remote.scripts import Output
from console.remote.session import Reader
from console.schema.serving import Serving
from tests.fakes import OLD, SGLANG, FakeClock, FakeRemote, journal, ok, shown, state


@dataclass
class Truth:
    """What the engine does. Step time `intercept_ms + slope_ms · context`; `commits` tokens a step."""

    intercept_ms: float = 20.0
    slope_ms: float = 0.002
    commits: float = 3.0
    prefill_tok_s: float = 8000.0
    overhead_s: float = 0.1
    path_s: float = 0.02  # there and back
    jitter_s: float = 0.0  # of the path, one sided
    step_noise: float = 0.0
    first_slow_s: float = 0.0
    early_stops: float = 0.0  # share of answers that end in spite of ignore_eos
    natural_end: int = 100_000
    caches: bool = True
    speculates: bool = True
    says_steps: bool = True
    says_time: bool = True
    says_tokens: bool = True
    pool: int = 200_000
    context: int = 200_000
    refuses: str = ""  # the engine's sentence for every generation
    dies_after: int = 10**9  # generations
    buffered: bool = False
    tokenizes: bool = True
    loops: bool = False  # its text goes round in circles


class WorkClock(FakeClock):
    """Whoever waits for long waits for the engine's work to take as long."""

    async def sleep(self, seconds: float) -> None:
        if seconds <= 5:
            await super().sleep(seconds)
            return
        end = self.at + seconds
        while self.at < end:  # noqa: ASYNC110 - time passes by others' work only
            await asyncio.sleep(0)


@dataclass
class MadeUpEngine(FakeRemote):
    """A reader whose engine is `truth`. `others`: requests of other clients, by the time and how many ours are sent."""

    truth: Truth = field(default_factory=Truth)
    seed: int = 1
    others: Callable[[float, int], int] = lambda _at, _sent: 0
    mhz: Callable[[int], str] = lambda _sent: ""  # clock, temperature and power of each GPU, by how many ours are sent

    def __post_init__(self) -> None:
        FakeRemote.__init__(self)
        self.clock = WorkClock()
        self.chance = random.Random(self.seed)
        self.generations = 0
        self.requests_total = 0
        self.generated_total = 0
        self.known: set[tuple[int, ...]] = set()
        self.aborted: list[str] = []
        self.paths: list[str] = []
        self.invocation = OLD
        self.working = 0
        self.busy = asyncio.Event()

    async def look(self, script: str, *args: str, **_: Any) -> Output:
        if script == "look_clocks.sh":
            return ok(clocks=self.mhz(self.generations))
        return ok(unit=shown(state(invocation_id=self.invocation)), host="boot_id=b\nnow=1.0\n", journal=journal())

    async def fetch(self, request: Request, *, patience_s: float = 0.0) -> Reply:
        return await self._replied(request, None)

    async def stream(self, request: Request, on_part: Callable[[float, bytes], None]) -> Reply:
        return await self._replied(request, on_part)

    async def _replied(self, request: Request, on_part: Callable[[float, bytes], None] | None) -> Reply:
        self.paths.append(request.path)
        began = self.clock.at
        if request.path.startswith("/generate"):
            return await self._generate(request, on_part)
        if request.path.startswith("/abort_request"):
            assert request.json is not None
            self.aborted.append(request.json["rid"])
            return Reply(200)
        self.clock.at += self.truth.path_s
        body = self._said(request)
        return Reply(404) if body is None else Reply(200, body, duration_s=self.clock.at - began)

    def _said(self, request: Request) -> bytes | None:
        if request.path.startswith("/tokenize") and request.json is not None and self.truth.tokenizes:
            words = request.json["prompt"].split()
            return json.dumps({"tokens": [1 + hash(word) % 30_000 for word in words]}).encode()
        if request.path == "/v1/loads":
            running = self.others(self.clock.at, self.generations) + self.working
            return json.dumps({"loads": [{"num_running_reqs": running, "num_waiting_reqs": 0}]}).encode()
        if request.path == "/metrics":
            lines = {"num_requests_total": self.requests_total, "generation_tokens_total": self.generated_total}
            return "".join(f'sglang:{name}{{tp_rank="0"}} {value}\n' for name, value in lines.items()).encode()
        return b"{}" if request.path == "/v1/models" else None

    async def _generate(self, request: Request, on_part: Callable[[float, bytes], None] | None) -> Reply:
        truth, chance = self.truth, self.chance
        assert request.json is not None
        self.generations += 1
        if self.generations > truth.dies_after:
            return Reply(0, error="connection refused or closed")
        if truth.refuses:
            return Reply(400, json.dumps({"error": {"message": truth.refuses}}).encode())
        self.requests_total += 1
        params = request.json["sampling_params"]
        prompt = request.json.get("input_ids") or request.json["text"].split()
        wanted = (
            params["max_new_tokens"] if params.get("ignore_eos") else min(params["max_new_tokens"], truth.natural_end)
        )
        if params.get("ignore_eos") and chance.random() < truth.early_stops:
            wanted = max(1, wanted // 2)
        key = tuple(prompt[:64])
        cached = len(prompt) - 1 if truth.caches and key in self.known else 0
        self.known.add(key)
        server_s = truth.overhead_s + (len(prompt) - cached) / truth.prefill_tok_s
        server_s += truth.first_slow_s if self.generations == 1 else 0.0
        arrivals: list[tuple[float, int]] = [(server_s, 1)]
        done = 1
        steps = 0
        while done < wanted:
            steps += 1
            step_ms = truth.intercept_ms + truth.slope_ms * (len(prompt) + done)
            server_s += step_ms / 1000 * chance.gauss(1, truth.step_noise)
            done = min(wanted, math.floor(steps * truth.commits) + 1)
            arrivals.append((server_s, done))
        path_s = truth.path_s + (abs(chance.gauss(0, truth.jitter_s)) if truth.jitter_s else 0.0)
        self.generated_total += done
        self.working += 1
        self.busy.set()
        try:
            # Whoever looks meanwhile gets a turn in the middle of it.
            for _ in range(4):
                self.clock.at += (server_s + path_s) / 4
                await asyncio.sleep(0)
        finally:
            self.working -= 1
        if on_part is not None:
            for at, tokens in arrivals:
                when = server_s if truth.buffered else at
                on_part(
                    when + path_s,
                    b"data: " + self._body(prompt, tokens, cached, steps, server_s, wanted, params) + b"\n\n",
                )
        body = self._body(prompt, done, cached, steps, server_s, wanted, params)
        return Reply(200, b"" if on_part else body, duration_s=server_s + path_s)

    def _body(
        self,
        prompt: list[int],
        done: int,
        cached: int,
        steps: int,
        server_s: float,
        wanted: int,
        params: dict[str, Any],
    ) -> bytes:
        truth = self.truth
        meta: dict[str, Any] = {"prompt_tokens": len(prompt), "cached_tokens": cached}
        if truth.says_tokens:
            meta["completion_tokens"] = done
        if truth.says_time:
            meta["e2e_latency"] = server_s
        if truth.speculates and truth.says_steps:
            meta["spec_verify_ct"] = steps
        meta["finish_reason"] = {"type": "length" if wanted == params["max_new_tokens"] else "stop"}
        text = " ".join(f"w{number % 7 if truth.loops else number}" for number in range(done))
        return json.dumps({"text": text, "meta_info": meta}).encode()


def bench(
    engine: MadeUpEngine, *, live: bool = False, on_live: bool = False, settings: dict[str, str] | None = None
) -> Bench:
    """A bench at this engine; what is left to do after a stop is done at once."""
    reader: Reader = engine
    told: list[dict[str, Any]] = []
    tasks: list[asyncio.Task[Any]] = []

    def later(work: Coroutine[Any, Any, Any]) -> None:
        tasks.append(asyncio.ensure_future(work))

    truth = engine.truth
    serving = Serving(
        context_length=truth.context,
        pool_tokens=truth.pool,
        settings={"speculative_algorithm": "EAGLE3" if truth.speculates else ""},
    )
    return Bench(
        reader=reader,
        engine=SGLANG,
        measuring=measuring_of("sglang"),
        clock=engine.clock,
        limits=Limits.of(SGLANG, serving, old=32_768, live=live, on_live=on_live),
        request_id="console-run-01",
        say=lambda **said: told.append(said),
        later=later,
        nonce="n0nce",
    )


async def prompt(made: Bench, text_class: str = "prose", tokens: int | None = 1000) -> Prompt:
    return await Source(made).prompt(text_class, tokens, nonce=made.nonce)


def clock_of(engine: MadeUpEngine) -> FakeClock:
    return engine.clock
