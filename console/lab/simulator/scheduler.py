"""The engine's loop: admit, prefill, decode step by step, in simulated time."""

from __future__ import annotations

import asyncio
import math
import random
from array import array
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from .memory import Limits
from .options import Options
from .prefix_cache import PrefixCache
from .sim_clock import SimClock, log
from .text_model import Reply

TP0 = " TP0"
COALESCE_S = 0.002  # wall seconds: shorter sleeps are saved up, the loop could not keep them anyway


@dataclass(eq=False)
class Job:
    """One request on its way. Moments are simulated seconds."""

    rid: str
    prompt: array[int]
    max_new: int
    accept: float
    natural_end: bool  # stopped by the text's own end, not by the limit
    arrival: float
    extra_s: float = 0.0
    cached: int = 0
    done_tokens: int = 0
    steps: int = 0
    first_token_at: float | None = None
    finished_at: float | None = None
    reason: str = ""  # stop, length, abort
    aborted: bool = False
    recalled: Sequence[str] = ()
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.reply = Reply(self.prompt, self.recalled)

    @property
    def context(self) -> int:
        return len(self.prompt) + self.done_tokens

    @property
    def latency(self) -> float:
        return (self.finished_at or self.arrival) - self.arrival


class Scheduler:
    """Runs the requests of one replica; `run` never returns."""

    def __init__(
        self,
        options: Options,
        clock: SimClock,
        limits: Limits,
        max_running: int,
        *,
        chunk: int,
        log_every: int,
        draft_tokens: int,
    ) -> None:
        self.options = options
        self.clock = clock
        self.limits = limits
        self.max_running = max_running
        self.chunk = chunk if chunk > 0 else 1 << 30
        self.log_every = log_every
        self.draft_tokens = draft_tokens
        self.cache = PrefixCache()
        self.random = random.Random(options.seed)  # noqa: S311 - noise, not secrecy
        self.pace = 1 + options.restart_spread * random.SystemRandom().gauss(0, 1)
        self.waiting: deque[Job] = deque()
        self.running: list[Job] = []
        self.wake = asyncio.Event()
        self.gpu_s = 0.0  # until when the GPU is busy
        self.decode_steps = 0
        self.window_tokens = 0
        self.window_steps = 0
        self.window_started = 0.0
        self.spec_tokens = 0
        self.spec_steps = 0
        self.shown_accept: float | None = None
        self.shown_throughput = 0.0
        self.generated_total = 0
        self.prompt_total = 0
        self.cached_total = 0
        self.requests_total = 0

    def submit(self, job: Job) -> None:
        self.waiting.append(job)
        self.requests_total += 1
        self.wake.set()

    def abort(self, rid: str | None) -> int:
        """Abort requests whose id begins with `rid`; None means all. How many there were."""
        hit = [job for job in (*self.waiting, *self.running) if rid is None or job.rid.startswith(rid)]
        for job in hit:
            job.aborted = True
            if job in self.waiting:
                self.waiting.remove(job)
                self.end(job, "abort")
        return len(hit)

    @property
    def idle(self) -> bool:
        return not self.waiting and not self.running

    @property
    def used_tokens(self) -> int:
        return sum(job.context for job in self.running)

    async def run(self) -> None:
        while True:
            if self.idle:
                self.wake.clear()
                await self.wake.wait()
                self.gpu_s = max(self.gpu_s, self.waiting[0].arrival) if self.waiting else self.gpu_s
            for job in self.admit():
                await self.prefill(job)
            if self.running:
                await self.decode_step()

    def admit(self) -> list[Job]:
        """The next waiting requests that fit: a slot, and room in the pool for prompt and answer."""
        chosen: list[Job] = []
        reserved = sum(len(job.prompt) + job.max_new for job in self.running)
        while self.waiting and len(self.running) + len(chosen) < self.max_running:
            job = self.waiting[0]
            reserved += len(job.prompt) + job.max_new
            if reserved > self.limits.pool and (self.running or chosen):
                break
            chosen.append(self.waiting.popleft())
        return chosen

    async def prefill(self, job: Job) -> None:
        self.gpu_s = max(self.gpu_s, job.arrival)
        job.cached = self.cache.match(job.prompt)
        self.running.append(job)
        left = len(job.prompt) - job.cached
        self.prompt_total += len(job.prompt)
        self.cached_total += job.cached
        self.gpu_s += self.options.prefill_overhead_s + job.extra_s
        cached = job.cached
        while left > 0 and not job.aborted:
            new = min(left, self.chunk)
            left -= new
            self.gpu_s += self.noisy(new / self.options.prefill_tok_s)
            log(
                f"Prefill batch, #new-seq: 1, #new-token: {new}, #cached-token: {cached}, "
                f"token usage: {self.usage():.2f}, "
                f"#running-req: {len(self.running) - 1}, #queue-req: {len(self.waiting)}, "
                f"cuda graph: False, input throughput (token/s): {self.options.prefill_tok_s:.2f}",
                TP0,
            )
            cached = 0
            await self.clock.sleep_until(self.gpu_s)
        if job.aborted:
            self.finish(job, "abort")
            return
        job.first_token_at = self.gpu_s
        job.done_tokens = min(1, job.max_new)
        self.generated_total += job.done_tokens
        await self.clock.sleep_until(self.gpu_s)
        if job.done_tokens >= job.max_new:
            self.finish(job, "stop" if job.natural_end else "length")
        else:
            job.changed.set()

    async def decode_step(self) -> None:
        """One step of the whole batch: its time grows with all the context it reads."""
        step_ms = self.pace * (self.options.step_ms + self.options.step_ms_per_token * self.used_tokens)
        self.gpu_s += self.noisy(step_ms / 1000)
        if (self.gpu_s - self.clock.now()) / self.clock.speed > COALESCE_S:
            await self.clock.sleep_until(self.gpu_s)
        else:
            await asyncio.sleep(0)  # the HTTP side sends what there is
        ended = []
        for job in list(self.running):
            if job.aborted:
                self.finish(job, "abort")
                continue
            job.steps += 1
            # Whole tokens that add up to the mean: the k-th step commits what k steps should have, less what is there.
            committed = math.floor(job.accept * job.steps) + 1 - job.done_tokens
            committed = min(committed, job.max_new - job.done_tokens)
            job.done_tokens += committed
            self.generated_total += committed
            self.window_tokens += committed
            self.window_steps += 1
            self.spec_tokens += committed
            self.spec_steps += 1
            if job.done_tokens >= job.max_new:
                ended.append(job)
            else:
                job.changed.set()
        self.decode_steps += 1
        if self.decode_steps % self.log_every == 0:
            self.log_decode()
        if ended:
            await self.clock.sleep_until(self.gpu_s)
            for job in ended:
                self.finish(job, "stop" if job.natural_end else "length")

    def log_decode(self) -> None:
        if not self.running or not self.window_steps:
            return
        accept = self.window_tokens / self.window_steps
        self.shown_throughput = self.window_tokens / max(self.gpu_s - self.window_started, 1e-6)
        speculation = ""
        if accept > 1.0:
            self.shown_accept = self.spec_tokens / self.spec_steps
            speculation = f"accept len: {accept:.2f}, accept rate: {min(accept / self.draft_tokens, 1.0):.2f}, "
        log(
            f"Decode batch, #running-req: {len(self.running)}, "
            f"#token: {self.used_tokens}, token usage: {self.usage():.2f}, "
            f"{speculation}cuda graph: True, gen throughput (token/s): {self.shown_throughput:.2f}, "
            f"#queue-req: {len(self.waiting)}",
            TP0,
        )
        self.window_tokens = self.window_steps = 0
        self.window_started = self.gpu_s

    def finish(self, job: Job, reason: str) -> None:
        self.running.remove(job)
        if reason != "abort" and self.limits.pool > job.context:
            tokens = job.prompt + array("I", job.reply.tokens(0, job.done_tokens))
            self.cache.insert(tokens, max(self.limits.pool - self.used_tokens, 0))
        self.end(job, reason)

    def end(self, job: Job, reason: str) -> None:
        job.reason = reason
        job.finished_at = max(self.gpu_s, job.arrival)
        job.changed.set()

    def usage(self) -> float:
        return self.used_tokens / max(self.limits.pool, 1)

    def noisy(self, seconds: float) -> float:
        return seconds * max(0.0, self.random.gauss(1.0, self.options.noise))
