"""What carefulness costs when many hosts change at once: one console run beside a bare asyncssh script.

    sudo python -m bench.fanout [--hosts 8] [--rounds 3]

Real hosts (systemd and OpenSSH in namespaces), each with the simulated engine, which loads in 2.0 s. Of both walls the
load is taken off, of the console's also its longest proof, which a script does not have.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from tests.hosts.engine_unit import UNIT, install_engine, serving, start_and_wait, unit_text
from tests.hosts.fleet import PROJECT, Fleet, why_not
from tests.hosts.host import Host
from tests.hosts.inventory import write_inventory

LOAD_S = 2.0
SPEED = 20.0  # of the simulator: it divides its own time by that
BEFORE, AFTER = 32768, 200000
HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Run:
    """One console run: its wall, and its longest proof."""

    wall_s: float
    verify_s: float
    phases: dict[str, float]  # longest of all hosts

    @property
    def own_s(self) -> float:
        return self.wall_s - LOAD_S - self.verify_s


def main() -> int:
    parser = argparse.ArgumentParser(description="What carefulness costs when many hosts change at once.")
    parser.add_argument("--hosts", type=int, default=8, metavar="N")
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    asked = parser.parse_args()
    if reason := why_not():
        print(reason, file=sys.stderr)
        return 2
    with Fleet(asked.hosts) as fleet, tempfile.TemporaryDirectory() as folder:
        everywhere(fleet.hosts, lambda host: install_engine(host, load_s=LOAD_S * SPEED, speed=SPEED))
        runs, bare = [], []
        for number in range(asked.rounds):
            bare.append(bare_script(fleet.hosts) - LOAD_S)
            put_back(fleet.hosts)
            runs.append(console_run(fleet.hosts, Path(folder) / str(number)))
            put_back(fleet.hosts)
            last = runs[-1]
            print(
                f"round {number + 1}: bare {bare[-1]:.2f} s; console {last.own_s:.2f} s "
                f"({last.wall_s:.2f} - load {LOAD_S} - proof {last.verify_s:.2f}), {last.own_s / bare[-1]:.2f}x"
            )
    own = median(run.own_s for run in runs)
    print(f"{asked.hosts} hosts, wall without load and proof, median of {asked.rounds}:")
    print(f"  bare asyncssh  {median(bare):6.2f} s")
    print(f"  console        {own:6.2f} s   ratio {own / median(bare):.2f}")
    for name, seconds in runs[-1].phases.items():
        print(f"    {name:<24} {seconds:6.2f} s  (slowest host)")
    return 0


def everywhere(hosts: Sequence[Host], work: Callable[[Host], None]) -> None:
    with ThreadPoolExecutor(len(hosts)) as pool:
        list(pool.map(work, hosts))


def put_back(hosts: Sequence[Host]) -> None:
    for host in hosts:
        assert serving(host) == AFTER, f"{host.name} serves {serving(host)}"

    def old(host: Host) -> None:
        host.write_unit(UNIT, unit_text())
        start_and_wait(host)

    everywhere(hosts, old)


def bare_script(hosts: Sequence[Host]) -> float:
    first = hosts[0]
    words = [str(first.identity), str(first.known_hosts), UNIT, str(BEFORE), str(AFTER)]
    started = time.perf_counter()
    subprocess.run(
        [sys.executable, str(HERE / "fanout_bare.py"), *words, *(host.address for host in hosts)], check=True
    )
    return time.perf_counter() - started


def console_run(hosts: Sequence[Host], folder: Path) -> Run:
    inventory = write_inventory(folder / "hosts.toml", hosts)
    (folder / "run").mkdir(mode=0o700)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "LC_ALL": "C.UTF-8",
        "XDG_STATE_HOME": str(folder / "state"),
        "XDG_RUNTIME_DIR": str(folder / "run"),
    }
    words = ["--hosts", str(inventory), "run", str(HERE / "fanout.toml"), *(host.name for host in hosts), "--yes"]
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "console", *words, "--json"],
        cwd=PROJECT,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    wall_s = time.perf_counter() - started
    if done.returncode != 0:
        raise SystemExit(done.stderr.decode() + done.stdout.decode()[-2000:])
    steps = [event for event in map(json.loads, done.stdout.splitlines()) if event["type"] == "step.finished"]
    return Run(wall_s, longest(steps, "service.verify"), {step["uses"]: longest(steps, step["uses"]) for step in steps})


def longest(steps: Sequence[dict[str, Any]], uses: str) -> float:
    return max(float(step["duration_s"]) for step in steps if step["uses"] == uses)


if __name__ == "__main__":
    sys.exit(main())
