"""`measure.load` against a lab engine whose pace is known, and against a client that is made too slow on purpose.

    python -m bench.load_truth [--streams 1,2,4] [--requests 8] [--rate 2]

The engine decodes 4 tokens every 25 ms a stream, whatever the batch, and computes a prompt of 1,024 tokens in 0.178 s,
during which nobody decodes. So with N streams that always ask again each answer waits for N - 1 prompts of others at
most, and N answers take N x 0.178 s + 64 steps. Right: time to the first token of one stream within 10 %, time between
tokens within those bounds and 5 %, throughput within 5 %; requests that arrive by themselves are sent within 10 ms of
their moment; a client whose own loop is held up is refused. Time runs as fast as the wall's.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import time

from bench.path_reader import bench_at, lab_engine
from bench.proxy import Path
from console.lab.bare import BareEngine
from console.measure.load import LoadLevel, Wish
from console.measure.prompt import Source
from console.schema.loads import Level
from console.steps.measure_load import beginnings

PREFILL_S, DECODE_S = 0.178, 64 * 0.025
GAP_MS = 1000 * DECODE_S / 256
PROMPT_TOKENS, OUTPUT_TOKENS = 1024, 256


async def level(engine: BareEngine, wish: Wish, *, hold_s: float = 0.0) -> Level:
    """One level; `hold_s`: how long our own loop is held up, twenty times a second."""
    async with bench_at(engine.port, Path(), "load", 1.0) as (bench, _):
        prompt = (await Source(bench).prompt("prose", PROMPT_TOKENS)).sent
        assert not isinstance(prompt, str)
        chance = random.Random(wish.streams)
        holding = asyncio.ensure_future(hold(hold_s)) if hold_s else None
        try:
            return await LoadLevel(bench, wish, beginnings(prompt, chance), chance).measure()
        finally:
            if holding is not None:
                holding.cancel()


async def hold(seconds: float) -> None:
    while True:
        await asyncio.sleep(0.05)
        time.sleep(seconds)  # noqa: ASYNC251 - holding up the loop is what is tried


def as_known(found: Level, streams: int) -> bool:
    figures = found.figures
    gap_ms, rate = figures["itl_p50_ms"], (found.tok_min_gpu or 0.0)
    most_ms = GAP_MS + 1000 * (streams - 1) * PREFILL_S / OUTPUT_TOKENS
    known = 60 * streams * OUTPUT_TOKENS / (streams * PREFILL_S + DECODE_S)
    return (
        0.95 * GAP_MS <= gap_ms <= 1.05 * most_ms
        and abs(rate / known - 1) <= 0.05
        and (streams > 1 or abs(figures["ttft_p50_s"] / PREFILL_S - 1) <= 0.10)
    )


def told(found: Level) -> str:
    figures = found.figures
    if found.state != "measured":
        return f"{found.state}: {found.reason}"
    return (
        f"ttft {figures['ttft_p50_s']:.3f} s  itl {figures['itl_p50_ms']:.2f}/{figures['itl_p95_ms']:.2f} ms  "
        f"e2e {figures['e2e_p50_s']:.2f} s  {found.tok_min_gpu or 0:.0f} tok/min  lag {found.client_lag_ms:.2f} ms  "
        f"{'; '.join(found.flags)}"
    )


async def everything(engine: BareEngine, asked: argparse.Namespace) -> bool:
    good = True
    for streams in [int(word) for word in asked.streams.split(",")]:
        found = await level(engine, Wish(streams, max(asked.requests, 3 * streams), OUTPUT_TOKENS))
        right = found.state == "measured" and as_known(found, streams)
        print(f"{streams} streams: {told(found)}  {'right' if right else 'WRONG'}", flush=True)
        good = good and right
    found = await level(engine, Wish(1, 2 * asked.requests, OUTPUT_TOKENS, per_s=asked.rate))
    late_s = max(one.sent_s - one.scheduled_s for one in found.requests)
    right = found.state == "measured" and late_s <= 0.010
    print(f"{asked.rate:g}/s: {told(found)}  sent at most {late_s * 1000:.1f} ms late  {'right' if right else 'WRONG'}")
    slow = await level(engine, Wish(2, asked.requests, OUTPUT_TOKENS), hold_s=0.02)
    refused = slow.state == "refused" and "bottleneck" in slow.reason
    print(f"a slow client: {told(slow)}  {'right' if refused else 'WRONG'}")
    return good and right and refused


def main() -> int:
    parser = argparse.ArgumentParser(description="measure.load against a known pace.")
    parser.add_argument("--streams", default="1,2,4")
    parser.add_argument("--requests", type=int, default=8)
    parser.add_argument("--rate", type=float, default=2.0)
    asked = parser.parse_args()
    with lab_engine(speed=1.0) as engine:
        return 0 if asyncio.run(everything(engine, asked)) else 1


if __name__ == "__main__":
    sys.exit(main())
