"""Sweeps of a lab whose line is known: how often intercept and slope are within 1 %, and each cell within 1.5 %.

    python -m bench.sweep_truth [--sweeps 20] [--speed 10]

The lab's step takes 26.3 ms + 0.0201 ms/token with 0.3 % noise and commits 4.75 tokens below 64 tokens of prompt, 2.9
above. Exit 0 when at least 18 of 20 (or the same share) are right.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from console.lab.lab import Lab

ROOT = Path(__file__).parents[1]
CONTEXTS = (13, 1663, 3333, 5553)
INTERCEPT_MS, SLOPE_MS = 26.3, 0.0201
ACCEPT = {True: 4.75, False: 2.9}  # below 64 tokens of prompt, and above
LINE_SHARE, CELL_SHARE, RIGHT_SHARE = 0.01, 0.015, 0.9


def sweep(lab: Lab, state: Path) -> list[dict[str, Any]]:
    """One `console measure sweep`: its events."""
    words = ["measure", "sweep", "--contexts", ",".join(map(str, CONTEXTS)), "--json", "--no-commit", "--budget", "1h"]
    done = subprocess.run(
        [sys.executable, "-m", "console", "--hosts", str(lab.hosts_toml), *words],
        env=dict(os.environ) | {"XDG_STATE_HOME": str(state), "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"the sweep ended with {done.returncode}\n{done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def off(value: float, truth: float) -> float:
    return abs(value / truth - 1)


def judge(events: list[dict[str, Any]]) -> tuple[float, float, float, int]:
    """How far intercept and slope are off, the worst cell, and pairs refused."""
    fit = next(e for e in events if e["type"] == "finding.made" and e["name"] == "step_time_fit")["figures"]
    worst, refused = 0.0, 0
    for event in events:
        if event["type"] != "cell.measured":
            continue
        cell = event["cell"]
        step_ms = INTERCEPT_MS + SLOPE_MS * cell["at_tokens"]
        accept = ACCEPT[cell["context_tokens"] < 64]
        refused += cell["refused_pairs"]
        worst = max(
            worst,
            off(cell["step_ms"], step_ms),
            off(cell["accept_length"], accept),
            off(cell["rate_tok_s"], 1000 * accept / step_ms),
        )
    return off(fit["intercept_ms"], INTERCEPT_MS), off(fit["slope_ms_per_token"], SLOPE_MS), worst, refused


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sweeps", type=int, default=20)
    parser.add_argument("--speed", type=float, default=10.0)
    arguments = parser.parse_args()
    right = 0
    with tempfile.TemporaryDirectory() as scratch:
        lab = asyncio.run(Lab.start(Path(scratch) / "lab", speed=arguments.speed))
        try:
            for number in range(1, arguments.sweeps + 1):
                intercept, slope, cells, refused = judge(sweep(lab, Path(scratch) / "state"))
                good = intercept <= LINE_SHARE and slope <= LINE_SHARE and cells <= CELL_SHARE
                right += good
                print(
                    f"{number:>3}  intercept {intercept:.2%}  slope {slope:.2%}  worst cell {cells:.2%}  "
                    f"pairs refused {refused}  {'right' if good else 'WRONG'}",
                    flush=True,
                )
        finally:
            lab.stop_now()
    print(f"{right} of {arguments.sweeps} right at {arguments.speed:g} times the speed")
    return 0 if right >= RIGHT_SHARE * arguments.sweeps else 1


if __name__ == "__main__":
    raise SystemExit(main())
