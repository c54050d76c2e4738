"""Which factor moved against what was recorded: steps, acceptance, queue, prefill, graphs, hardware; or did not."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from console.analysis.diagnosis import window as w
from console.analysis.diagnosis.curve import Curve
from console.analysis.diagnosis.hardware import HardwareVerdict
from console.analysis.diagnosis.recorded import Cell
from console.analysis.diagnosis.window import Passive, mean_acceptance

# Steps this much off the recorded curve have moved; below it a sweep of another day differs as much.
MOVED = 0.05
LEAST_WINDOWS = 5
MUCH_PREFILL = 0.2
SOME_QUEUE = 0.1
SOME_GRAPHLESS = 0.02


@dataclass(frozen=True)
class Judged:
    """One factor. `moved` None: it cannot be told, and `text` says why."""

    name: str
    moved: bool | None
    text: str
    ratio: float | None = None  # now over recorded


def judge_factors(
    passive: Passive,
    measured: Sequence[Cell],
    recorded: Curve | None,
    recorded_acceptance: float | None,
    user_acceptance: float | None,
    hardware: HardwareVerdict,
) -> list[Judged]:
    """Every factor, the step time first."""
    return [
        _steps(passive, measured, recorded),
        *_acceptance(passive, recorded_acceptance, user_acceptance),
        *_scheduler(passive),
        *_graphs(passive),
        *_hardware(hardware),
    ]


def _steps(passive: Passive, measured: Sequence[Cell], recorded: Curve | None) -> Judged:
    """A sweep of now is the better witness; the log's windows speak where there is none."""
    if recorded is None:
        return Judged("steps", None, "no recorded sweep to compare the step time with")
    if measured:
        ratio = median(cell.step_ms / recorded.step_ms(cell.context_tokens) for cell in measured)
        told = f"steps of {len(measured)} cells measured now are {ratio:.2f}x the recorded curve's"
        slower = ratio > 1.0 + MOVED
        return Judged("steps", slower, f"a regression: {told}" if slower else told, ratio)
    if len(passive.windows) < LEAST_WINDOWS:
        return Judged("steps", None, f"only {len(passive.windows)} usable windows in the log: step time not compared")
    ratios = [one.step_s * 1000.0 / recorded.step_ms(one.context_tokens, one.batch) for one in passive.windows]
    ratio = median(ratios)
    spread = 1.4826 * median(abs(one - ratio) for one in ratios) / math.sqrt(len(ratios))
    # What a prediction from few cells may be off by is no movement of the steps.
    bound = max(MOVED, 2.0 * spread)
    told = f"steps of {len(ratios)} windows of the log are {ratio:.2f}x the recorded curve's"
    if ratio > 1.0 + bound:
        return Judged("steps", True, f"a regression: {told}", ratio)
    return Judged("steps", False, told, ratio)


def _acceptance(passive: Passive, recorded: float | None, user: float | None) -> Iterator[Judged]:
    now = user if user is not None else mean_acceptance(passive.windows)
    if passive.speculative is False:
        yield Judged("acceptance", False, "no speculation: every step commits one token")
    elif now is None:
        yield Judged("acceptance", None, "no acceptance length in the log and none given")
    elif recorded is not None:
        ratio = now / recorded
        told = f"accept_length {now:.3g} against {recorded:.3g} recorded"
        moved = abs(math.log(ratio)) > math.log(1.1)
        yield Judged("acceptance", moved, f"{told}: the text or the drafter" if moved else told, ratio)


def _scheduler(passive: Passive) -> Iterator[Judged]:
    if passive.windows:
        waited = sum(one.queue > 0 for one in passive.windows) / len(passive.windows)
        most = max(one.queue for one in passive.windows)
        if waited > SOME_QUEUE:
            yield Judged("queue", True, f"requests waited in {waited:.0%} of the windows, up to {most}")
        else:
            yield Judged("queue", False, f"queue: requests waited in {waited:.0%} of {len(passive.windows)} windows")
    if passive.prefill_share is not None:
        much = passive.prefill_share > MUCH_PREFILL
        yield Judged("prefill", much, f"prefill ran within {passive.prefill_share:.0%} of the windows")


def _graphs(passive: Passive) -> Iterator[Judged]:
    without = sum(one.count for one in passive.excluded if one.reason == w.NO_GRAPH)
    if passive.seen:
        share = without / passive.seen
        text = f"{without} of {passive.seen} windows decoded without graphs"
        yield Judged("graphs", share > SOME_GRAPHLESS, text)


def _hardware(verdict: HardwareVerdict) -> Iterator[Judged]:
    for sign in verdict.signs:
        yield Judged(sign.kind, True, sign.text)
    for text in verdict.clear:
        yield Judged("hardware", False, text)
    for text in verdict.unseen:
        yield Judged("hardware", None, text)
