"""A profile and a replay by two Dask workers beside one process: the same totals? Needs `pip install distributed`.

python -m bench.dask_totals [--requests 300]
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from console.lab.lab import Lab

ADDRESS = "tcp://127.0.0.1:18786"
CONSOLE = [sys.executable, "-m", "console"]
QUICK = {"prefill_tok_s": 2e6, "prefill_overhead_s": 0.0, "first_request_s": 0.0, "step_ms_per_token": 0.0}


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[None]:
    """A scheduler and two workers on loopback."""
    dask = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "18786"]
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", ADDRESS, "--nthreads", "1"]
    words = [[*dask, "--dashboard-address", ":0"], *[[*worker, "--local-directory", str(folder)]] * 2]
    surroundings = {**os.environ, "PYTHONPATH": str(Path.cwd())}
    started = []
    try:
        for each in words:
            started.append(subprocess.Popen(each, env=surroundings, cwd=folder, stderr=subprocess.DEVNULL))
            time.sleep(4.0)
        yield
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            process.wait()


def trace(path: Path, requests: int) -> None:
    """Sessions of a few turns each, ten requests a second."""
    chance = random.Random(9)
    with path.open("w") as file:
        for number in range(requests):
            session = number % 37
            row = {"at": number * 0.1, "input": chance.randrange(100, 3000), "output": 16, "session": f"s{session}"}
            file.write(json.dumps(row) + "\n")


MAP = """schema = 1
file = "jsonl"
time = "s"
[columns]
at = "at"
input = "input"
output = "output"
session = "session"
"""


def replayed(environment: dict[str, str], *more: str) -> dict[str, object]:
    """What a replay sent and got, summed, and the hash of its schedule."""
    done = subprocess.run([*CONSOLE, "measure", "replay", "made", "--json", *more], env=environment,
                          capture_output=True, text=True)  # fmt: skip
    events = [json.loads(line) for line in done.stdout.splitlines()]
    levels = [one["level"] for one in events if one["type"] == "level.measured"]
    lag = [(one["source"], one["value"]) for one in events if one.get("name") == "replay_lag"]
    steps = [one["message"] for one in events if one["type"] == "step.finished"]
    if not levels:
        print(done.returncode, steps, done.stderr[-1500:])
        return {}
    sent = levels[-1]["requests"]
    print(f"   {steps[-1]}; p99 lag {lag[-1][1] if lag else None} ms; {levels[-1]['state']} {levels[-1]['reason']}")
    return {
        "requests": len(sent),
        "answered": sum(not one["refused"] for one in sent),
        "prompt": sum(one["prompt_tokens"] or 0 for one in sent),
        "completion": sum(one["completion_tokens"] or 0 for one in sent),
        "moments": sorted(one["scheduled_s"] for one in sent),
        "schedule": lag[-1][0] if lag else "",
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=300)
    told = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, cluster(Path(folder)):
        root = Path(folder)
        trace(root / "made.jsonl", told.requests)
        (root / "map.toml").write_text(MAP)
        lab = asyncio.run(Lab.start(root / "gpu1", name="gpu1", load_s=2.0, speed=1.0, options=QUICK))
        try:
            environment = {**os.environ, "CONSOLE_HOSTS": str(lab.hosts_toml), "XDG_STATE_HOME": str(root / "state")}
            read = [str(root / "made.jsonl"), "--map", str(root / "map.toml")]
            profiles = [
                subprocess.run([*CONSOLE, "workload", "profile", *read, "--json", *more], env=environment,
                               capture_output=True, text=True).stdout
                for more in ((), ("--dask", ADDRESS))
            ]  # fmt: skip
            subprocess.run([*CONSOLE, "workload", "freeze", *read, "--name", "made"], env=environment, check=True,
                           stdout=subprocess.DEVNULL)  # fmt: skip
            one = replayed(environment)
            two = replayed(environment, "--dask", ADDRESS)
        finally:
            lab.stop_now()
    profiled, sent = profiles[0] == profiles[1] != "", one == two != {}
    short = {name: value for name, value in one.items() if name != "moments"}
    print(f"profile the same: {profiled}; replay the same: {sent} {short}")
    return 0 if profiled and sent else 1


if __name__ == "__main__":
    sys.exit(main())
