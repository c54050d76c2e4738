"""Pairs of a short and a long answer to one prompt, and which of them may count."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field

from console.analysis.statistics.replies import Reply
from console.errors import ConnectError, EngineAuthError
from console.facts.clocks import Clocks
from console.measure.bench import Answer, Bench
from console.measure.prompt import Prompt
from console.schema.cells import Arm
from console.schema.traffic import Counted, Counters, Traffic

BUSY = "server busy"
# How often a pair is tried again because others are on the server, and how long is waited in between.
BUSY_TRIES = 4
BUSY_WAIT_S = 2.0
# Cached tokens of both arms may differ by a page of the cache, or this share of the prompt.
CACHE_SHARE = 0.01
PAGE_TOKENS = 64


class CellRefusedError(Exception):
    """This cell cannot be measured; the text says why, in the engine's own words where it has some."""


class OverBudgetError(Exception):
    """The long answer would take longer than what is left of the time."""


@dataclass
class Pairs:
    """The requests of one cell so far. `short_tokens` < `long_tokens` are what is asked for."""

    bench: Bench
    prompt: Prompt
    short_tokens: int
    long_tokens: int
    chance: random.Random
    arms: list[Arm] = field(default_factory=list)
    kept: list[tuple[Answer, Answer]] = field(default_factory=list)  # short and long
    reasons: Counter[str] = field(default_factory=Counter)
    refused: int = 0
    counted: list[Counted] = field(default_factory=list)  # by the engine, over each kept pair
    counters: Counters | None = None
    long_s: float | None = None  # how long a long answer takes, seconds
    cold: bool = False  # every request begins otherwise, so that each computes its whole prompt
    unseen: bool = False  # the engine does not say how many requests it has

    def short(self, clock: str) -> list[Reply]:
        return [reply_of(pair[0], clock) for pair in self.kept]

    def long(self, clock: str) -> list[Reply]:
        return [reply_of(pair[1], clock) for pair in self.kept]

    @property
    def timed_by_server(self) -> bool:
        """Whether the engine says of every answer that counts how long it took."""
        return bool(self.kept) and all(one.read.server_time_s is not None for pair in self.kept for one in pair)

    async def quiet(self) -> None:
        """Wait until nobody else is on the server. Raises CellRefusedError when somebody stays."""
        for attempt in range(BUSY_TRIES):
            traffic = await self.bench.traffic()
            if not others(traffic):
                self.unseen = self.unseen or traffic.total is None
                return
            if attempt + 1 < BUSY_TRIES:
                await self.bench.clock.sleep(BUSY_WAIT_S)
        raise CellRefusedError(f"{BUSY}: {traffic_text(traffic)} of others")

    async def ask(
        self, output_tokens: int, *, ignore_eos: bool = True, stream: bool = False, refused: str = ""
    ) -> Answer:
        """One request, kept among the arms. `refused`: why it never counts (it primes, it is a pilot)."""
        seen: list[Traffic] = []
        clocks: list[Clocks] = []
        counts = output_tokens >= self.long_tokens and not refused
        answer = await self.bench.generate(
            self.prompt.beginning_otherwise(self.chance) if self.cold else self.prompt.sent,
            output_tokens,
            ignore_eos=ignore_eos,
            stream=stream,
            beside=self._looking(seen, clocks) if counts and self.long_s is not None else None,
        )
        read = answer.read
        why = refused or self._wrong(answer, output_tokens)
        if not why and any(others(traffic, ours=1) for traffic in seen):
            why = BUSY
        self.arms.append(
            Arm(
                order=len(self.arms) + 1,
                output_tokens=output_tokens,
                prompt_tokens=read.prompt_tokens,
                completion_tokens=read.completion_tokens,
                cached_tokens=read.cached_tokens,
                client_s=round(answer.client_s, 6),
                server_s=read.server_time_s,
                steps=read.verify_steps,
                accepted=read.accepted,
                finish=read.finish_reason or "",
                sm_mhz=clocks[0].sm_mhz if clocks else None,
                temperature_c=clocks[0].temperature_c if clocks else None,
                power_w=clocks[0].power_w if clocks else None,
                refused=why,
            )
        )
        if read.error:
            refuse_auth(self.bench, read.error)
            raise CellRefusedError(read.error)
        if read.prompt_tokens is None or read.completion_tokens is None:
            raise CellRefusedError("the engine's answer has no token counts, and chunks are no tokens")
        if self.prompt.tokens is not None and read.prompt_tokens < self.prompt.tokens - 2:
            raise CellRefusedError(
                f"the engine counted {read.prompt_tokens} of {self.prompt.tokens} prompt tokens: it cuts long prompts"
            )
        return answer

    async def measure(self, *, long_first: bool, left_s: float | None = None) -> bool:
        """One more pair; whether it counts. A pair with one bad answer is refused as a whole, and counted as such.

        Raises OverBudgetError where the short answer, asked for first, tells that the long one takes over `left_s`.
        """
        await self.quiet()
        before = self.counters if self.counters is not None else await self.bench.counters()
        first = len(self.arms)
        answers: dict[bool, Answer] = {}
        for is_long in (long_first, not long_first):
            if is_long and left_s is not None and False in answers:
                short = answers[False]
                must_take_s = short.client_s * self.long_tokens / self.short_tokens
                self.long_s = self.long_s or must_take_s
                if must_take_s > left_s:
                    raise OverBudgetError
            answers[is_long] = await self.ask(self.long_tokens if is_long else self.short_tokens)
        self.long_s = answers[True].client_s
        why = next((arm.refused for arm in self.arms[first:] if arm.refused), "")
        after = await self.bench.counters()
        self.counters = after
        counted = after.since(before)
        if not why and not same_cache(answers[False], answers[True]):
            why = "cached tokens differ"
        if not why and self.cold and any(found_some(answer) for answer in answers.values()):
            why = "cold, and found in the cache"
        if not why and counted is not None and counted.requests is not None and counted.requests > 2:
            why = BUSY
        if not why and others(await self.bench.traffic()):
            why = BUSY
        if why:
            self._refuse(why, first)
            return False
        self.kept.append((answers[False], answers[True]))
        if counted is not None:
            self.counted.append(counted)
        return True

    def _refuse(self, why: str, first: int) -> None:
        self.refused += 1
        self.reasons[why] += 1
        self.arms[first:] = [
            arm if arm.refused else arm.model_copy(update={"refused": f"pair: {why}"}) for arm in self.arms[first:]
        ]

    def _wrong(self, answer: Answer, output_tokens: int) -> str:
        read = answer.read
        if read.error or read.completion_tokens is None:
            return read.error or "no token counts"
        if read.completion_tokens != output_tokens or read.finish_reason not in ("length", None):
            return "ended early" if read.completion_tokens <= output_tokens else "longer than asked for"
        return ""

    def _looking(self, seen: list[Traffic], clocks: list[Clocks]) -> Callable[[], Awaitable[None]]:
        """Once, somewhere in the middle of a long answer; neither question makes the engine generate."""
        long_s = self.long_s or 0.0
        moment_s = long_s * self.chance.uniform(0.3, 0.7)

        async def look() -> None:
            await self.bench.clock.sleep(moment_s)
            seen.append(await self.bench.traffic())
            # A look that the end of the answer would cut off costs the host more than it tells.
            if moment_s + 3 * self.bench.clocks_take_s < long_s:
                with suppress(ConnectError):
                    found = await self.bench.clocks()
                    clocks.extend([found] if found is not None else [])

        return look


