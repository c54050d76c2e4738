"""Twelve hosts in waves: the canary fails; a fifth one fails. Who was begun, who was not, and how the run ends."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.hosts.engine_unit import install_engine, set_fault
from tests.hosts.fleet import Fleet
from tests.hosts.host import Host
from tests.real.desk import Desk, Done
from tests.real.fire.said import Said
from tests.real.state_of import UNIT_FILE, comes_to_serve, starts

HOSTS = 12
BOOK = """\
schema = 1
name = "fleet"
on_failure = "rollback"
unattended = "proceed"
waves = {waves}
stop_after = {stop_after}

[[step]]
uses = "unit.set"
setting = "context_length"
expect = 32768
to = 200000

[[step]]
uses = "systemd.daemon_reload"

[[step]]
uses = "service.restart"

[[step]]
uses = "service.wait_ready"
timeout = "60s"

[[step]]
uses = "service.verify"
"""
# Waves, after how many bad ones to stop, who fails; how many are verified, rolled back and not started.
CASES = {
    "the canary fails": ('[1, "25%", "100%"]', 1, 1, (0, 1, 11)),
    "the fifth fails, last wave of all": ('[1, "25%", "100%"]', 1, 5, (11, 1, 0)),
    "the fifth fails, 25% at a time": ('[1, "25%"]', 1, 5, (6, 1, 5)),
    "the fifth fails, one may": ('[1, "25%"]', 2, 5, (11, 1, 0)),
}


def prove(said: Said, folder: Path) -> None:
    with Fleet(HOSTS) as fleet:
        for name, (waves, stop_after, bad, expected) in CASES.items():
            with ThreadPoolExecutor(4) as pool:
                list(pool.map(ready, fleet.hosts))
            set_fault(fleet.hosts[bad - 1], "crash-loop", above_context=32768)
            desk = Desk(folder / name, fleet.hosts)
            before = [starts(host) for host in fleet.hosts]
            book = desk.runbook(BOOK.format(waves=waves, stop_after=stop_after))
            done = desk.console("run", book, *(host.name for host in fleet.hosts), "--yes", timeout_s=400.0)
            wrong = judged(done, fleet.hosts, before, expected)
            counts = "{} verified, {} rolled back, {} not-started".format(*expected)
            said.line(not wrong, f"{name}: exit {done.code}, " + ("; ".join(wrong) or counts))


def ready(host: Host) -> None:
    set_fault(host, "") if host.exists("/opt/console-sim") else None
    install_engine(host, load_s=20.0)


def judged(done: Done, hosts: list[Host], before: list[int], expected: tuple[int, int, int]) -> list[str]:
    wrong = [] if done.code == 4 else [f"exit {done.code}"]
    outcomes = done.of("run.finished")[-1]["outcomes"]
    found = tuple(list(outcomes.values()).count(word) for word in ("verified", "rolled-back", "not-started"))
    if found != expected:
        wrong.append(f"{found} verified, rolled back, not-started instead of {expected}: {outcomes}")
    for host, first in zip(hosts, before, strict=True):
        outcome = outcomes[f"{host.name}/k26"]
        window = 200000 if outcome == "verified" else 32768
        if not comes_to_serve(host, window) or f" {window} " not in host.read(UNIT_FILE):
            wrong.append(f"{host.name} is {outcome} and does not serve {window}")
        if outcome == "not-started" and starts(host) != first:
            wrong.append(f"{host.name} was not to be started, and was")
    failed = next(event["seq"] for event in done.of("target.finished") if event["outcome"] != "verified")
    begun = [event for event in done.of("wave.started") if event["seq"] > failed]
    if begun and expected[2]:
        wrong.append(f"a wave was begun after that: {begun[0]['targets']}")
    return wrong
