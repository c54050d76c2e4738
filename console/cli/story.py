"""`console demo --story`: one night on a simulated host, from the complaint to the record, in commands as typed."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from console.cli.output import Output
from console.errors import RefusedError
from console.lab.lab import Lab, LabError, start_detached, stop_detached
from console.planning.shelf import runbook_path

SPEED = 30.0
HOST = "gpu1"
TARGET = "gpu1/k26"
LIMIT_S = 90.0
SWEEP = ("--contexts", "13,1663,3333,5553", "--text-class", "analysis", "--output-tokens", "600", "--rounds", "1")
COMPLAINT = (
    "--observed=32",
    "--prompt=2700",
    "--tokens=1500",
    "--accept=2.9",
    "--baseline=138",
    "--ttft=0.06",
)
EXTEND = ("runbooks/extend_context.toml", TARGET, "--set", "mem_fraction=0.92", "--set", "measure=false")


@dataclass
class Teller:
    """Runs commands as a person would type them, and says each before it runs."""

    output: Output
    environment: Mapping[str, str]
    results: Path
    folder: Path  # where `runbooks/` lies

    def say(self, text: str) -> None:
        self.output.data(f"\n# {text}")

    def run(self, *words: str, expect: int = 0, stop_in: str = "") -> str:
        """One command; what it prints on stdout is shown and returned. Raises RefusedError for another exit code.

        With `stop_in` it gets a Ctrl-C while that step of its run goes on.
        """
        self.output.data(f"$ console {shlex.join(words)}")
        process = subprocess.Popen(
            [sys.executable, "-m", "console", *words],
            env=dict(self.environment),
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        if stop_in:
            self._wait_for(process, stop_in)
            self.output.data("^C")
            process.send_signal(signal.SIGINT)
        told, narration = process.communicate(timeout=LIMIT_S)
        self.output.data(told.rstrip("\n"))
        if expect or process.returncode != expect:
            self.output.data(f"(exit {process.returncode})")
        if process.returncode != expect:
            raise RefusedError(
                f"console {words[0]} ended with {process.returncode}, not {expect}: {narration.strip()[-600:]}"
            )
        return told

    def git(self, *words: str) -> None:
        """What the results repository tells without us."""
        self.output.data(f"$ git -C {self.results} {shlex.join(words)}")
        told = subprocess.run(["git", "-C", str(self.results), *words], capture_output=True, text=True, check=True)
        self.output.data(told.stdout.rstrip("\n"))

    def _wait_for(self, process: subprocess.Popen[str], uses: str) -> None:
        """Until that step of the newest run goes on; its events are on disk before anybody is told."""
        runs = Path(self.environment["XDG_STATE_HOME"]) / "console" / "runs"
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end and process.poll() is None:
            newest = max(runs.glob("*/events.jsonl"), default=None)
            if newest is not None and _goes_on(newest.read_text("utf-8", "replace"), uses):
                return
            time.sleep(0.05)
        told, narration = process.communicate()
        raise RefusedError(f"{uses} did not begin: {(narration or told).strip()[-600:]}")


def _goes_on(events: str, uses: str) -> bool:
    """Whether that step has said how far it is."""
    steps = set()
    for line in events.splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue  # still being written
        if event.get("type") == "step.started" and event.get("uses") == uses:
            steps.add(event.get("step"))
        elif event.get("type") == "step.progress" and event.get("step") in steps:
            return True
    return False


def tell(folder: Path, output: Output, *, speed: float = SPEED) -> int:
    """The whole tale; the host ends with it. Raises RefusedError where it does not go as told."""
    began = time.monotonic()
    output.note(
        f"a simulated host in {folder}: everything it says is marked as simulated, and its clock runs "
        f"{speed:.0f} times as fast as yours"
    )
    try:
        lab = start_detached(folder, name=HOST, speed=speed)
    except LabError as error:
        raise RefusedError(str(error), where=str(folder)) from error
    try:
        environment = dict(os.environ) | {
            "CONSOLE_HOSTS": str(lab.hosts_toml),
            "XDG_STATE_HOME": str(folder / "operator"),
        }
        shelf = runbook_path("extend_context.toml").parent.parent
        _night(lab, Teller(output, environment, lab.layout.results, shelf))
    finally:
        stop_detached(folder)
    output.note(f"\nthe whole night took {time.monotonic() - began:.0f} s")
    return 0


def _night(lab: Lab, teller: Teller) -> None:
    teller.say("Last week: how fast it is was measured and recorded.")
    teller.run("measure", "sweep", TARGET, *SWEEP)
    _user(lab)
    teller.say('Tonight: "32 tok/s, it was 138!" Nothing is sent to the service to find out.')
    teller.run("diagnose", TARGET, *COMPLAINT, "--reason", "users say it became slow")
    teller.say('"And what is the largest context?"')
    teller.run("capacity", TARGET, "--context", "200000", "--no-commit")
    teller.say("So what would hold more?")
    teller.run("capacity", TARGET, "--no-commit")
    teller.say("A larger memory share holds it and loses nothing. Somebody stops the change while it loads.")
    teller.run("run", *EXTEND, "--yes", "--reason", "longer documents", expect=3, stop_in="service.wait_ready")
    told = teller.run("runs", "--open")
    run = next(word for word in told.split() if len(word) == 26 and word.isalnum() and word.isupper())
    teller.say("It was restarted and nothing proves yet that it serves. Going on needs no second restart.")
    teller.run("resume", run, "--yes")
    teller.say("What happened, for whoever comes in the morning:")
    teller.run("history", "list")
    teller.git("log", "--reverse", "--format=%h %s")
    teller.git("log", "-1")


def _user(lab: Lab) -> None:
    """A user's request of the kind that is complained of: 2700 tokens in, 1500 out."""
    body = {
        "input_ids": [1000 + (number * 7919) % 30011 for number in range(2700)],
        "sampling_params": {"max_new_tokens": 1500, "ignore_eos": True},
    }
    request = urllib.request.Request(
        f"http://127.0.0.1:{lab.service('k26').port}/generate",
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=LIMIT_S) as reply:  # noqa: S310
        reply.read()
