"""Step time over context: cells of one pair each, every context twice, in random order, the first again at the end."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

from console.analysis.statistics.design import Design
from console.analysis.statistics.sweep import Cell as Point
from console.analysis.statistics.sweep import SweepFit, fit
from console.analysis.statistics.sweep_alarms import Alarm, alarms
from console.measure.bench import Answer, Bench
from console.measure.clocks import odd_cells
from console.measure.decode import base_cell, finished
from console.measure.pairs import CellRefusedError, OverBudgetError, Pairs
from console.measure.prompt import Prompt, Source
from console.schema.cells import Cell, CellState

SHORT_TOKENS = 32
TRIES = 4
# Fewer tokens than this say little of how long a prompt takes: the first request of a start is slow by itself.
PREFILL_TOKENS = 1000
OVER_BUDGET = "over budget"
# What every cell of a sweep is by design, and so no mark of one.
BY_DESIGN = frozenset({"single pair", "indicative", "target not reached"})


@dataclass(frozen=True)
class Planned:
    """A cell that is to be measured; `round` counts the visits to its context from 1."""

    context_tokens: int
    round: int

    @property
    def name(self) -> str:
        return f"{self.context_tokens} tokens, {('first', 'second', 'third')[min(self.round, 3) - 1]} time"


@dataclass(frozen=True)
class Layout:
    """What is asked for. `budget_s` is time on the target's own clock."""

    contexts: Sequence[int]
    text_class: str = "prose"
    output_tokens: int = 256
    rounds: int = 2
    budget_s: float = 900.0

    @property
    def tokens(self) -> tuple[int, int]:
        """Prompt tokens to compute (a longer prompt primes a shorter) and tokens to generate, over all cells."""
        cells = self.rounds * len(self.contexts) + 1
        return max(self.contexts, default=0), cells * (2 * SHORT_TOKENS + self.output_tokens)

    def order(self, chance: random.Random) -> list[Planned]:
        """The smallest context first: it is the one measured again at the end. All others as they are drawn."""
        every = [Planned(tokens, number) for number in range(1, self.rounds + 1) for tokens in self.contexts]
        first = Planned(min(self.contexts), 1)
        rest = [one for one in every if one != first]
        chance.shuffle(rest)
        return [first, *rest, Planned(first.context_tokens, self.rounds + 1)]


