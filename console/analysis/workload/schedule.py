"""When a replay sends which request: decided before the first one, from the trace alone, and known by its hash."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from console.analysis.workload.frozen import TraceRequest

Longer = Literal["skip", "cut"]
# A prompt needs room for its own beginning.
LEAST_INPUT = 8
NAMED = 5


@dataclass(frozen=True)
class Planned:
    """One request of a replay. `known`: tokens of its prompt that earlier ones had; `line` is its line in the trace."""

    at_s: float
    input: int
    output: int
    blocks: tuple[int, ...]
    known: int
    line: int
    session: int = 0


@dataclass(frozen=True)
class Schedule:
    """`longer` are the lines of requests that the target cannot hold, and what is done with them."""

    requests: tuple[Planned, ...]
    sha256: str
    longer: tuple[int, ...]
    policy: Longer

    def sentence(self) -> str:
        if not self.longer:
            return ""
        named = ", ".join(map(str, self.longer[:NAMED])) + (" …" if len(self.longer) > NAMED else "")
        what = "left out" if self.policy == "skip" else "cut to what fits"
        return f"{len(self.longer):,} requests are longer than the target holds, {what} (line {named})"


def schedule(
    trace: Sequence[TraceRequest],
    block_tokens: int,
    *,
    speed: float = 1.0,
    minutes: float | None = None,
    most_tokens: int | None = None,
    policy: Longer = "skip",
    shard: int = 0,
    shards: int = 1,
) -> Schedule:
    """The requests of the first `minutes` of the replay at `speed` times the trace's own.

    `most_tokens`: prompt and answer together that one request may have. A shard has whole sessions (requests without
    one by their place), so that shards together are the whole. The hash is of every moment, length and prefix.
    """
    found: list[Planned] = []
    longer: list[int] = []
    seen: set[int] = set()
    whole = hashlib.sha256(f"{speed:g} {minutes} {most_tokens} {policy} {shard}/{shards}\n".encode())
    for line, one in enumerate(trace, 1):
        at_us = round(one.at_us / speed)
        if minutes is not None and at_us >= minutes * 60e6:
            break
        if (one.session or line) % shards != shard:
            continue
        given, made = max(LEAST_INPUT, one.input), max(1, one.output)
        if most_tokens is not None and given + made > most_tokens:
            longer.append(line)
            if policy == "skip" or most_tokens < LEAST_INPUT + 1:
                continue
            made = min(made, max(1, most_tokens - LEAST_INPUT))
            given = most_tokens - made
        known = 0
        for block in one.blocks:
            if block not in seen:
                break
            known += 1
        seen.update(one.blocks)
        blocks = one.blocks[: -(-given // block_tokens)] if block_tokens else ()
        found.append(Planned(at_us / 1e6, given, made, blocks, min(given, known * block_tokens), line, one.session))
        whole.update(f"{at_us} {given} {made} {' '.join(map(str, blocks))}\n".encode())
    return Schedule(tuple(found), whole.hexdigest(), tuple(longer), policy)


def synthetic(one: Planned, base: Sequence[int], block_tokens: int) -> tuple[int, ...]:
    """A prompt of exactly `one.input` tokens that shares its beginning with the prompts it shared it with.

    Each block begins with its own number, written in the first tokens of `base` (at least 64 different ones), and goes
    on in the text of `base` from a place that depends on the number. Without blocks the line's number begins it.
    """
    if not one.blocks or not block_tokens:
        return _block(one.line, one.input, base, mark=1)
    parts: list[int] = []
    for block in one.blocks:
        parts.extend(_block(block, min(block_tokens, one.input - len(parts)), base))
    if len(parts) < one.input:  # a trace whose blocks do not cover the prompt: the rest is its own
        parts.extend(_block(one.line, one.input - len(parts), base, mark=1))
    return tuple(parts)


def _block(number: int, size: int, base: Sequence[int], *, mark: int = 0) -> tuple[int, ...]:
    digits = [base[mark]]
    value = number
    for _ in range(LEAST_INPUT - 1):
        value, digit = divmod(value, 32)
        digits.append(base[2 + digit])
    begin = (number * 97) % len(base)
    text = [*base[begin:], *base[:begin]]
    while len(text) < size:
        text += text
    return tuple((digits + text)[:size])
