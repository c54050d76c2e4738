"""The guard's own figures: `guard = "20s"`, 15 s allowed for a start, the console killed 2 s after the restart."""

from __future__ import annotations

import signal
import time
from pathlib import Path

from tests.hosts import remains
from tests.hosts.engine_unit import UNIT, install_engine, serving, set_fault, set_simulator
from tests.hosts.fleet import Fleet
from tests.hosts.host import Host
from tests.real.books import guarded
from tests.real.desk import Desk, Done
from tests.real.fire.said import Said
from tests.real.state_of import LEDGER, UNIT_FILE, everywhere, starts
from tests.real.test_guard import restarted, timers

GUARD = "20s"
BACK_WITHIN_S = 60.0
KILLED_AFTER_S = 2.0
SPEED = 20.0


def prove(said: Said, folder: Path) -> None:
    with Fleet(1) as fleet:
        host = fleet.hosts[0]
        for name, part in {
            "crash": crash_loop,
            "healthy": healthy,
            "rollback": rolled_back_meanwhile,
            "proven": proven,
            "rebooted": fired_and_rebooted,
        }.items():
            set_fault(host, "")
            install_engine(host, load_s=10.0)
            part(said, host, Desk(folder / name, [host]))


def killed(desk: Desk) -> tuple[Done, float]:
    going = restarted(desk, guard=GUARD)
    time.sleep(KILLED_AFTER_S)
    at = going.stop(signal.SIGKILL)
    return going.end(), at


def crash_loop(said: Said, host: Host, desk: Desk) -> None:
    before = host.read_bytes(UNIT_FILE)
    # It crashes after some seconds: a run that is still there to see that ends by itself, and cannot be killed.
    set_simulator(host, load_s=10.0, speed=SPEED, crash_s=6.0 * SPEED)
    set_fault(host, "crash-loop", above_context=32768)
    done, at = killed(desk)
    back = remains.wait_until(lambda: serving(host) == 32768, 120.0, every_s=0.1)
    took_s = time.time() - at
    met = back and took_s < BACK_WITHIN_S and host.read_bytes(UNIT_FILE) == before and done.code == -signal.SIGKILL
    said.line(met, f"crash-looping engine: the old context serves {took_s:.1f} s after the kill")
    facts = " ".join(desk.console("facts").out.split())
    told = desk.console("recover")
    met = f"put back by the guard) {done.run_id}" in facts and "rolled-back" in told.out and not desk.open_runs()
    said.line(met, f"the next command says so: {told.out.strip()}")


def healthy(said: Said, host: Host, desk: Desk) -> None:
    first = starts(host)
    set_simulator(host, load_s=10.0 * SPEED, speed=SPEED)
    done, _ = killed(desk)
    log = f"{LEDGER}/{UNIT}/{done.run_id}/guard.log"
    fired = remains.wait_until(lambda: host.exists(log) and "stood down" in host.read(log), 90.0, every_s=0.5)
    restarts = starts(host) - first
    met = fired and restarts == 1 and serving(host) == 200000
    said.line(met, f"engine that becomes healthy: untouched, {restarts} restart; the guard stood down: {fired}")


def rolled_back_meanwhile(said: Said, host: Host, desk: Desk) -> None:
    set_simulator(host, load_s=26.0 * SPEED, speed=SPEED)
    done, at = killed(desk)
    first = starts(host)
    back = desk.console("rollback", done.run_id, "--yes", timeout_s=180.0)
    took_s = time.time() - at
    restarts = starts(host) - first
    met = back.code == 0 and restarts == 1 and took_s > 20 and everywhere(host) == ("32768",) * 4 and not timers(host)
    said.line(met, f"rollback under way when it is due (it took {took_s:.0f} s): {restarts} restart, exit {back.code}")


def proven(said: Said, host: Host, desk: Desk) -> None:
    done = desk.console("run", desk.runbook(guarded(GUARD, balanced=True)))
    left = timers(host)
    said.line(done.code == 0 and left == [], f"after the proof (exit {done.code}) no timer is left: {left}")


def fired_and_rebooted(said: Said, host: Host, desk: Desk) -> None:
    """The host is out of reach, its guard fires, and it reboots before it is back; the run was there all the time."""
    set_simulator(host, load_s=10.0, speed=SPEED, crash_s=6.0 * SPEED)
    set_fault(host, "crash-loop", above_context=32768)
    going = restarted(desk, guard="8s", allowed="90s")
    host.run("systemctl", "stop", "ssh.service")
    host.kill_sessions()
    lost = going.wait_for(lambda event: event["type"] == "connection.changed" and event["state"] == "lost")
    log = f"{LEDGER}/{UNIT}/{lost['run']}/guard.log"
    # The engine of before answers for a moment longer: only the guard's own word tells that it has fired.
    fired = remains.wait_until(
        lambda: host.exists(log) and "put back, and restarted" in host.read(log) and serving(host) == 32768,
        90.0,
        every_s=0.1,
    )
    host.reboot()
    done = going.end(timeout_s=240.0)
    met = fired and (done.code, done.outcome) == (4, "rolled-back") and not timers(host) and not desk.open_runs()
    said.line(met, f"fired in an outage, then a reboot: exit {done.code}, {done.outcome}, what serves: {serving(host)}")
