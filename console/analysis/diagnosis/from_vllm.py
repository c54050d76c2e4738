"""vLLM's ten-second averages as windows.

`Engine 000: Avg prompt throughput …, Avg generation throughput …, Running, Waiting, GPU KV cache usage`, followed by
`SpecDecoding metrics: Mean acceptance length …` where it drafts (the length counts the bonus token). The context of a
step is not logged: it is the used share of the KV pool over the requests that run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from console.analysis.diagnosis import window as w
from console.analysis.diagnosis.repetition import in_loops
from console.analysis.diagnosis.window import Passive, Said, Window, counted, number

_POSITIONS = re.compile(r"Per-position acceptance rate: ([\d., ]+?)(?:, Avg|$)")


def windows(lines: Sequence[Said], *, pool_tokens: int | None, ceiling: float | None = None) -> Passive:
    """Windows of the averages; without the size of the pool there is no context, and so no window."""
    begin = max((index for index, one in enumerate(lines) if one.line.kind == "args"), default=-1) + 1
    reasons = [w.EARLIER_START for one in lines[:begin] if "throughput" in one.line.values]
    averages, drafts = _paired(lines[begin:])
    speculative = any(one is not None for one in drafts) if averages else None
    judged: list[tuple[Window, str]] = []
    before: dict[int, Mapping[str, float | int | str]] = {}
    mixed = 0
    for said, draft in zip(averages, drafts, strict=True):
        values = said.line.values
        replica = int(number(values, "engine") or 0)
        batch, rate, usage = (number(values, name) for name in ("running", "throughput", "usage"))
        previous, before[replica] = before.get(replica), values
        if batch is None or rate is None or usage is None or pool_tokens is None:
            reasons.append(w.CUT)
            continue
        if batch <= 0 or rate <= 0:
            reasons.append(w.IDLE)
            continue
        if speculative and draft is None:
            reasons.append(w.CUT)
            continue
        one = Window(
            said.at_s,
            usage * pool_tokens / batch,
            batch,
            draft or 1.0,
            rate,
            int(number(values, "queue") or 0),
            replica,
        )
        prefilled = (number(values, "input_throughput") or 0.0) > 0
        mixed += prefilled
        judged.append((one, _reason(values, previous, prefilled=prefilled)))
    loops = in_loops([one for one, _ in judged], ceiling)
    kept = []
    for (one, reason), loop in zip(judged, loops, strict=True):
        if why := w.REPETITION if loop else reason:
            reasons.append(why)
        else:
            kept.append(one)
    notes = []
    if pool_tokens is None and averages:
        notes.append("the size of the KV pool is not known: the context of the log's windows cannot be told")
    if speculative is False:
        notes.append("no speculation in the log: a step commits one token")
    return Passive(tuple(kept), counted(reasons), speculative, mixed / len(judged) if judged else None, tuple(notes))


def _paired(lines: Sequence[Said]) -> tuple[list[Said], list[float | None]]:
    """Each average with the acceptance that was logged beside it, before or after, within the same interval."""
    averages = [one for one in lines if one.line.kind == "decode" and "throughput" in one.line.values]
    lengths = [one for one in lines if one.line.kind == "decode" and number(one.line.values, "accept_len")]
    drafts: list[float | None] = []
    for one in averages:
        near = min(lengths, key=lambda other: abs(other.at_s - one.at_s), default=None)
        close = near is not None and abs(near.at_s - one.at_s) <= 5.0
        drafts.append(number(near.line.values, "accept_len") if near is not None and close else None)
    return averages, drafts


def _reason(
    values: Mapping[str, float | int | str], before: Mapping[str, float | int | str] | None, *, prefilled: bool
) -> str:
    if before is None:
        return w.FIRST_SEEN
    if not number(before, "throughput") or not number(before, "running"):
        return w.AFTER_IDLE
    if prefilled:
        return w.PREFILL_MIXED
    if before.get("running") != values.get("running"):
        return w.BATCH_CHANGED
    return ""


def positions(lines: Sequence[Said]) -> tuple[float, ...]:
    """The acceptance rate of each draft position as last logged; empty where the log does not tell."""
    for one in reversed(lines):
        if match := _POSITIONS.search(one.line.text):
            return tuple(float(part) for part in match[1].split(",") if part.strip())
    return ()
