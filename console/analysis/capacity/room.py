"""How many requests a pool holds at once, by how long they are: concurrency against context."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from console.analysis.capacity.decode import decode_cost
from console.schema.capacity import DecodeLaw

SHORTEST = 4096


@dataclass(frozen=True)
class Room:
    """`at_once` requests of `context_tokens`, prompt and answer; `step_ms` for one of them alone, by the last sweep."""

    context_tokens: int
    at_once: int
    step_ms: float | None = None


def room(pool_tokens: int, context_length: int, *, most_running: int = 0, law: DecodeLaw | None = None) -> list[Room]:
    """From 4,096 tokens on, doubled up to the window itself. `most_running`: the engine's own limit, 0 for none."""
    sizes: list[int] = []
    size = SHORTEST
    while size < context_length:
        sizes.append(size)
        size *= 2
    rows = []
    for tokens in _few([*sizes, context_length]):
        fits = pool_tokens // tokens
        step_ms = None if law is None else decode_cost(law, tokens).step_ms
        rows.append(Room(tokens, min(fits, most_running) if most_running else fits, step_ms))
    return rows


def _few(sizes: Sequence[int]) -> Sequence[int]:
    """The last seven: of a window of a million tokens the short ones say little."""
    return sizes[-7:]
