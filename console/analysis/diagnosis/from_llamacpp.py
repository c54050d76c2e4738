"""llama.cpp's timings as windows: one a request, told when it is over.

`prompt eval time = … ms / N tokens`, `eval time = … ms / N tokens (…, R tokens per second)` and, with a draft,
`draft acceptance = … mean len = L` (the length counts the bonus token). Requests that ran at the same time share the
steps, and the log does not say which did: each is taken as alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from console.analysis.diagnosis import window as w
from console.analysis.diagnosis.repetition import in_loops
from console.analysis.diagnosis.window import Passive, Said, Window, counted, number

# A reply shorter than this is mostly its first step.
LEAST_TOKENS = 16
SHORT = f"fewer than {LEAST_TOKENS} tokens generated"


def windows(lines: Sequence[Said], *, ceiling: float | None = None) -> Passive:
    """A window a request. The prompt is the part that was computed: what came from the cache is not logged."""
    begin = max((index for index, one in enumerate(lines) if one.line.kind == "args"), default=-1) + 1
    reasons = [w.EARLIER_START for one in lines[:begin] if _is_timing(one)]
    found: list[Window] = []
    prompt: float | None = None
    lengths = 0
    for index, said in enumerate(lines[begin:], begin):
        values = said.line.values
        if said.line.kind == "prefill" and "new_tokens" in values:
            prompt = number(values, "new_tokens")
        if not _is_timing(said):
            continue
        tokens, rate = number(values, "tokens"), number(values, "throughput")
        length = _length(lines[index + 1 : index + 4])
        if tokens is None or not rate or prompt is None:
            reasons.append(w.CUT)
        elif tokens < LEAST_TOKENS:
            reasons.append(SHORT)
        else:
            lengths += length is not None
            found.append(Window(said.at_s, prompt + tokens / 2.0, 1.0, length or 1.0, rate))
        prompt = None
    loops = in_loops(found, ceiling)
    reasons += [w.REPETITION for loop in loops if loop]
    notes = []
    if found:
        notes.append("prompt tokens that came from the cache are not logged: contexts may be longer than told")
        notes.append("requests that ran together cannot be told from such that ran alone: batch 1 is assumed")
        if not lengths:
            notes.append("no speculation in the log: a step commits one token")
    else:
        notes.append("no `eval time` line in the log")
    kept = tuple(one for one, loop in zip(found, loops, strict=True) if not loop)
    return Passive(kept, counted(reasons), bool(lengths) if found else None, None, tuple(notes))


def _is_timing(said: Said) -> bool:
    return said.line.kind == "decode" and "elapsed_ms" in said.line.values


def _length(following: Sequence[Said]) -> float | None:
    """The acceptance of the request whose timing came just before, unless another one's began."""
    for said in following:
        if _is_timing(said) or said.line.kind == "prefill":
            return None
        if (length := number(said.line.values, "accept_len")) is not None:
            return length
    return None
