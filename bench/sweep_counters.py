"""Cells of a sweep against the engine's own counters for the very requests they are made of, and the line they give.

    python -m bench.sweep_counters [--sweeps 20] [--speed 10] [--output-tokens 256]

The lab engine says of each answer when its first token was there (`first_token_latency`), when its last, how many
tokens and how many verify steps it took. The console reads the first of these nowhere: it takes what queue, prefill and
path cost out by differences of whole requests. Right: rate, step and accept_length of every cell within 1.5 % of the
engine's own, intercept and slope within 1 % of 26.3 ms + 0.0201 ms/token, in 18 of 20 sweeps (or the same share).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
from typing import Any

from bench.path_reader import PathReader, bench_at, lab_engine
from bench.proxy import Path
from bench.sweep_truth import ACCEPT, CELL_SHARE, CONTEXTS, INTERCEPT_MS, LINE_SHARE, RIGHT_SHARE, SLOPE_MS, off
from console.engines.base import Reply, Request
from console.facts.watch import Watch
from console.lab.bare import BareEngine
from console.measure.prompt import Source
from console.measure.sweep import Layout, Sweep, line_of
from console.remote.http import OnPart
from console.schema.cells import Arm, Cell
from console.schema.facts import UnitState


class Tapped(PathReader):
    """Keeps what the engine says of each answer, by the time it took: no two take the same."""

    said: dict[float, dict[str, Any]]

    async def _exchange(self, request: Request, on_part: OnPart | None) -> Reply:
        reply = await super()._exchange(request, on_part)
        if request.path.startswith("/generate") and on_part is None and reply.status == 200:
            meta = json.loads(reply.body)["meta_info"]
            self.said[meta["e2e_latency"]] = meta
        return reply


def own_figures(cell: Cell, said: dict[float, dict[str, Any]]) -> tuple[float, float, float]:
    """tok/s, ms a step and tokens a step of the kept pair, from what the engine counted after each first token."""

    def of(arm: Arm) -> tuple[float, int, int]:
        meta = said[arm.server_s or 0.0]
        return meta["e2e_latency"] - meta["first_token_latency"], meta["completion_tokens"], meta["spec_verify_ct"]

    short, long = sorted((of(arm) for arm in cell.arms if not arm.refused), key=lambda found: found[1])
    seconds, tokens, steps = (b - a for a, b in zip(short, long, strict=True))
    return tokens / seconds, 1000 * seconds / steps, tokens / steps


async def sweep(engine: BareEngine, number: int, speed: float, output_tokens: int) -> bool:
    async with bench_at(engine.port, Path(), f"sweep{number}", speed) as (bench, proxy):
        reader = Tapped(proxy.port, speed)
        reader.said = {}
        bench.reader = reader

        async def watch() -> Watch:
            return Watch(UnitState(id="bare.service"), "", "", "", "unseen")

        bench.watch = watch  # type: ignore[method-assign]  # there is no host behind the engine
        cells: list[Cell] = []
        layout = Layout(CONTEXTS, "prose", output_tokens, budget_s=3600)
        made = Sweep(bench, Source(bench), layout, random.Random(number), cells.append)
        await made.run()
        await reader.aclose()
    line = line_of(made.cells, made.remeasured)
    assert line is not None
    own, known = 0.0, 0.0
    for cell in cells:
        ours = (cell.rate_tok_s or 0.0, cell.step_ms or 0.0, cell.accept_length or 0.0)
        own = max(own, *(off(mine, its) for mine, its in zip(ours, own_figures(cell, reader.said), strict=True)))
        step_ms = INTERCEPT_MS + SLOPE_MS * (cell.at_tokens or 0.0)
        accept = ACCEPT[(cell.context_tokens or 0) < 64]
        truth = (1000 * accept / step_ms, step_ms, accept)
        known = max(known, *(off(mine, its) for mine, its in zip(ours, truth, strict=True)))
    intercept = off(line.fit.intercept_ms.value, INTERCEPT_MS)
    slope = off(line.fit.slope_ms_per_token.value, SLOPE_MS)
    right = own <= CELL_SHARE and intercept <= LINE_SHARE and slope <= LINE_SHARE
    print(
        f"{number:>3}  worst cell {own:.2%} off the engine's counters, {known:.2%} off what it is set to;  "
        f"intercept {intercept:.2%}  slope {slope:.2%}  {'right' if right else 'WRONG'}",
        flush=True,
    )
    return right


async def everything(engine: BareEngine, asked: argparse.Namespace) -> int:
    found = [await sweep(engine, number, asked.speed, asked.output_tokens) for number in range(1, asked.sweeps + 1)]
    return sum(found)


def main() -> int:
    parser = argparse.ArgumentParser(description="Cells of a sweep against the engine's own counters.")
    parser.add_argument("--sweeps", type=int, default=20)
    parser.add_argument("--speed", type=float, default=10.0)
    parser.add_argument("--output-tokens", type=int, default=256)
    asked = parser.parse_args()
    options = {"step_ms": INTERCEPT_MS, "step_ms_per_token": SLOPE_MS, "noise": 0.003}
    accepts = {"accept_short": ACCEPT[True], "accept_other": ACCEPT[False], "accept_repetitive": 7.85}
    with lab_engine(speed=asked.speed, **options, **accepts) as engine:
        right = asyncio.run(everything(engine, asked))
    print(f"{right} of {asked.sweeps} right at {asked.speed:g} times the speed")
    return 0 if right >= RIGHT_SHARE * asked.sweeps else 1


if __name__ == "__main__":
    sys.exit(main())
