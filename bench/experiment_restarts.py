"""Experiments through real restarts of a lab: A/A and A/B +5 % against one base, each restart another draw of 1 %.

The second arm's step is 5 % shorter by a flag of the engine; everything else is what `console run` does with any
experiment: edit, restart, wait, prove, measure, decide, one record and commit an arm.

python -m bench.experiment_restarts [--times 5] [--restarts 5] [--speed 100]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from console.lab.lab import Lab

CONTEXT, SPREAD = 1024, 0.01
STEP_MS, STEP_MS_PER_TOKEN = 26.3, 0.0201
# A decode cell lies half an answer behind its prompt; a step of all that is 1/1.05 as long with this intercept.
STEP_MS_FASTER = (STEP_MS + STEP_MS_PER_TOKEN * (CONTEXT + 316)) / 1.05 - STEP_MS_PER_TOKEN * (CONTEXT + 316)
RUNBOOK = f"""schema = 1
name = "draws"
title = "Every restart is another draw"
on_failure = "rollback"

[vars]
step = {{ type = "str", default = "{STEP_MS}" }}

[experiment]
objective = "decode max"
restarts = RESTARTS

[experiment.arms]
same   = {{ step = "{STEP_MS}" }}
faster = {{ step = "{STEP_MS_FASTER:.3f}" }}

[[step]]
uses = "unit.set"
flag = "--sim-step-ms"
to = "{{{{ step }}}}"
when_absent = "add"

[[step]]
uses = "systemd.daemon_reload"

[[step]]
uses = "service.restart"
always = true

[[step]]
uses = "service.wait_ready"

[[step]]
uses = "service.verify"

[[step]]
uses = "measure.decode"
contexts = ["{CONTEXT}"]
text_classes = ["prose"]
samples = 4
"""


def one(root: Path, console: list[str], environment: dict[str, str]) -> dict[str, str]:
    """One experiment from a base that is in force; what was decided of each arm."""
    done = subprocess.run([*console, "run", str(root / "draws.toml"), "--yes"], env=environment,
                          capture_output=True, text=True)  # fmt: skip
    table = " ".join(done.stdout[done.stdout.rfind("arm  ") :].split())
    told = dict(re.findall(r"(same|faster) against \w+: (.*?)(?= faster against| kept: )", table))
    if done.returncode or len(told) != 2:
        print(done.stdout[-2000:], done.stderr[-2000:])
    return told


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--restarts", type=int, default=5)
    parser.add_argument("--speed", type=float, default=100.0)
    told = parser.parse_args()
    console = [sys.executable, "-m", "console"]
    same = found = 0
    for number in range(told.times):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "draws.toml").write_text(RUNBOOK.replace("RESTARTS", str(told.restarts)))
            lab = asyncio.run(
                Lab.start(
                    root / "gpu1",
                    name="gpu1",
                    load_s=4.0,
                    speed=told.speed,
                    options={"restart_spread": SPREAD},
                    unit_lines=("StartLimitIntervalSec=0",),
                )
            )
            try:
                environment = dict(os.environ) | {
                    "CONSOLE_HOSTS": str(lab.hosts_toml),
                    "XDG_STATE_HOME": str(root / "state"),
                }
                began = time.monotonic()
                decided = one(root, console, environment)
                commits = subprocess.run(["git", "-C", str(lab.folder / "results"), "rev-list", "--count", "HEAD"],
                                         capture_output=True, text=True).stdout.strip()  # fmt: skip
            finally:
                lab.stop_now()
        same += "no difference shown" in decided.get("same", "")
        found += decided.get("faster", "").startswith("keep")
        print(f"{number + 1}: {time.monotonic() - began:.0f} s, {commits} commits", flush=True)
        for arm, what in decided.items():
            print(f"   {arm:<7} {what}", flush=True)
    print(f"A/A no difference shown: {same} of {told.times}; A/B +5 % kept: {found} of {told.times}")
    # One false alarm in twenty is what an interval of 95 % means.
    return 0 if same >= told.times - 1 and found == told.times else 1


if __name__ == "__main__":
    sys.exit(main())
