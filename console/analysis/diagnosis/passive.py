"""The windows of any engine's log, and what its command line says of its drafts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from console.analysis.diagnosis import from_llamacpp, from_sglang, from_vllm
from console.analysis.diagnosis.window import Passive, Said


@dataclass(frozen=True)
class PassiveSeen:
    """`ceiling` is the most tokens a step can commit; `positions` the acceptance rate of each position of a draft."""

    seen: Passive
    ceiling: float | None = None
    positions: tuple[float, ...] = ()


def passive_of(engine: str, lines: Sequence[Said], argv: Sequence[str], pool_tokens: int | None) -> PassiveSeen:
    """What the log of `engine` shows; an engine whose log tells no batches yields no windows and says so."""
    read = _READERS.get(engine)
    if read is None:
        return PassiveSeen(Passive(notes=(f"the log of {engine} tells nothing of its batches",)))
    return read(lines, argv, pool_tokens)


def _sglang(lines: Sequence[Said], argv: Sequence[str], _pool: int | None) -> PassiveSeen:
    steps = _value(argv, "--speculative-num-steps")
    drafts = _value(argv, "--speculative-num-draft-tokens", "--speculative-dflash-block-size")
    ceiling = float(steps + 1) if steps else float(drafts) if drafts else None
    interval = _value(argv, "--decode-log-interval") or from_sglang.STEPS_A_LINE
    return PassiveSeen(from_sglang.windows(lines, steps_a_line=interval, ceiling=ceiling), ceiling)


def _vllm(lines: Sequence[Said], argv: Sequence[str], pool: int | None) -> PassiveSeen:
    tokens = _speculative_tokens(argv)
    ceiling = float(tokens + 1) if tokens else None
    if _speculative_config(argv).get("method") == "ngram":
        seen = from_vllm.windows(lines, pool_tokens=pool, ceiling=ceiling)
        note = "drafts by n-grams: vLLM's length counts only steps that had a draft, so steps are shorter than told"
        return PassiveSeen(replace(seen, notes=(*seen.notes, note)), ceiling, from_vllm.positions(lines))
    return PassiveSeen(from_vllm.windows(lines, pool_tokens=pool, ceiling=ceiling), ceiling, from_vllm.positions(lines))


def _llamacpp(lines: Sequence[Said], argv: Sequence[str], _pool: int | None) -> PassiveSeen:
    drafts = _value(argv, "--spec-draft-n-max", "--draft-max", "--draft", "--draft-n")
    ceiling = float(drafts + 1) if drafts else None
    return PassiveSeen(from_llamacpp.windows(lines, ceiling=ceiling), ceiling)


_READERS: Mapping[str, Callable[[Sequence[Said], Sequence[str], int | None], PassiveSeen]] = {
    "sglang": _sglang,
    "vllm": _vllm,
    "llamacpp": _llamacpp,
}


def _value(argv: Sequence[str], *flags: str) -> int | None:
    """The last number given with one of the flags."""
    found = None
    for index, word in enumerate(argv):
        name, equals, value = word.partition("=")
        if name in flags:
            text = value if equals else argv[index + 1] if index + 1 < len(argv) else ""
            found = int(text) if text.isdigit() else found
    return found


def _speculative_tokens(argv: Sequence[str]) -> int | None:
    tokens = _speculative_config(argv).get("num_speculative_tokens")
    return tokens if isinstance(tokens, int) else None


def _speculative_config(argv: Sequence[str]) -> Mapping[str, Any]:
    """vLLM's `--speculative-config`, which is JSON; empty where there is none."""
    for index, word in enumerate(argv):
        name, equals, value = word.partition("=")
        if name in ("--speculative-config", "-sc"):
            text = value if equals else argv[index + 1] if index + 1 < len(argv) else ""
            try:
                told = json.loads(text)
            except (ValueError, RecursionError):
                return {}
            return told if isinstance(told, dict) else {}
    return {}
