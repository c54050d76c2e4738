"""Many consoles on many machines push to one remote at once: nothing is lost, nothing is doubled.

    python -m bench.publish [--consoles 8] [--runs 25] [--down SECONDS]

Each console is a process with a repository of its own. With --down the remote is away that long, from the start on.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.records import template
from console.results.repository import Repository
from console.secrets import Redactor

SETTLE_ROUNDS = 120  # also of a console that has long ended its runs when the remote comes back


def console(folder: Path, remote: Path, index: int, runs: int) -> None:
    """One console: its runs one after the other, then whatever could not be pushed, as `console recover` does."""
    repository = Repository(folder, environment=os.environ)
    repository.open()
    git = ["git", "-C", str(folder)]
    for name, value in (
        ("user.name", f"Console {index}"),
        ("user.email", f"console{index}@test.invalid"),
        ("remote.origin.url", str(remote)),
        ("remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"),
        ("branch.main.remote", "origin"),
        ("branch.main.merge", "refs/heads/main"),
    ):
        subprocess.run([*git, "config", name, value], check=True)
    base = template()
    for number in range(runs):
        run = f"01KAYX5V00000000{index:02d}000000{number:02d}"
        repository.commit_target(base.model_copy(update={"run": run, "target": f"gpu{index}/llm"}), Redactor())
    for _ in range(SETTLE_ROUNDS):
        if not repository.publish():
            return
        time.sleep(0.5)
    sys.exit(1)


def main() -> int:
    parser = argparse.ArgumentParser(description="Many consoles push to one remote at once.")
    parser.add_argument("--consoles", type=int, default=8, metavar="N")
    parser.add_argument("--runs", type=int, default=25, metavar="N")
    parser.add_argument("--down", type=float, default=0.0, metavar="SECONDS")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        remote, away = base / "origin.git", base / "away.git"
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(remote)], check=True)
        started = time.perf_counter()
        processes = [
            multiprocessing.Process(target=console, args=(base / f"console{index}", remote, index, asked.runs))
            for index in range(asked.consoles)
        ]
        if asked.down:
            remote.rename(away)
        for process in processes:
            process.start()
        if asked.down:
            time.sleep(asked.down)
            away.rename(remote)
        for process in processes:
            process.join()
        took = time.perf_counter() - started
        git = ["git", "-C", str(remote)]
        form = "--format=%(trailers:key=Run-Id,valueonly,separator=)"
        found = subprocess.run([*git, "log", "main", form], capture_output=True, text=True, check=True).stdout.split()
        whole = subprocess.run([*git, "fsck", "--strict", "--no-dangling"], capture_output=True, text=True)
        wanted = asked.consoles * asked.runs
        print(
            f"{asked.consoles} consoles x {asked.runs} runs: {len(found)} commits, {len(set(found))} different runs of "
            f"{wanted}, {took:.0f} s, fsck {'clean' if whole.returncode == 0 and not whole.stdout else whole.stdout}"
        )
        ended = all(process.exitcode == 0 for process in processes)
        return 0 if ended and len(found) == len(set(found)) == wanted and whole.returncode == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
