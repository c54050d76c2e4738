"""Ctrl-C in a sweep at 190,000 tokens of context: when it says so, when it is gone, when the server is idle again.

    python -m bench.stop_measure [TRIES]

Somebody else's request is in flight meanwhile, and must come back whole.
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
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

from console.lab.lab import Lab

ROOT = Path(__file__).parents[1]
CONTEXT = 190_000
FOREIGN_TOKENS = 3000


# One for all: a new one reads the machine's certificates, which would take the time that is measured.
CLIENT = httpx.Client(trust_env=False, timeout=300)


def running(url: str) -> int:
    return int(CLIENT.get(f"{url}/v1/loads").json()["aggregate"]["total_reqs"])


def until(good: Callable[[], bool], patience_s: float = 120.0) -> None:
    end = time.monotonic() + patience_s
    while not good():
        if time.monotonic() > end:
            raise SystemExit("not within two minutes")
        time.sleep(0.005)


def foreign(url: str, found: list[Any]) -> None:
    body = {"text": "what is this", "sampling_params": {"max_new_tokens": FOREIGN_TOKENS, "ignore_eos": True}}
    found.append(CLIENT.post(f"{url}/generate", json=body).json())


def one(lab: Lab, state: Path) -> dict[str, float]:
    """Seconds from the signal to each mark."""
    url = lab.service().url
    words = ["measure", "sweep", "--contexts", f"13,{CONTEXT}", "--budget", "10h", "--output-tokens", "512", "--json"]
    process = subprocess.Popen(
        [sys.executable, "-m", "console", "--hosts", str(lab.hosts_toml), *words],
        env=dict(os.environ) | {"XDG_STATE_HOME": str(state), "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    marks: dict[str, float] = {}
    states: list[str] = []
    for line in process.stdout:
        event = json.loads(line)
        if event["type"] == "step.progress" and event["phase"].startswith(str(CONTEXT)):
            break
    until(lambda: running(url) == 1)
    found: list[Any] = []
    other = threading.Thread(target=foreign, args=(url, found))
    other.start()
    until(lambda: running(url) == 2)
    process.send_signal(signal.SIGINT)
    sent = time.monotonic()
    for line in process.stdout:
        event = json.loads(line)
        if event["type"] == "step.finished":
            marks["stopped"] = time.monotonic() - sent
        if event["type"] == "cell.measured":
            states.append(event["cell"]["state"])
    process.wait()
    marks["ended, committed"] = time.monotonic() - sent
    until(lambda: running(url) <= 1)
    marks["ours is gone from the server"] = time.monotonic() - sent
    other.join()
    tokens = found[0]["meta_info"]["completion_tokens"]
    if process.returncode != 130 or tokens != FOREIGN_TOKENS or "partial" not in states:
        raise SystemExit(f"exit {process.returncode}, cells {states}, somebody else got {tokens} tokens")
    return marks


def main(tries: int) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        lab = asyncio.run(
            Lab.start(Path(scratch) / "lab", speed=10.0, load_s=10.0, context_length=200_000, mem_fraction="0.92")
        )
        try:
            found = [one(lab, Path(scratch) / "state") for _ in range(tries)]
        finally:
            lab.stop_now()
    for mark in found[0]:
        times = [marks[mark] for marks in found]
        print(f"{mark:<30} median {statistics.median(times):6.3f} s   worst {max(times):6.3f} s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
