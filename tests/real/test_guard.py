"""The guard on the host: the console is killed after the restart, and the host itself decides what becomes of it."""

from __future__ import annotations

import json
import signal
import time

import pytest

from tests.hosts import remains
from tests.hosts.engine_unit import UNIT, serving, set_fault, set_simulator
from tests.hosts.host import Host
from tests.real.books import guarded
from tests.real.conftest import MakeDesk
from tests.real.desk import EXTEND_CONTEXT, Desk, Going
from tests.real.ready import QUICK_LOAD_S
from tests.real.state_of import LEDGER, UNIT_FILE, comes_to_serve, everywhere, starts

pytestmark = pytest.mark.real_host

BALANCER = """
[groups.k26]
members = ["gpu1/k26"]
min_ready = 0
[groups.k26.balancer]
out = "touch /run/out-of-it"
in = "rm /run/out-of-it"
"""
PATIENCE_S = 90.0


def restarted(desk: Desk, guard: str = "10s", allowed: str = "15s") -> Going:
    going = desk.start("run", desk.runbook(guarded(guard, balanced=True).replace("15s", allowed)))
    going.wait_for(lambda event: event["type"] == "change.made" and event["kind"] == "restart")
    return going


def timers(host: Host) -> list[str]:
    """Everything of a guard that is left: its files, its link, and timers that systemd has.

    A name that timers.target wanted at the last daemon-reload stays until the next one, as a unit that is not found.
    """
    files = host.out("find", "/etc/systemd/system", "-name", "console-guard-*").splitlines()
    listed = host.out("systemctl", "list-units", "--all", "--plain", "--no-legend", "console-guard-*").splitlines()
    return [*files, *(line for line in listed if line.split()[1] != "not-found")]


def test_crash_loop_is_put_back_and_the_next_command_says_so(host: Host, make_desk: MakeDesk) -> None:
    desk, other = make_desk([host]), make_desk([host])
    before = host.read_bytes(UNIT_FILE)
    with desk.inventory.open("a") as inventory:
        inventory.write(BALANCER.replace("gpu1", host.name))
    set_fault(host, "crash-loop", above_context=32768)
    going = restarted(desk, guard="25s")  # a plan must come before it is due
    going.stop(signal.SIGKILL)
    killed = going.end()
    assert timers(host)
    assert host.exists("/run/out-of-it")
    armed = other.console("plan", EXTEND_CONTEXT)
    assert armed.code == 6, armed.err
    assert f"the guard of run {killed.run_id} is armed" in armed.err

    assert comes_to_serve(host, 32768, PATIENCE_S)

    assert host.read_bytes(UNIT_FILE) == before
    assert remains.wait_until(lambda: timers(host) == [], 10.0, every_s=0.5), timers(host)
    assert everywhere(host) == ("32768",) * 4
    assert not host.exists("/run/out-of-it"), host.read(f"{LEDGER}/{UNIT}/{killed.run_id}/guard.log")
    facts = other.console("facts")
    assert f"OPEN (put back by the guard) {killed.run_id}" in " ".join(facts.out.split())
    told = desk.console("recover")
    assert told.code == 0, told.err
    assert f"{host.name}/k26  rolled-back" in told.out
    assert "the guard on the host put it back, and the old state serves" in told.err
    assert desk.open_runs() == []
    assert desk.trailers()["Outcome"] == ["rolled-back"]
    assert '"state": "rolled-back"' in host.read(f"{LEDGER}/{UNIT}/{killed.run_id}/change.json")


def test_a_run_that_comes_back_after_it_fired_ends_rolled_back(host: Host, desk: Desk) -> None:
    set_simulator(host, load_s=60.0)
    set_fault(host, "crash-loop", above_context=32768)
    going = restarted(desk, guard="8s", allowed="90s")
    host.run("systemctl", "stop", "ssh.service")
    host.kill_sessions()
    assert remains.wait_until(lambda: serving(host) is None, 10.0, every_s=0.05)  # the old process is gone
    assert comes_to_serve(host, 32768, PATIENCE_S)
    host.run("systemctl", "start", "ssh.service")
    done = going.end()
    assert (done.code, done.outcome) == (4, "rolled-back"), done.err
    assert [event["state"] for event in done.of("guard.changed")][:2] == ["armed", "fired"]
    # The guard's own restart is the only other one that was asked for.
    assert [event["kind"] for event in done.of("change.made")] == ["file", "reload", "restart"]
    assert {event["how"] for event in done.of("change.undone")} == {"guard"}
    assert '"state": "rolled-back"' in host.read(f"{LEDGER}/{UNIT}/{done.run_id}/change.json")
    assert timers(host) == []
    assert desk.open_runs() == []


def test_engine_that_becomes_healthy_is_left_alone(host: Host, desk: Desk) -> None:
    first = starts(host)
    set_simulator(host, load_s=160.0)
    going = restarted(desk)
    going.stop(signal.SIGKILL)
    killed = going.end()
    assert comes_to_serve(host, 200000, PATIENCE_S)
    assert remains.wait_until(lambda: timers(host) == [], PATIENCE_S, every_s=0.5)
    assert "stood down: the service is serving" in host.read(f"{LEDGER}/{UNIT}/{killed.run_id}/guard.log")
    assert serving(host) == 200000
    assert starts(host) == first + 1


def test_no_timer_is_left_after_the_proof(host: Host, desk: Desk) -> None:
    done = desk.console("run", desk.runbook(guarded("20s", balanced=True)))
    assert done.code == 0, done.err
    assert [event["state"] for event in done.of("guard.changed")] == ["armed", "disarmed"]
    assert timers(host) == []


def test_rollback_under_way_when_it_is_due_makes_one_restart(host: Host, make_desk: MakeDesk) -> None:
    desk = make_desk([host])
    first = starts(host)
    set_simulator(host, load_s=400.0)
    going = restarted(desk, guard="12s")
    going.stop(signal.SIGKILL)
    killed = going.end()
    begun = time.monotonic()
    back = desk.start("rollback", killed.run_id, "--yes")
    done = back.end()
    assert done.code == 0, done.err
    assert time.monotonic() - begun > 12, "the guard was never due in it"
    assert starts(host) == first + 2
    assert timers(host) == []
    assert everywhere(host) == ("32768",) * 4


def test_guard_outlives_a_reboot_and_waits_for_the_units_own_start(host: Host, desk: Desk) -> None:
    set_fault(host, "crash-loop", above_context=32768)
    going = restarted(desk, guard="8s")
    going.stop(signal.SIGKILL)
    killed = going.end()
    host.reboot()
    set_simulator(host, load_s=QUICK_LOAD_S)
    assert comes_to_serve(host, 32768, PATIENCE_S)
    log = host.read(f"{LEDGER}/{UNIT}/{killed.run_id}/guard.log")
    assert "put back, and restarted" in log
    assert json.loads(host.read(f"{LEDGER}/{UNIT}/{killed.run_id}/change.json"))["state"] == "guard"
