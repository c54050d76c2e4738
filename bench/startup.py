"""What the front door costs: `console --help` beside a Python that does nothing, in turn.

python -m bench.startup [ROUNDS]
"""

from __future__ import annotations

import subprocess
import sys
import time
from statistics import median

CALLS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "console --help": [sys.executable, "-m", "console", "--help"],
    "console --version": [sys.executable, "-m", "console", "--version"],
    "console runs --help": [sys.executable, "-m", "console", "runs", "--help"],
}


def took_s(words: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(words, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    times: dict[str, list[float]] = {name: [] for name in CALLS}
    for _ in range(rounds):
        for name, words in CALLS.items():
            times[name].append(took_s(words))
    floor = median(times["python -c pass"])
    for name, each in times.items():
        print(f"{name:<22} {1000 * median(each):6.0f} ms   {median(each) / floor:.2f}x")


if __name__ == "__main__":
    main()
