"""What a measurement says in findings: a rate always with its class of text, never one without its spread."""

from __future__ import annotations

import math
from typing import Any

from console.analysis.diagnosis.placement import UNEVEN
from console.analysis.diagnosis.replica_spread import replica_spread, why_not
from console.analysis.statistics.sweep import SweepFit
from console.measure.workload import Workload
from console.schema.cells import Cell
from console.schema.events import FindingMade
from console.schema.loads import Level

# A rate with one of these marks is no headline: its text is not what users ask for.
NO_HEADLINE = frozenset({"past the text's own end", "degenerate text"})


def of_cell(target: str, cell: Cell) -> list[FindingMade]:
    """Rate, with its step time and accept_length; a refused cell says why it has none."""
    common = {
        "target": target,
        "text_class": cell.text_class,
        "context_tokens": cell.context_tokens if cell.context_tokens is not None else cell.asked_tokens,
        "n": cell.pairs,
    }
    if cell.rate_tok_s is None:
        return [
            FindingMade.model_validate({**common, "name": "not_measured", "value": cell.reason, "flags": flags(cell)})
        ]
    figures = {}
    if cell.accept_length is not None:
        figures["accept_length"] = round(cell.accept_length, 3)
    if cell.step_ms is not None:
        figures["step_time_ms"] = round(cell.step_ms, 4)
    found = {
        **common,
        "name": "decode_rate",
        "value": round(cell.rate_tok_s, 3),
        "unit": "tok/s",
        "low": rounded(cell.rate_low),
        "high": rounded(cell.rate_high),
        "interval": "confidence",
        "confidence": cell.confidence,
        "method": cell.method,
        "source": source_of(cell),
        "figures": figures,
        "flags": flags(cell),
    }
    return [FindingMade.model_validate(found)]


def source_of(cell: Cell) -> str:
    """Which clock, and where accept_length comes from."""
    clock = cell.estimates[0].method if cell.estimates else "client"
    return f"{clock},{cell.accept_source}" if cell.accept_source else clock


def flags(cell: Cell) -> tuple[str, ...]:
    marks = list(cell.flags)
    if cell.state == "partial":
        marks.insert(0, "partial")
    if cell.refused_pairs:
        marks.append(f"{cell.refused_pairs} pairs refused")
    if cell.text_class == "repetitive" or NO_HEADLINE & set(cell.flags):
        marks.append("no headline")
    return tuple(marks)


def of_fit(target: str, fit: SweepFit, *, marks: tuple[str, ...] = ()) -> FindingMade:
    """The line of step time over context."""
    a, b = fit.intercept_ms, fit.slope_ms_per_token
    return FindingMade(
        target=target,
        name="step_time_fit",
        value="",
        method="wls",
        n=fit.n,
        context_tokens=f"{fit.lowest_tokens:.0f}..{fit.highest_tokens:.0f}",
        figures={
            "intercept_ms": round(a.value, 5),
            "intercept_low_ms": round(a.low, 5),
            "intercept_high_ms": round(a.high, 5),
            "slope_ms_per_token": float(f"{b.value:.6g}"),
            "slope_low_ms_per_token": float(f"{b.low:.6g}"),
            "slope_high_ms_per_token": float(f"{b.high:.6g}"),
        },
        flags=marks,
    )


def of_prediction(target: str, fit: SweepFit, context_tokens: int) -> FindingMade:
    """Step time at a context that was not measured, with the interval of a new cell there."""
    said = fit.predict(context_tokens)
    return FindingMade(
        target=target,
        name="step_time_predicted",
        value=round(said.value, 3),
        unit="ms",
        low=round(said.low, 3),
        high=round(said.high, 3),
        interval="prediction",
        confidence=said.confidence,
        n=said.n,
        method="wls",
        context_tokens=context_tokens,
        flags=said.flags,
    )


def of_workload(target: str, found: Workload) -> FindingMade:
    """accept_length of a class of text, with the interval that its prompts give."""
    common: dict[str, Any] = {"target": target, "text_class": found.text_class, "n": found.prompts}
    if found.estimate is None:
        return FindingMade.model_validate({**common, "name": "not_measured", "value": found.reason})
    made = found.estimate
    return FindingMade.model_validate(
        {
            **common,
            "name": "accept_length",
            "value": round(made.value, 3),
            "unit": "tokens/step",
            "low": rounded(finite(made.low)),
            "high": rounded(finite(made.high)),
            "interval": "confidence",
            "confidence": made.confidence,
            "method": made.method,
            "source": "per-request",
            "flags": made.flags,
        }
    )


def of_level(target: str, level: Level, text_class: str) -> FindingMade:
    """Throughput of a level with its latencies; quantiles say when they are only the largest of a few."""
    common: dict[str, Any] = {"target": target, "text_class": text_class, "flags": level.flags}
    name = {"per_s": level.per_s} if level.per_s else {"streams": float(level.streams)}
    if level.state != "measured" or level.tok_min_gpu is None:
        reason = level.reason or "no time at which all streams were at work"
        return FindingMade.model_validate({**common, "name": "not_measured", "value": reason, "figures": name})
    good = [one for one in level.requests if not one.refused]
    figures = name | {word: value for word, value in level.figures.items() if not word.endswith("_n")}
    if level.pool_usage_most is not None:
        figures["kv_use_percent"] = round(100 * level.pool_usage_most, 1)
    if level.queued_most is not None:
        figures["queued_most"] = float(level.queued_most)
    if level.retracted is not None:
        figures["retracted"] = float(level.retracted)
    found_one = {
        **common,
        "name": "load_throughput",
        "value": round(level.tok_min_gpu, 2),
        "unit": "tok/min/GPU",
        "n": len(good),
        "method": "open_loop" if level.per_s else "closed_loop",
        "context_tokens": good[0].prompt_tokens if good else None,
        "figures": figures,
    }
    return FindingMade.model_validate(found_one)


def of_spread(target: str, level: Level, expected: int) -> FindingMade:
    """How a load lay over the replicas of one server; `expected` of them by its settings."""
    seen = replica_spread(level.replicas)
    if seen is None:
        return FindingMade(target=target, name="load_spread", value=why_not(level.replicas, expected))
    return FindingMade(
        target=target,
        name="load_spread",
        value=round(100 * seen.share, 1),
        unit="% of mean",
        n=seen.replicas,
        method="sd over replicas",
        source=f"hottest {seen.hottest.name}",
        figures={"hottest_running": seen.hottest.running, "coolest_running": seen.coolest.running},
        flags=(f"hottest {seen.hottest.name}", *((f"uneven: above {100 * UNEVEN:.0f} %",) if seen.uneven else ())),
    )


def finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
