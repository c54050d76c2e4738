"""Replaying a frozen trace: every request at its own moment, whether or not earlier ones have ended."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from console.analysis.workload.schedule import Planned, synthetic
from console.measure.bench import Answer
from console.measure.load import LoadLevel, collected, together
from console.schema.loads import Level, Sent

# Different tokens that the beginnings of prompts are written with.
LEAST_ALPHABET = 64


def alphabet(tokens: Sequence[int]) -> tuple[int, ...]:
    """The tokens of a text with its different ones first, so that numbers can be written with them.

    Raises ValueError for a text of too few different tokens.
    """
    first = tuple(dict.fromkeys(tokens))
    if len(first) < LEAST_ALPHABET:
        raise ValueError(f"a text of {len(first)} different tokens, {LEAST_ALPHABET} are needed")
    return (*first, *tokens)


@dataclass
class Replay(LoadLevel):
    """A load whose requests, moments and prompts are those of a schedule; open loop."""

    planned: Sequence[Planned] = ()
    base: Sequence[int] = ()
    block_tokens: int = 0
    done: dict[int, Sent] = field(default_factory=dict)  # by place in the schedule

    @property
    def name(self) -> str:
        return "replay"

    async def _arriving(self) -> None:
        self.began_s += AHEAD_S + START_S * len(self.planned)
        await self._send_all()

    async def send_from(self, began_s: float) -> None:
        """All requests of a schedule whose zero was or will be at `began_s` of the clock, and how late our loop was."""
        self.began_s = began_s
        probe = asyncio.ensure_future(self._probe())
        try:
            with collected():
                await self._send_all()
        finally:
            probe.cancel()
            await asyncio.gather(probe, return_exceptions=True)

    async def _send_all(self) -> None:
        async def at(index: int, one: Planned) -> None:
            # The prompt is made ahead of its moment, so that making it costs no lag.
            await self.bench.clock.sleep(max(0.0, one.at_s - AHEAD_S - self.now_s()))
            prompt = synthetic(one, self.base, self.block_tokens)
            await self.bench.clock.sleep(max(0.0, one.at_s - self.now_s()))
            sent_s = self.now_s()
            answer = await self.bench.generate(prompt, one.output, stream=True)
            self._keep_of(index, one, sent_s, answer)

        await together([at(index, one) for index, one in enumerate(self.planned)])

    def _keep_of(self, index: int, one: Planned, sent_s: float, answer: Answer) -> None:
        self._keep(one.at_s, sent_s, answer)
        kept = self.sent[-1].model_copy(update={"known_prompt_tokens": one.known})
        self.sent[-1] = kept
        if not answer.read.error:
            early = "" if kept.completion_tokens == one.output else "ended early"
            kept = kept.model_copy(update={"refused": early})
            self.sent[-1] = kept
        self.done[index] = kept

    def level(self, state: str, reason: str) -> Level:
        """As of a load; a replay of which nothing ran beside nothing else has no window of full streams."""
        self.sent.sort(key=lambda one: one.scheduled_s)
        return super().level(state, reason)


AHEAD_S = 0.25
# What starting a request's task takes, at most: the first moment comes once all of them have been started.
START_S = 0.0001
