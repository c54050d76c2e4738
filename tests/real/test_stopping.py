"""A person stops a run: in the wait, and before anything runs the new setting."""

from __future__ import annotations

import signal
import time
from datetime import datetime

import pytest

from tests.hosts import remains
from tests.hosts.engine_unit import UNIT, set_simulator
from tests.hosts.host import Host
from tests.real.conftest import MakeDesk
from tests.real.desk import EXTEND_CONTEXT, Desk, Done, Event
from tests.real.ready import QUICK_LOAD_S
from tests.real.state_of import UNIT_FILE, comes_to_serve, everywhere, lock_is_free, starts

pytestmark = pytest.mark.real_host

# Long enough to be met in the wait; then stopped, resumed, and waited for.
LOAD_S = 160.0
# The stop ended the wait and not the load; how fast it does, `python -m bench.stop` measures.
PROMPTLY_S = 15.0

STOPS_BEFORE_THE_RESTART = """\
schema = 1
name = "stops-before-the-restart"
title = "Write, look around for long, restart"
on_failure = "rollback"
unattended = "proceed"

[[step]]
uses = "unit.set"
setting = "context_length"
to = 200000

[[step]]
uses = "systemd.daemon_reload"

[[step]]
uses = "host.command"
command = "sleep 47"
mutates = false

[[step]]
uses = "service.restart"

[[step]]
uses = "service.wait_ready"

[[step]]
uses = "service.verify"
"""


def at(event: Event) -> float:
    """When an event was written, in seconds since the epoch."""
    return datetime.fromisoformat(event["ts"]).timestamp()


def stopped_in_the_wait(host: Host, desk: Desk, number: int = signal.SIGINT) -> tuple[Done, float]:
    """A run stopped while the engine loads, and when that was."""
    set_simulator(host, load_s=LOAD_S)
    going = desk.start("run", EXTEND_CONTEXT)
    going.wait_for_phase("weights", "graphs")
    stopped_at = going.stop(number)
    return going.end(), stopped_at


def test_stop_in_the_wait_then_resume(host: Host, desk: Desk) -> None:
    first = starts(host)

    done, stopped_at = stopped_in_the_wait(host, desk)

    assert done.code == 3, done.err
    assert done.outcome == "applied-unverified"
    assert done.record["live"] is True
    assert stopped_at <= at(done.step("service.wait_ready")) <= at(done.of("record.saved")[0]) <= done.ended_at
    assert done.ended_at - stopped_at < PROMPTLY_S
    assert desk.trailers()["Outcome"] == ["applied-unverified"]
    assert lock_is_free(host)
    (listed,) = desk.open_runs()
    assert listed["id"] == done.run_id
    assert list(listed["open_targets"]) == [f"{host.name}/k26"]
    assert f"console resume {done.run_id}" in listed["next"]
    assert f"console rollback {done.run_id}" in listed["next"]

    resumed = desk.console("resume", done.run_id, "--yes")

    assert resumed.code == 0, resumed.err
    assert resumed.outcome == "verified"
    assert resumed.record["parent"] == done.run_id
    assert everywhere(host) == ("200000", "200000", "200000", "200000")
    assert resumed.finding("prompt_tokens") > 32768
    assert starts(host) == first + 1
    assert desk.open_runs() == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_other_signals_stop_it_too_and_rollback_ends_it(host: Host, desk: Desk, number: int) -> None:
    before, first = host.read_bytes(UNIT_FILE), starts(host)

    done, stopped_at = stopped_in_the_wait(host, desk, number)

    assert done.code == 3, done.err
    assert done.ended_at - stopped_at < PROMPTLY_S
    set_simulator(host, load_s=QUICK_LOAD_S)
    back = desk.console("rollback", done.run_id, "--yes")
    assert back.code == 0, back.err
    assert back.outcome == "verified"
    assert host.read_bytes(UNIT_FILE) == before
    assert everywhere(host) == ("32768", "32768", "32768", "32768")
    assert starts(host) == first + 2
    assert desk.open_runs() == []


