"""How late a replay sends: 50 requests a second through SSH on loopback, twice; the schedule must be the same.

python -m bench.replay [--per-s 50] [--seconds 20] [--rounds 2]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from console.lab.lab import Lab

MOST_LAG_MS = 10.0
# An engine that is no limit of what is sent.
QUICK = {
    "prefill_tok_s": 2e6,
    "prefill_overhead_s": 0.0,
    "first_request_s": 0.0,
    "step_ms": 4.0,
    "step_ms_per_token": 0.0,
}


def trace(path: Path, per_s: float, seconds: float) -> None:
    chance = random.Random(5)
    at = 0.0
    with path.open("w") as file:
        while at < seconds:
            blocks = [0, chance.randrange(1, 40)]
            row = {"timestamp": round(at * 1000), "input_length": 900, "output_length": 32, "hash_ids": blocks}
            file.write(json.dumps(row) + "\n")
            at += chance.expovariate(per_s)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--per-s", type=float, default=50)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--rounds", type=int, default=2)
    told = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        trace(root / "made.jsonl", told.per_s, told.seconds)
        lab = asyncio.run(Lab.start(root / "gpu1", name="gpu1", load_s=2.0, speed=1.0, options=QUICK))
        try:
            environment = dict(os.environ) | {
                "CONSOLE_HOSTS": str(lab.hosts_toml),
                "XDG_STATE_HOME": str(root / "state"),
            }
            console = [sys.executable, "-m", "console"]
            subprocess.run([*console, "workload", "freeze", str(root / "made.jsonl"), "--name", "made"],
                           env=environment, check=True)  # fmt: skip
            seen = []
            for _ in range(told.rounds):
                done = subprocess.run(
                    [*console, "measure", "replay", "made", "--json"], env=environment, capture_output=True, text=True
                )
                events = [json.loads(line) for line in done.stdout.splitlines()]
                lags = [one for one in events if one.get("name") == "replay_lag"]
                steps = [one for one in events if one["type"] == "step.finished"]
                print(done.returncode, steps[-1]["message"] if steps else done.stderr[-2000:])
                seen += [(one["value"], one["source"]) for one in lags]
        finally:
            lab.stop_now()
    for lag, source in seen:
        print(f"p99 of how late requests were sent: {lag:.2f} ms  ({source})")
    same = len({source for _, source in seen}) == 1
    print(f"schedule the same: {same}; lag at most {MOST_LAG_MS:g} ms: {all(lag <= MOST_LAG_MS for lag, _ in seen)}")
    return 0 if same and all(lag <= MOST_LAG_MS for lag, _ in seen) else 1


if __name__ == "__main__":
    sys.exit(main())
