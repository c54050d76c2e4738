"""What a pool will hold under a command line, and how that was reckoned."""

from __future__ import annotations

from dataclasses import dataclass

from console.analysis.capacity.cache import Cell


@dataclass(frozen=True)
class Prediction:
    """`tokens` None: not known, `missing` says why. `at_most`: an upper bound only. `refused`: why it will not start.

    `one_request`: what a single request may take of it, where that is not all of it, and `short` why it is too
    little. `free_gib`: memory left on one GPU after the graphs, where the running instance's is known.
    """

    tokens: int | None
    cell: Cell | None = None
    lines: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    at_most: bool = False
    free_gib: float | None = None
    refused: str = ""
    one_request: int | None = None
    short: str = ""
    rough: bool = False  # reckoned with weights that nobody saw in their new place