def test_stop_in_the_wait_that_rolls_back(host: Host, desk: Desk) -> None:
    before = host.read_bytes(UNIT_FILE)
    set_simulator(host, load_s=LOAD_S)
    going = desk.start("run", EXTEND_CONTEXT, "--on-abort", "rollback")
    going.wait_for_phase("weights", "graphs")
    set_simulator(host, load_s=QUICK_LOAD_S)
    going.stop()
    done = going.end()
    assert done.code == 4, done.err
    assert host.read_bytes(UNIT_FILE) == before
    assert everywhere(host) == ("32768", "32768", "32768", "32768")


def test_stop_before_the_restart_puts_the_file_back(host: Host, desk: Desk) -> None:
    before, invocation = host.read_bytes(UNIT_FILE), host.show(UNIT, "InvocationID")
    going = desk.start("run", desk.runbook(STOPS_BEFORE_THE_RESTART))
    going.wait_for(lambda event: event["type"] == "step.started" and event["uses"] == "host.command")
    assert host.read_bytes(UNIT_FILE) != before
    assert comes_about(host, "sleep 47")

    going.stop()
    done = going.end()

    assert done.code == 130, done.err
    assert done.outcome == "aborted-unchanged"
    assert host.read_bytes(UNIT_FILE) == before
    assert everywhere(host) == ("32768", "32768", "32768", "32768")
    assert host.show(UNIT, "NeedDaemonReload") == "no"
    assert host.show(UNIT, "InvocationID") == invocation
    assert lock_is_free(host)
    assert desk.open_runs() == []
    # What was under way on the host is stopped as well.
    assert not comes_about(host, "sleep 47", patience_s=0)


def comes_about(host: Host, command: str, patience_s: float = 10.0) -> bool:
    return remains.wait_until(
        lambda: host.run("pgrep", "--exact", "--full", command, check=False).returncode == 0, patience_s, every_s=0.05
    )


COMMANDS = """\
schema = 1
name = "long-command"
title = "A command that takes long and leaves something behind"
unattended = "proceed"

[[step]]
uses = "host.command"
command = "setsid sleep 1001 & sleep 1002"
undo = "true"
sudo = true
timeout = "20m"
"""


@pytest.mark.parametrize("user", ["root", "ops"])
def test_stop_in_a_command_ends_it_on_the_host(host: Host, make_desk: MakeDesk, user: str) -> None:
    if user != "root":
        host.add_user(user, sudo=True)
    desk = make_desk([host], user=user)
    going = desk.start("run", desk.runbook(COMMANDS))
    assert comes_about(host, "sleep 1001", patience_s=60.0)
    assert comes_about(host, "sleep 1002")
    stopped_at = going.stop()
    gone = remains.wait_until(lambda: sleepers(host) == "", 10.0, every_s=0.05)
    took_s = time.time() - stopped_at
    done = going.end()
    assert gone
    assert took_s < PROMPTLY_S
    assert done.code == 130, done.err
    (ended,) = [event for event in done.of("step.finished") if event["uses"] == "host.command"]
    assert ended["outcome"] == "aborted"
    assert "it was stopped on the host" in ended["message"]
    assert lock_is_free(host)


def sleepers(host: Host) -> str:
    return host.run("pgrep", "--full", "sleep 100[12]", check=False).stdout.decode().strip()


def test_stop_before_anything_is_asked_changes_nothing(host: Host, desk: Desk) -> None:
    before, first = host.read_bytes(UNIT_FILE), starts(host)
    going = desk.start("run", EXTEND_CONTEXT)
    going.wait_for(lambda event: event["type"] == "plan.made")
    going.stop()
    done = going.end()
    assert done.code == 130, done.err
    assert host.read_bytes(UNIT_FILE) == before
    assert starts(host) == first
    assert lock_is_free(host)


def test_loaded_service_is_not_touched_by_a_stop_after_the_proof(host: Host, desk: Desk) -> None:
    """A stop that comes too late changes nothing of what is proven."""
    going = desk.start("run", EXTEND_CONTEXT)
    going.wait_for(lambda event: event["type"] == "service.verified")
    going.stop()
    done = going.end()
    assert done.code in (0, 10), done.err
    assert comes_to_serve(host, 200000)
