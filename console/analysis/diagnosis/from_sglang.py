"""SGLang's `Decode batch` lines as windows, without those that say something else than the time of a step.

A line stands for the last `--decode-log-interval` steps (40). Its rate is their tokens over the time since the line
before, idle time included; `accept len` counts the bonus token. Formats: `console.engines.sglang_log`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from console.analysis.diagnosis import window as w
from console.analysis.diagnosis.repetition import in_loops
from console.analysis.diagnosis.window import Passive, Said, Window, counted, number

STEPS_A_LINE = 40


@dataclass
class _Replica:
    """What was seen of one replica since its last decode line."""

    before: Mapping[str, float | int | str] | None = None
    prefill_idle: bool = False  # a prefill into an empty batch: it had been idle
    prefill: bool = False
    found: list[tuple[Window, str]] = field(default_factory=list)  # with the reason to leave it out, or ""


def windows(lines: Sequence[Said], *, steps_a_line: int = STEPS_A_LINE, ceiling: float | None = None) -> Passive:
    """Windows of the lines, in their order. `ceiling` is the most a step can commit, where it is known.

    Only the last start in `lines` counts: another one may be another version or another model.
    """
    begin = max((index for index, one in enumerate(lines) if one.line.kind == "args"), default=-1) + 1
    reasons = [w.EARLIER_START for one in lines[:begin] if one.line.kind == "decode"]
    replicas: dict[int, _Replica] = {}
    speculative: bool | None = None
    decodes = mixed = 0
    for said in lines[begin:]:
        values = said.line.values
        replica = replicas.setdefault(int(number(values, "dp_rank") or 0), _Replica())
        if said.line.kind == "prefill":
            replica.prefill = True
            replica.prefill_idle = replica.prefill_idle or number(values, "running") == 0
        elif said.line.kind == "decode":
            decodes += 1
            mixed += replica.prefill and not replica.prefill_idle
            speculative = bool(speculative) or "accept_len" in values
            judged = _judge(said, replica, steps_a_line)
            if isinstance(judged, str):
                reasons.append(judged)
            else:
                replica.found.append(judged)
            replica.before, replica.prefill, replica.prefill_idle = values, False, False
    kept: list[Window] = []
    for replica in replicas.values():
        loops = in_loops([one for one, _ in replica.found], ceiling)
        for (one, reason), loop in zip(replica.found, loops, strict=True):
            why = w.REPETITION if loop else reason
            if why:
                reasons.append(why)
            else:
                kept.append(one)
    notes = []
    if speculative is False:
        notes.append("no speculation in the log: a step commits one token")
    if not decodes:
        notes.append("no `Decode batch` line in the log")
    return Passive(
        tuple(sorted(kept, key=lambda one: one.at_s)),
        counted(reasons),
        speculative,
        mixed / decodes if decodes else None,
        tuple(notes),
    )


def _judge(said: Said, replica: _Replica, steps: int) -> tuple[Window, str] | str:
    """The window of a line and why it does not count; or only the reason, where there is no window."""
    values, before = said.line.values, replica.before
    batch, total, rate = (number(values, name) for name in ("running", "tokens", "throughput"))
    accept = number(values, "accept_len") or 1.0
    if batch is None or total is None or rate is None:
        return w.CUT
    if batch <= 0 or rate <= 0:
        return w.IDLE
    was_batch, was_total = (number(before or {}, name) for name in ("running", "tokens"))
    grown = total - (was_total or 0.0)
    committed = steps * accept * batch
    same = before is not None and batch == was_batch and 0 < grown < 3 * committed
    middle = max(total - (grown if same and not replica.prefill else committed) / 2, 0.0)
    one = Window(
        at_s=said.at_s,
        context_tokens=middle / batch,
        batch=batch,
        accept_length=accept,
        rate_tok_s=rate,
        queue=int(number(values, "queue") or 0),
        replica=int(number(values, "dp_rank") or 0),
    )
    if str(values.get("graph", "True")) != "True":
        return one, w.NO_GRAPH
    if before is None:
        return one, w.FIRST_SEEN
    if replica.prefill_idle or (grown < 0 and batch == was_batch == 1):
        return one, w.AFTER_IDLE
    if replica.prefill:
        return one, w.PREFILL_MIXED
    if batch != was_batch or grown < 0:
        return one, w.BATCH_CHANGED
    return one, ""
