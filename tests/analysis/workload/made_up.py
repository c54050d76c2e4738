"""Traces made up for the tests, in the forms of those that people publish."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from console.measure.trace_files import profile_of
from console.schema.workload import WorkloadProfile

Row = dict[str, Any]


def talks(requests: int, seed: int = 7) -> list[Row]:
    """Conversations that grow; block 0 begins all of them."""
    chance = random.Random(seed)
    open_talks: list[list[int]] = [[0] for _ in range(12)]
    fresh, at, rows = 1, 0, []
    for _ in range(requests):
        index = chance.randrange(12)
        more = 1 + chance.randrange(6)
        open_talks[index] = [*open_talks[index], *range(fresh, fresh + more)] if chance.random() < 0.8 else [0, fresh]
        fresh += more
        at += chance.randrange(1, 400)
        blocks = open_talks[index]
        tokens = len(blocks) * 512 - chance.randrange(512)
        rows.append(
            {"timestamp": at, "input_length": tokens, "output_length": chance.randrange(900), "hash_ids": blocks}
        )
    return rows


def write(path: Path, rows: list[Row] | list[str]) -> Path:
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def profiled(path: Path, told: str = "", tolerance: float = 0.01) -> WorkloadProfile:
    return profile_of([path], told, tolerance=tolerance)
