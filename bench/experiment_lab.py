"""An experiment through real restarts of a lab: kv_cache_dtype × mem_fraction, killed in the middle, gone on with.

The base cannot hold the pool that is wanted; more memory can; an fp8 cache could, but its long answers are wrong.

python -m bench.experiment_lab [--kill-after 2]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from console.lab.lab import Lab

ROOT = Path(__file__).parents[1]
EXPERIMENT = """[experiment]
objective = "decode max while pool >= 150000"
restarts = 2
most_restarts = 20

[experiment.arms]
fp8_cache   = { kv_cache_dtype = "fp8_e4m3" }
more_memory = { mem_fraction = "0.92" }
"""
MEASURE = """[[step]]
uses = "measure.decode"
contexts = ["1024"]
text_classes = ["prose"]
samples = 4
"""


def runbook() -> str:
    """The one that is shipped, with the arms of this bench and a measurement that any machine can make."""
    text = (ROOT / "runbooks" / "tune.toml").read_text()
    text = re.sub(r"\[experiment\].*?(?=\[\[step\]\])", EXPERIMENT + "\n", text, count=1, flags=re.DOTALL)
    return text[: text.index('[[step]]\nuses = "measure.load"')] + MEASURE


def results_of(root: Path) -> list[dict[str, object]]:
    files = list((root / "state" / "console" / "experiments").glob("*/results.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kill-after", type=int, default=2, metavar="N", help="results")
    told = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "tune.toml").write_text(runbook())
        lab = asyncio.run(Lab.start(root / "gpu1", name="gpu1", load_s=10.0, speed=50.0))
        try:
            lab.set_fault("lossy-recall", above_context=20_000)
            environment = dict(os.environ) | {
                "CONSOLE_HOSTS": str(lab.hosts_toml),
                "XDG_STATE_HOME": str(root / "state"),
            }
            words = [sys.executable, "-m", "console", "run", str(root / "tune.toml"), "--yes"]
            first = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while len(results_of(root)) < told.kill_after and first.poll() is None:
                time.sleep(0.1)
            time.sleep(3.0)
            first.send_signal(signal.SIGKILL)
            first.wait()
            print(f"killed (exit {first.returncode}) with {len(results_of(root))} results")
            (experiment,) = (root / "state" / "console" / "experiments").iterdir()
            done = subprocess.run(
                [*words, "--continue", experiment.name], env=environment, capture_output=True, text=True
            )
            print(done.stdout[-3000:] or done.stderr[-3000:])
            results = results_of(root)
            commits = subprocess.run(
                ["git", "-C", str(lab.folder / "results"), "log", "--format=%s"], capture_output=True, text=True
            ).stdout
            print(commits)
        finally:
            lab.stop_now()
    arms = [(one["arm"], one["versus"], one["ok"]) for one in results]
    good = (
        done.returncode == 0
        and ("fp8_cache", "fp8_cache", False) in arms
        and "kept: more_memory" in done.stdout
        and arms.count(("more_memory", "more_memory", True)) == 2
    )
    print(f"{len(results)} results; found the arm that meets the bound, rolled back the other, went on: {good}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
