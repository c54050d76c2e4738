"""What a profile costs: its speed beside orjson that merely parses the same lines, and memory on a longer trace.

python -m bench.workload [--small 20] [--large 200] [--rounds 3]     megabytes; promised of --small 200 --large 2000
"""

from __future__ import annotations

import argparse
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

LEAST_SPEED = 0.5
MOST_GROWTH_MB = 50.0


def generate(path: Path, megabytes: float, seed: int = 1) -> int:
    """Conversations that grow turn by turn, in the form of the Mooncake traces. Returns the number of requests."""
    chance = random.Random(seed)
    wanted, written, rows, at_ms, fresh = megabytes * 1e6, 0, 0, 0.0, 1
    talks: list[list[int]] = []
    with path.open("w") as file:
        while written < wanted:
            if not talks or chance.random() < 0.4:
                talks.append([0])
                if len(talks) > 500:
                    talks.pop(0)
            blocks = talks[chance.randrange(len(talks))]
            more = 1 + int(chance.expovariate(1 / 6))
            blocks += range(fresh, fresh + more)
            fresh += more
            if len(blocks) > 120:
                del blocks[8:]
            tokens = len(blocks) * 512 - chance.randrange(512)
            at_ms += chance.expovariate(1 / 100)
            line = (
                f'{{"timestamp": {int(at_ms)}, "input_length": {tokens}, '
                f'"output_length": {1 + int(chance.expovariate(1 / 350))}, "hash_ids": {blocks}}}\n'
            )
            file.write(line)
            written += len(line)
            rows += 1
    return rows


def parse_only(path: Path) -> float:
    import orjson

    began = time.perf_counter()
    with path.open("rb") as file:
        for line in file:
            orjson.loads(line)
    return time.perf_counter() - began


def profile(path: Path) -> float:
    from console.measure.trace_files import profile_of

    began = time.perf_counter()
    profile_of([path])
    return time.perf_counter() - began


def peak_mb(path: Path) -> float:
    """Of a process that does nothing but profile it."""
    words = [sys.executable, "-m", "bench.workload", "--only", str(path)]
    return float(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", type=float, default=20)
    parser.add_argument("--large", type=float, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--only", type=Path)
    told = parser.parse_args()
    if told.only:
        profile(told.only)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        return 0
    with tempfile.TemporaryDirectory(dir=told.folder) as folder:
        small, large = Path(folder) / "small.jsonl", Path(folder) / "large.jsonl"
        generate(small, told.small)
        rows = generate(large, told.large)
        print(f"{rows:,} requests, {large.stat().st_size / 1e6:.0f} MB")
        times = [(parse_only(large), profile(large)) for _ in range(told.rounds)]
        merely, ours = (median(column) for column in zip(*times, strict=True))
        for name, took in (("orjson, line by line", merely), ("profile", ours)):
            print(f"{name:<22} {took:7.2f} s   {large.stat().st_size / 1e6 / took:7.1f} MB/s")
        memory = peak_mb(small), peak_mb(large)
    speed, growth = merely / ours, memory[1] - memory[0]
    print(f"speed  {speed:.2f} of orjson (at least {LEAST_SPEED})")
    print(f"memory {memory[0]:.0f} MB, {memory[1]:.0f} MB: {growth:+.0f} MB (at most {MOST_GROWTH_MB:.0f})")
    return 0 if speed >= LEAST_SPEED and growth <= MOST_GROWTH_MB else 1


if __name__ == "__main__":
    sys.exit(main())
