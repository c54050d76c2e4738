"""How soon a stop in the wait is answered: SIGINT, headless, so many tries, on the embedded lab.

    python -m bench.stop [TRIES]

Each try starts the main job, sends SIGINT while the engine loads, and times from the signal: the state printed
(step.finished), the record on disk (fsynced), the process gone with its commit. The service is put back in between.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from console.lab.lab import Lab

ROOT = Path(__file__).parents[1]
RUNBOOK = ROOT / "runbooks" / "extend_context.toml"
MARKS = {"step.finished": "state printed", "record.saved": "record fsynced"}


def console(lab: Lab, *words: str) -> list[str]:
    return [sys.executable, "-m", "console", "--hosts", str(lab.hosts_toml), *words]


def one(lab: Lab, environment: dict[str, str]) -> tuple[int, dict[str, float], str]:
    """One try: the exit code, seconds from the signal to each mark, and the run's id."""
    words = ["run", str(RUNBOOK), "--set", "mem_fraction=0.92", "--set", "measure=false", "--json"]
    process = subprocess.Popen(
        console(lab, *words), env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    sent = 0.0
    marks: dict[str, float] = {}
    run = ""
    for line in process.stdout:
        event = json.loads(line)
        run = event["run"]
        if not sent and event["type"] == "step.progress" and event["phase"] in ("weights", "graphs"):
            process.send_signal(signal.SIGINT)
            sent = time.monotonic()
        elif sent and event["type"] in MARKS:
            marks.setdefault(MARKS[event["type"]], time.monotonic() - sent)
    code = process.wait()
    marks["process gone, committed"] = time.monotonic() - sent
    return code, marks, run


def main(tries: int) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        state = Path(scratch) / "state"
        environment = dict(os.environ) | {"XDG_STATE_HOME": str(state), "PYTHONPATH": str(ROOT)}
        lab = asyncio.run(Lab.start(Path(scratch) / "lab"))
        try:
            seen: list[dict[str, float]] = []
            codes = []
            for number in range(1, tries + 1):
                code, marks, run = one(lab, environment)
                codes.append(code)
                seen.append(marks)
                shown = ", ".join(f"{name} {1000 * value:.0f} ms" for name, value in marks.items())
                sys.stdout.write(f"{number:3} exit {code}: {shown}\n")
                subprocess.run(
                    console(lab, "rollback", run, "--yes"), env=environment, stdin=subprocess.DEVNULL,
                    capture_output=True, check=True,
                )  # fmt: skip
            for name in seen[0]:
                values = sorted(1000 * marks[name] for marks in seen)
                sys.stdout.write(f"{name}: median {statistics.median(values):.0f} ms, worst {values[-1]:.0f} ms\n")
            sys.stdout.write(f"exit codes: {sorted(set(codes))}\n")
        finally:
            lab.stop_now()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