@dataclass
class Sweep:
    """A sweep while it goes on. `keep` is told every cell as it ends, also one that is refused or cut off."""

    bench: Bench
    source: Source
    layout: Layout
    chance: random.Random
    keep: Callable[[Cell], None]
    cells: list[Cell] = field(default_factory=list)
    remeasured: Cell | None = None
    long_s: dict[int, float] = field(default_factory=dict)  # what a long answer took, by context
    began_s: float = 0.0
    done: int = 0
    primed: int = 0  # tokens of the longest prompt that the engine has computed for us
    prefill_s: float = 0.0  # seconds a prompt token takes; 0: not known yet

    async def run(self) -> None:
        """Every cell in its order. Raises what ends it: ConnectError, NotMeasuredError, EngineAuthError."""
        self.began_s = self.bench.clock.monotonic()
        order = self.layout.order(self.chance)
        for index, planned in enumerate(order):
            self._say(index, len(order), planned)
            cell = await self._one(planned)
            if index == len(order) - 1:
                self.remeasured = cell
            else:
                self.cells.append(cell)
            self.keep(cell)
            self.done = index + 1

    def _say(self, index: int, of: int, planned: Planned) -> None:
        """Where it is, and how long what is left will take: longer contexts take longer, as far as that is known."""
        spent_s = self.bench.clock.monotonic() - self.began_s
        prompt, output = self.layout.tokens
        plan = f"{prompt} prompt and {output} output tokens planned, at most {self.layout.budget_s / 60:.0f} min"
        self.bench.say(
            phase=planned.name,
            done=index,
            total=of,
            eta_s=min(spent_s / index * (of - index), self._left_s()) if index else None,
            message="" if index else plan,
        )

    def _left_s(self) -> float:
        return max(0.0, self.layout.budget_s - (self.bench.clock.monotonic() - self.began_s))

    def _must_take_s(self, tokens: int) -> float:
        """What a cell takes at least, as far as is known: its long answer, or a shorter context's, and its prefill."""
        if tokens in self.long_s:
            return self.long_s[tokens]
        least = max((taken for known, taken in self.long_s.items() if known < tokens), default=0.0)
        return least + max(0, tokens - self.primed) * self.prefill_s

    async def _within_budget(self, work: Coroutine[Any, Any, None]) -> None:
        """No cell goes on beyond the time: its request is taken back. Raises OverBudgetError, and what `work` does."""
        task = asyncio.ensure_future(work)
        end = asyncio.ensure_future(self.bench.clock.sleep(self._left_s()))
        try:
            await asyncio.wait({task, end}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise OverBudgetError
            task.result()
        finally:
            task.cancel()
            end.cancel()
            await asyncio.gather(task, end, return_exceptions=True)

    async def _one(self, planned: Planned) -> Cell:
        tokens = planned.context_tokens
        if too_much := self.bench.limits.too_much(tokens + self.layout.output_tokens):
            return self._without(planned, too_much)
        if self._left_s() <= self._must_take_s(tokens):
            return self._without(planned, OVER_BUDGET)
        prompt = await self.source.prompt(self.layout.text_class, tokens, nonce=self.bench.nonce)
        pairs = Pairs(self.bench, prompt, SHORT_TOKENS, self.layout.output_tokens, self.chance)
        pairs.long_s = self.long_s.get(tokens)
        try:
            await self._within_budget(self._pair(pairs, planned))
            self.bench.watched.append(await self.bench.watch())
        except OverBudgetError:
            return self.cell(planned, pairs, "refused", OVER_BUDGET)
        except CellRefusedError as refusal:
            return self.cell(planned, pairs, "refused", str(refusal))
        except BaseException as error:
            word = "stopped" if isinstance(error, asyncio.CancelledError) else str(getattr(error, "message", error))
            self.keep(self.cell(planned, pairs, "partial", word))
            raise
        return self.cell(planned, pairs)

    async def _pair(self, pairs: Pairs, planned: Planned) -> None:
        await pairs.quiet()
        primed = await pairs.ask(pairs.short_tokens, refused="primes the cache")
        for attempt in range(TRIES):
            # Where nothing is known of a context the short answer comes first: it tells what the long one will take.
            long_first = planned.round % 2 == 0 and attempt % 2 == 0 and pairs.long_s is not None
            counts = await pairs.measure(long_first=long_first, left_s=self._left_s())
            if pairs.long_s is not None:
                self.long_s[planned.context_tokens] = pairs.long_s
            if counts:
                self._learn_prefill(primed, pairs.kept[-1][0])
                return
        raise CellRefusedError("no pair counts: " + ", ".join(pairs.reasons))

    def _learn_prefill(self, cold: Answer, warm: Answer) -> None:
        """Seconds a prompt token takes, from an answer that computed its prompt and one that found it in the cache."""
        prompt = cold.read.prompt_tokens or 0
        new = (warm.read.cached_tokens or 0) - (cold.read.cached_tokens or 0)
        if new > PREFILL_TOKENS:
            self.prefill_s = max(0.0, cold.client_s - warm.client_s) / new
        self.primed = max(self.primed, prompt)

    def _without(self, planned: Planned, reason: str) -> Cell:
        prompt = Prompt(self.layout.text_class, "", None, planned.context_tokens, "")
        pairs = Pairs(self.bench, prompt, SHORT_TOKENS, self.layout.output_tokens, self.chance)
        return base_cell(planned.name, "sweep", pairs, "refused", reason)

    def cell(self, planned: Planned, pairs: Pairs, state: CellState = "measured", reason: str = "") -> Cell:
        """What a cell has come to."""
        base = base_cell(planned.name, "sweep", pairs, state, reason)
        if not pairs.kept or state == "refused":
            return base
        design = Design(pairs.short_tokens, pairs.long_tokens - pairs.short_tokens, start=1, most=1)
        whole = finished(base, pairs, design, None)
        return whole.model_copy(update={"flags": tuple(flag for flag in whole.flags if flag not in BY_DESIGN)})


@dataclass(frozen=True)
class Line:
    """Step time as a line over context, and what speaks against it. `left_out`: names of cells that do not belong."""

    fit: SweepFit
    alarms: tuple[Alarm, ...]
    left_out: tuple[str, ...] = ()
    clocks: tuple[str, ...] = ()

    @property
    def marks(self) -> tuple[str, ...]:
        said = [alarm.text for alarm in self.alarms]
        return (*said, *(f"left out: {name}" for name in self.left_out), *self.clocks)


def line_of(cells: Sequence[Cell], remeasured: Cell | None = None) -> Line | None:
    """The line through the cells in the order they were measured; None below three cells or for one context only."""
    known = [cell for cell in cells if cell.step_ms is not None and cell.at_tokens is not None]
    points = [Point(cell.at_tokens or 0.0, cell.step_ms or 0.0) for cell in known]
    if len(points) < 3 or len({point.context_tokens for point in points}) < 2:
        return None
    again = None
    if remeasured is not None and remeasured.step_ms is not None and remeasured.at_tokens is not None:
        again = Point(remeasured.at_tokens, remeasured.step_ms)
    found = alarms(points, remeasured=again)
    bad = {index for alarm in found if alarm.kind == "contaminated" for index in alarm.cells}
    good = [point for index, point in enumerate(points) if index not in bad]
    if len(good) < 3 or len({point.context_tokens for point in good}) < 2:
        good, bad = points, set()
    left_out = tuple(known[index].name for index in sorted(bad))
    return Line(fit(good), found, left_out, odd_cells(known))
