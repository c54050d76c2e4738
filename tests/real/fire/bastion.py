"""Two hundred lab hosts behind one bastion: a real sshd with its stock limits, and none of them is lost."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from tests.hosts.fleet import PROJECT, Fleet
from tests.hosts.host import Host
from tests.hosts.inventory import table
from tests.real.desk import Desk
from tests.real.fire.said import Said

HOSTS = 200
BOOK = """\
schema = 1
name = "everywhere"
unattended = "proceed"
waves = ["100%"]
stop_after = 200

[[step]]
uses = "host.command"
command = "true"
mutates = {mutates}
"""


def prove(said: Said, folder: Path) -> None:
    with Fleet(1) as fleet:
        bastion = fleet.hosts[0]
        labs = subprocess.Popen(
            # The labs listen on the loopback of the bastion's own network: there is no way to them but through it.
            ["ip", "netns", "exec", bastion.cable.namespace, sys.executable, "-m", "tests.real.fire.labs",
             str(folder / "labs"), str(HOSTS)],
            cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert labs.stdin is not None
        assert labs.stdout is not None
        try:
            count = len(json.loads(labs.stdout.readline()))
            said.line(count == HOSTS, f"{count} labs listen behind one sshd: {limits(bastion)}")
            desk = Desk(folder / "desk", [bastion])
            desk.inventory.write_text(inventory(bastion, folder, desk))
            for mutates in ("false", "true"):
                one(said, desk, mutates)
        finally:
            labs.stdin.close()
            labs.wait(60)


def one(said: Said, desk: Desk, mutates: str) -> None:
    names = [f"lab{number}" for number in range(HOSTS)]
    begun = time.monotonic()
    done = desk.console("run", desk.runbook(BOOK.format(mutates=mutates)), *names, "--yes", timeout_s=900.0)
    took_s = time.monotonic() - begun
    ended = Counter(done.of("run.finished")[-1]["outcomes"].values()) if done.folder else Counter()
    steps = [event for event in done.of("step.finished") if event["uses"] == "host.command"]
    good = sum(event["outcome"] in ("ok", "changed") for event in steps)
    # What a command did is proven by nobody: such a target ends applied-unverified, and counts for the stop rule.
    met = good == HOSTS and done.code == (3 if mutates == "true" else 0)
    outcomes = ", ".join(f"{count} {outcome}" for outcome, count in ended.items())
    said.line(met, f"host.command, mutates = {mutates}: done on {good} of {HOSTS} in {took_s:.0f} s; {outcomes}")
    if not met:
        sys.stderr.write(f"exit {done.code}\n{done.err[-3000:]}\n")


def limits(bastion: Host) -> str:
    """What its sshd itself says of its limits."""
    told = dict(line.split(" ", 1) for line in bastion.out("sshd", "-T").splitlines() if " " in line)
    return f"MaxStartups {told['maxstartups']}, MaxSessions {told['maxsessions']}"


def inventory(bastion: Host, folder: Path, desk: Desk) -> str:
    """Every lab as a host of its own, as its own inventory has it, and the bastion before it."""
    known = folder / "known_hosts"
    keys = [bastion.known_hosts.read_text()]
    defaults = {"identity": str(bastion.identity), "jump": f"root@{bastion.address}"}
    said = [table("", {"schema": 1}), table("results", {"path": str(desk.findings)}), table("defaults", defaults)]
    for number in range(HOSTS):
        lab = folder / "labs" / str(number)
        keys.append((lab / "known_hosts").read_text())
        told = (lab / "hosts.toml").read_text()
        said.append(told[told.index("[hosts.") :].replace(str(lab / "known_hosts"), str(known)))
    known.write_text("".join(keys))
    return "\n".join(said)