def reply_of(answer: Answer, clock: str) -> Reply:
    """An answer as the estimators take it, timed by the engine ("server") or from here ("client")."""
    read = answer.read
    seconds = read.server_time_s if clock == "server" else answer.client_s
    return Reply(
        read.completion_tokens or 0,
        seconds or 0.0,
        read.verify_steps,
        read.cached_tokens,
        read.prompt_tokens,
        read.text,
    )


def others(traffic: Traffic, ours: int = 0) -> int:
    """Requests that are not ours; 0 as well where the engine does not say."""
    return max(0, (traffic.total or 0) - ours)


def traffic_text(traffic: Traffic) -> str:
    waiting = f", {traffic.queued} waiting" if traffic.queued else ""
    return f"{traffic.running or 0} requests running{waiting}"


def same_cache(one: Answer, other: Answer) -> bool:
    """Whether both found the same part of the prompt in the prefix cache; also when the engine does not say."""
    left, right = one.read.cached_tokens, other.read.cached_tokens
    if left is None or right is None:
        return True
    return abs(left - right) <= max(PAGE_TOKENS, CACHE_SHARE * (one.read.prompt_tokens or 0))


def found_some(answer: Answer) -> bool:
    """Whether a page and more of its prompt was in the prefix cache."""
    read = answer.read
    return (read.cached_tokens or 0) > max(PAGE_TOKENS, CACHE_SHARE * (read.prompt_tokens or 0))


def refuse_auth(bench: Bench, error: str) -> None:
    """A key that is refused is refused for every cell. Raises EngineAuthError."""
    if "unauthorized" in error.lower() or error in ("HTTP 401", "HTTP 403"):
        raise EngineAuthError(
            f"the engine refused our key: {error}",
            where=bench.reader.target.name,
            hint="api_key_env in hosts.toml names the variable that holds the key",
        )
