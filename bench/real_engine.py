"""Decode cells of a real engine, llama.cpp's server on the CPU, against what its own timings say of the same answers.

    make engine && python -m bench.real_engine [--repeats 20] [--contexts 256,512,1024]

The truth is `timings.predicted_per_second` of the long answers that count, as the server sent it; the console takes its
rate from durations of whole requests and never reads that figure. Right: each rate within 3 %, and in 17 of 20 repeats
(or the same share) the interval holds the truth. CONSOLE_LLAMA_SERVER names another server than the wheel's.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import httpx

from bench.path_reader import PathReader
from console.engines.base import Reply, Request
from console.engines.measuring import measuring_of
from console.engines.registry import engine_named
from console.measure.bench import Bench
from console.measure.decode import DecodeCell, Shape
from console.measure.limits import Limits
from console.measure.prompt import Source
from console.remote.http import OnPart
from console.schema.cells import Cell
from console.schema.serving import Serving
from tests.real.tiny_model import write

CONTEXTS = (256, 512, 1024)
# The model is small: below 256 tokens of context an answer takes so little time that what else the machine does is most
# of its spread (1,200 tokens took 0.5 to 1.2 s). The interval says so, but a rate within 3 % is luck then.
SHAPE = Shape(output_tokens=1200, samples=8)
WINDOW = 16384
RATE_SHARE, COVERED_SHARE = 0.03, 0.85
STARTS_WITHIN_S = 60.0


class Tapped(PathReader):
    """Keeps what the server itself says of each answer: tokens it predicted, and how many a second."""

    def __init__(self, port: int) -> None:
        super().__init__(port, 1.0, engine="llamacpp")
        self.said: list[tuple[int, float]] = []

    async def _exchange(self, request: Request, on_part: OnPart | None) -> Reply:
        reply = await super()._exchange(request, on_part)
        if request.path.startswith("/completion") and on_part is None and reply.status == 200:
            timings = json.loads(reply.body)["timings"]
            self.said.append((timings["predicted_n"], timings["predicted_per_second"]))
        return reply


@dataclass(frozen=True)
class Judged:
    """A cell beside the server's own rate, tokens/s."""

    cell: Cell
    own: float

    @property
    def off(self) -> float:
        return (self.cell.rate_tok_s or 0.0) / self.own - 1

    @property
    def held(self) -> bool:
        return (self.cell.rate_low or 0.0) <= self.own <= (self.cell.rate_high or float("inf"))


@contextmanager
def llama_server(folder: Path) -> Iterator[int]:
    """The server with a model of random weights on a free port, ready."""
    model = write(folder / "tiny.gguf")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    named = os.environ.get("CONSOLE_LLAMA_SERVER")
    program = [named] if named else [sys.executable, "-m", "bench.llama_server"]
    words = ["-m", str(model), "-c", str(WINDOW), "-np", "1", "-t", "1", "--metrics", "--port", str(port)]
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen([*program, *words], stdout=log, stderr=log, cwd=Path(__file__).parents[1])
    try:
        until_ready(process, port, folder / "server.log")
        yield port
    finally:
        process.terminate()
        process.wait(30)


def until_ready(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    end = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < end and process.poll() is None:
        try:
            if httpx.get(f"http://127.0.0.1:{port}/health", trust_env=False).status_code == 200:
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.05)
    raise RuntimeError(f"llama-server does not serve:\n{log.read_text(errors='replace')[-2000:]}")


def bench_of(reader: PathReader, name: str) -> Bench:
    engine = engine_named("llamacpp")
    serving = Serving(context_length=WINDOW, pool_tokens=WINDOW)
    return Bench(
        reader=reader,
        engine=engine,
        measuring=measuring_of("llamacpp"),
        clock=reader.clock,
        limits=Limits.of(engine, serving, old=None, live=False, on_live=True),
        request_id=f"console-real-{name:0>8}",
        say=lambda **_: None,
        later=lambda work: work.close(),
        nonce=name,
    )


async def measure(port: int, context: int, name: str, shape: Shape | None = None) -> Judged:
    """One cell. Raises what ends a measurement."""
    reader = Tapped(port)
    try:
        bench = bench_of(reader, name)
        prompt = await Source(bench).prompt("prose", context, nonce=name)
        cell = await DecodeCell(bench, prompt, shape or SHAPE, f"prose@{context}", random.Random(name)).measure()
    finally:
        await reader.aclose()
    own = [rate for tokens, rate in reader.said if tokens == cell.long_tokens]
    return Judged(cell, median(own))


async def repeats(port: int, contexts: list[int], count: int) -> bool:
    good = True
    for context in contexts:
        found = [await measure(port, context, f"{context}x{number}") for number in range(count)]
        worst = max(abs(one.off) for one in found)
        held = sum(one.held for one in found)
        right = worst <= RATE_SHARE and held >= COVERED_SHARE * count
        good = good and right
        print(
            f"{context:>6} tokens  own {median(one.own for one in found):8.1f} tok/s  "
            f"worst {worst:.2%}  bias {sum(one.off for one in found) / count:+.2%}  "
            f"interval holds it in {held} of {count}  pairs {median(one.cell.pairs for one in found):g}  "
            f"{'right' if right else 'WRONG'}",
            flush=True,
        )
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description="A real engine's decode rate against its own timings.")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--contexts", default=",".join(map(str, CONTEXTS)))
    asked = parser.parse_args()
    with TemporaryDirectory() as folder, llama_server(Path(folder)) as port:
        good = asyncio.run(repeats(port, [int(word) for word in asked.contexts.split(",")], asked.repeats))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
