"""What somebody says is slow, as far as they say it; and the rest out of the log, said to be assumed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from statistics import median

from console.analysis.diagnosis.window import Passive, Window, mean_acceptance

# Windows of a context within this factor speak for a request; the closer ones where there is a choice.
ALIKE = 2.0
CLOSE = 1.15


@dataclass(frozen=True)
class Stated:
    """A figure as it was written: `2.9` may be anything from 2.85 to 2.95. `assumed` says where it was taken from."""

    value: float
    half_unit: float = 0.0
    assumed: str = ""

    @property
    def spread_ln(self) -> float:
        """Standard deviation of ln(value), even over half a unit of the last digit to both sides."""
        return self.reach_ln / math.sqrt(3.0)

    @property
    def reach_ln(self) -> float:
        """How far ln(value) can be off by rounding alone."""
        return self.half_unit / self.value if self.value > 0 else 0.0


def stated(text: str) -> Stated:
    """The figure in `text`. Raises ValueError for what is no positive finite number."""
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a number") from None
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"{text} is not a number above 0")
    digits = text.strip().lower().partition("e")[0].partition(".")[2]
    return Stated(value, 0.5 * 10.0 ** -len(digits))


@dataclass(frozen=True)
class Baseline:
    """A rate that was expected, and at which context it was seen, where that is known."""

    rate: Stated
    context_tokens: float | None = None


@dataclass(frozen=True)
class Complaint:
    """One request that was slower than expected. `output_tokens` and `prompt_tokens` place the step at their middle."""

    observed: Stated | None = None
    prompt_tokens: float | None = None
    output_tokens: float | None = None
    accept_length: Stated | None = None
    baselines: tuple[Baseline, ...] = ()
    ttft_s: Stated | None = None
    batch: float | None = None
    assumed: tuple[str, ...] = field(default=())

    @property
    def context_tokens(self) -> float | None:
        """Where the step is taken: the prompt and half of what was generated."""
        if self.prompt_tokens is None:
            return None
        return self.prompt_tokens + (self.output_tokens or 0.0) / 2.0


def filled(complaint: Complaint, passive: Passive, recorded_acceptance: float | None = None) -> Complaint:
    """The complaint with what it leaves open taken from the log; each such figure is named in `assumed`.

    Where a context is told, only windows within a factor of two of it speak for the request.
    """
    said = list(complaint.assumed)
    near, batch = _near(passive.windows, complaint.context_tokens), complaint.batch
    if batch is None:
        batch = _most_common([one.batch for one in near]) if near else 1.0
        said.append(
            f"batch {batch:g}: the most common of {len(near)} windows of the log"
            if near
            else "batch 1: the log shows none"
        )
        complaint = replace(complaint, batch=batch)
    near = [one for one in near if one.batch == batch] or near
    if complaint.prompt_tokens is None and near:
        context = sorted(one.context_tokens for one in near)[len(near) // 2]
        said.append(f"context {context:,.0f} tokens: the median of {len(near)} windows of the log")
        complaint = replace(complaint, prompt_tokens=context, output_tokens=None)
        near = _near(near, context, CLOSE)
    if complaint.accept_length is None:
        complaint = _with_acceptance(complaint, passive, near, recorded_acceptance, said)
    if complaint.observed is None and near:
        rates = [one.rate_per_request_tok_s for one in near]
        said.append(f"observed {median(rates):.1f} tok/s: the median of {len(near)} windows of the log")
        value = median(rates)
        complaint = replace(complaint, observed=Stated(value, 0.05, "the log"))
    if complaint.ttft_s is None:
        said.append("time to the first token not told: taken as no part of the rate")
    return replace(complaint, assumed=tuple(said))


def _with_acceptance(
    complaint: Complaint, passive: Passive, near: Sequence[Window], recorded: float | None, said: list[str]
) -> Complaint:
    if (mean := mean_acceptance(near)) is not None:
        where = "no speculation in the log" if passive.speculative is False else f"{len(near)} windows of the log"
        said.append(f"accept_length {mean:.2f}: {where}")
        spread = _standard_error(near)
        return replace(complaint, accept_length=Stated(mean, spread * math.sqrt(3.0), "the log"))
    if recorded is not None:
        said.append(f"accept_length {recorded:.2f}: of the recorded sweep; the text of the request may differ")
        return replace(complaint, accept_length=Stated(recorded, 0.005, "the recorded sweep"))
    return complaint


def _standard_error(windows: Sequence[Window]) -> float:
    if len(windows) < 2:
        return 0.0
    mean = sum(one.accept_length for one in windows) / len(windows)
    variance = sum((one.accept_length - mean) ** 2 for one in windows) / (len(windows) - 1)
    return math.sqrt(variance / len(windows))


def _near(windows: Sequence[Window], context: float | None, factor: float = ALIKE) -> list[Window]:
    if context is None:
        return list(windows)
    return [one for one in windows if context / factor <= max(one.context_tokens, 1.0) <= context * factor]


def _most_common(values: Sequence[float]) -> float:
    return Counter(values).most_common(1)[0][0]
