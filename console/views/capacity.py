"""Will it fit: limits, calibration, verdict and ladder as lines for a terminal of 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from console.schema.capacity import CapacityReport, Judgement, Rung

WIDTH = 80
_LABEL = 13


def capacity_text(report: CapacityReport) -> str:
    """The whole report; what is not known is told last."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: CapacityReport) -> Iterator[str]:
    engine = " ".join(part for part in (report.engine, report.version) if part)
    yield f"{report.target}  {engine}  {report.model}{'  (simulated)' if report.simulated else ''}".rstrip()
    yield ""
    yield from _labelled("model limit", [_limit(report.model_limit_tokens, report.model_limit_how)])
    if report.draft_limit_tokens is not None:
        yield from _labelled("draft limit", [_limit(report.draft_limit_tokens, report.draft_limit_how)])
    yield from _labelled("served now", [_served(report)])
    yield from _labelled("a token", list(report.calibration))
    if report.judgement is not None:
        yield ""
        yield from _judged(report.judgement)
    if report.rungs:
        yield ""
        yield from _ladder(report.rungs)
    if report.missing:
        yield ""
        yield from _labelled("not known", list(report.missing))


def _judged(judgement: Judgement) -> Iterator[str]:
    window = f"{judgement.window_tokens:,} tokens" if judgement.window_tokens else "the window"
    yield from _labelled("asked", [window])
    yield from _labelled("verdict", [f"{judgement.verdict}: {judgement.sentence}"])
    yield from _labelled("because", list(judgement.lines))
    yield from _labelled("assumed", list(judgement.assumed))
    yield from _labelled("warning", list(judgement.warnings))
    if judgement.decode:
        yield from _labelled("costs", [judgement.decode.text])


def _ladder(rungs: Sequence[Rung]) -> Iterator[str]:
    yield f"{'what it takes':<33} {'pool':>10} {'window':>9} {'at once':>8}"
    for lossy in (False, True):
        part = [rung for rung in rungs if rung.lossy is lossy]
        if lossy and part:
            yield "  changes what the model may answer:"
        for rung in part:
            yield from _rung(rung)


def _rung(rung: Rung) -> Iterator[str]:
    pool, window = _count(rung.pool_tokens), _count(rung.window_tokens)
    at_once = f"{rung.full_requests:.2f}" if rung.full_requests is not None else "-"
    yield f"{rung.name:<33} {pool:>10} {window:>9} {at_once:>8}"
    if rung.sets:
        yield "    " + " ".join(f"--set {word}" for word in rung.sets.split())
    if rung.note:
        yield from textwrap.wrap(rung.note, WIDTH, initial_indent="    ", subsequent_indent="    ")


def _limit(tokens: int | None, how: str) -> str:
    return f"{tokens:,} tokens ({how})" if tokens is not None else "not known"


def _served(report: CapacityReport) -> str:
    if report.served_tokens is None:
        return "nothing that could be seen"
    pool = f"pool {report.pool_tokens:,}" if report.pool_tokens is not None else "pool not seen"
    largest = f", largest request {report.largest_tokens:,}" if report.largest_tokens is not None else ""
    return f"window {report.served_tokens:,}, {pool}{largest}"


def _count(value: int | None) -> str:
    return f"{value:,}" if value is not None else "-"


def _labelled(label: str, texts: Sequence[str]) -> Iterator[str]:
    for index, text in enumerate(texts):
        head = label if index == 0 else ""
        yield from textwrap.wrap(
            text, WIDTH, initial_indent=f"{head:<{_LABEL}}", subsequent_indent=" " * _LABEL, break_on_hyphens=False
        )
