"""Labs with a known limit, asked by the command line what limits them: is it named, and what cannot be told, said?

decode bandwidth: short prompts, a step whose time hardly grows. KV capacity: prompts of which the pool holds six, asked
for by sixteen. placement: three replicas, one of which gets nearly all requests. mixed: the second with a slow prefill.

python -m bench.bottleneck_lab [--only NAME]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from console.lab.lab import Lab

CONSOLE = [sys.executable, "-m", "console"]
GROUP = '\n[groups.pool]\nmembers = ["gpu1/k26", "gpu2/k26", "gpu3/k26"]\n'


@dataclass(frozen=True)
class Scenario:
    named: str
    load: Mapping[str, str]
    options: Mapping[str, Any]
    speed: float = 4.0


LONG = {"concurrency": "1,16", "context": "16000", "output-tokens": "64", "requests": "16"}
SCENARIOS = {
    "decode": Scenario(
        "decode bandwidth",
        {"concurrency": "1,8", "context": "1024", "output-tokens": "384", "requests": "8"},
        {"prefill_tok_s": 2000.0, "step_ms": 60.0, "step_ms_per_token": 0.001},
        1.0,
    ),
    "cache": Scenario("KV capacity", LONG, {"prefill_tok_s": 100_000.0, "step_ms_per_token": 0.005}),
    "mixed": Scenario(
        "inconclusive: KV capacity and prefill", LONG, {"prefill_tok_s": 4000.0, "step_ms_per_token": 0.005}
    ),
}


def told(words: list[str], environment: dict[str, str], kind: str) -> str:
    """What the run concluded of that kind."""
    done = subprocess.run([*CONSOLE, *words, "--json"], env=environment, capture_output=True, text=True)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    found = [one["text"] for one in events if one.get("type") == kind or one.get("kind") == kind]
    return found[-1] if found else f"exit {done.returncode}: {done.stderr[-500:]}"


def surroundings(root: Path, hosts: Path) -> dict[str, str]:
    return dict(os.environ) | {"CONSOLE_HOSTS": str(hosts), "XDG_STATE_HOME": str(root / "state")}


def one_target(root: Path, wanted: Scenario) -> str:
    options = {"first_request_s": 0.0, **wanted.options}
    lab = asyncio.run(Lab.start(root / "gpu1", name="gpu1", load_s=2.0, speed=wanted.speed, options=options))
    try:
        environment = surroundings(root, lab.hosts_toml)
        words = [word for name, value in wanted.load.items() for word in (f"--{name}", value)]
        loaded = subprocess.run([*CONSOLE, "measure", "load", *words, "--json"], env=environment,
                                capture_output=True, text=True)  # fmt: skip
        for event in map(json.loads, loaded.stdout.splitlines()):
            if event["type"] == "level.measured" and event["level"]["state"] != "measured":
                print(f"   {event['level']['streams']} streams: {event['level']['reason']}")
        return told(["diagnose", "gpu1/k26", "--bottleneck"], environment, "bottleneck")
    finally:
        lab.stop_now()


def group_of_three(root: Path) -> str:
    """Requests by a router that sends nine of eleven to one member."""
    labs = [asyncio.run(Lab.start(root / name, name=name, load_s=2.0, speed=10.0)) for name in ("gpu1", "gpu2", "gpu3")]
    try:
        texts = [lab.hosts_toml.read_text() for lab in labs]
        hosts = root / "hosts.toml"
        hosts.write_text(texts[0] + "".join(text[text.index("[hosts.") :] for text in texts[1:]) + GROUP)

        def ask(lab: Lab) -> None:
            body = {
                "text": "how a cache is kept " * 100,
                "sampling_params": {"max_new_tokens": 400, "ignore_eos": True},
            }
            for _ in range(3):
                httpx.post(f"{lab.service().url}/generate", json=body, timeout=120)

        with ThreadPoolExecutor(11) as pool:
            list(pool.map(ask, [labs[0]] * 9 + [labs[1], labs[2]]))
        return told(["diagnose", "pool", "--bottleneck"], surroundings(root, hosts), "group.bottleneck")
    finally:
        for lab in labs:
            lab.stop_now()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    only = parser.parse_args().only
    good = True
    for name in [*SCENARIOS, "placement"]:
        if only and name != only:
            continue
        with tempfile.TemporaryDirectory() as folder:
            wanted = SCENARIOS[name].named if name in SCENARIOS else "placement"
            said = one_target(Path(folder), SCENARIOS[name]) if name in SCENARIOS else group_of_three(Path(folder))
        right = said.startswith(wanted)
        good &= right
        print(f"{name:<10} {'named' if right else 'NOT NAMED'}: {said}", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
