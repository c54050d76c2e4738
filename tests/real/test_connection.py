"""The connection dies under a run, or never comes about. Between its changes it does so in test_matrix.py."""

from __future__ import annotations

import time
from dataclasses import dataclass

import pytest

from tests.hosts.engine_unit import UNIT, install_engine, set_simulator, unit_text
from tests.hosts.host import Host
from tests.real.desk import EXTEND_CONTEXT, Desk, Done
from tests.real.held import held
from tests.real.ready import QUICK_LOAD_S
from tests.real.state_of import LEDGER, UNIT_FILE, everywhere, lock_is_free, snapshot, starts
from tests.runbooks import without_step

pytestmark = pytest.mark.real_host


def is_whole(host: Host, done: Done, first: int) -> None:
    """The job is done as if nothing had happened: proven, one restart, nothing left behind."""
    assert done.code == 0, done.err
    assert done.outcome == "verified"
    assert everywhere(host) == ("200000", "200000", "200000", "200000")
    assert starts(host) == first + 1
    assert host.out("sh", "-c", "find /etc/systemd/system -name '.*'") == ""
    assert '"state": "verified"' in host.read(f"{LEDGER}/{UNIT}/{done.run_id}/change.json")
    assert lock_is_free(host)
    assert "connected" in [event["state"] for event in done.of("connection.changed") if event["state"] != "closed"][1:]


def test_sessions_killed_in_the_wait(host: Host, desk: Desk) -> None:
    set_simulator(host)  # long enough to be met in the wait
    first = starts(host)
    going = desk.start("run", EXTEND_CONTEXT)
    going.wait_for_phase("weights", "graphs")
    assert host.kill_sessions() >= 1
    is_whole(host, going.end(), first)


def test_sessions_killed_before_the_first_change(host: Host, desk: Desk) -> None:
    """What is owed to the host first, its entry in the ledger, is written again."""
    first = starts(host)
    with held(host, "tee", "*/.change.json.new*") as point:
        going = desk.start("run", EXTEND_CONTEXT)
        assert point.reached()
        assert host.kill_sessions() >= 1
        point.release()
        done = going.end()
    is_whole(host, done, first)
    assert not [event for event in done.events if event["type"] == "change.undone"]


def test_sessions_killed_while_the_old_state_comes_back(host: Host, desk: Desk) -> None:
    install_engine(host, unit_text(flags={"--mem-fraction-static": 0.85}), load_s=QUICK_LOAD_S)
    before, first = host.read_bytes(UNIT_FILE), starts(host)
    going = desk.start("run", desk.runbook(without_step("capacity.check")))
    going.wait_for(lambda event: event["type"] == "undo.started")
    assert host.kill_sessions() >= 1
    going.wait_for(lambda event: event["type"] == "change.undone" and event["kind"] == "restart")
    assert host.kill_sessions() >= 1
    done = going.end()
    assert done.code == 4, done.err
    assert host.read_bytes(UNIT_FILE) == before
    assert everywhere(host) == ("32768", "32768", "32768", "32768")
    assert starts(host) == first + 2
    assert lock_is_free(host)
    assert '"state": "rolled-back"' in host.read(f"{LEDGER}/{UNIT}/{done.run_id}/change.json")


@dataclass(frozen=True)
class Inside:
    """A call of a script of ours, by program and words; `done`: it has happened, and only its answer is missing."""

    program: str
    pattern: str
    done: bool = False


CALLS = {
    "before the rename": Inside("mv", "*.console-*"),
    "after the rename": Inside("mv", "*.console-*", done=True),
    "before the reload": Inside("systemctl", "*daemon-reload*"),
    "before the restart": Inside("systemctl", "*restart*"),
    "after the restart": Inside("systemctl", "*restart*", done=True),
}


# At once: it is over before anybody can look. Later: a look would come too early.
@pytest.mark.parametrize(
    ("where", "stands_s"), [("before the rename", 0.0), ("before the restart", 0.0), *((where, 2.0) for where in CALLS)]
)
def test_sessions_killed_inside_a_step(host: Host, desk: Desk, where: str, stands_s: float) -> None:
    """What was under way on the host goes on without us: it is waited for, and never done a second time."""
    first = starts(host)
    call = CALLS[where]
    with held(host, call.program, call.pattern, done=call.done) as point:
        going = desk.start("run", EXTEND_CONTEXT)
        assert point.reached()
        assert host.kill_sessions() >= 1
        time.sleep(stands_s)
        point.release()
        done = going.end()
        assert point.calls == 1
    is_whole(host, done, first)
    (intended,) = [event for event in done.of("change.intended") if event["kind"] == KIND[call.pattern]]
    (made,) = [event for event in done.of("change.made") if event["kind"] == KIND[call.pattern]]
    assert intended["change"] == made["change"]


KIND = {"*.console-*": "file", "*daemon-reload*": "reload", "*restart*": "restart"}


def test_host_that_does_not_answer(host: Host, desk: Desk) -> None:
    before = snapshot(host)
    with host.cut_off():
        done = desk.extend()
    assert done.code == 7, done.err
    assert done.outcome == "failed-unchanged"
    assert host.address in done.err
    assert snapshot(host) == before


def test_unknown_and_changed_keys_are_told_apart(host: Host, desk: Desk) -> None:
    before = snapshot(host)
    known = host.known_hosts.read_text()
    stranger = desk.folder / "stranger"
    host.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "/root/other")
    other = host.read("/root/other.pub").split()
    stranger.write_text(f"{host.address} {other[0]} {other[1]}\n")
    nobody = desk.folder / "nobody"
    nobody.write_text("")
    text = desk.inventory.read_text()
    said = {}
    for file in (stranger, nobody):
        desk.inventory.write_text(text.replace(str(host.known_hosts), str(file)))
        done = desk.extend()
        assert done.code == 7, done.err
        assert done.outcome == "failed-unchanged"
        said[file] = done
    assert host.known_hosts.read_text() == known
    assert snapshot(host) == before
    (changed,) = [event["error"]["kind"] for event in said[stranger].of("step.finished") if event["error"]]
    (unknown,) = [event["error"]["kind"] for event in said[nobody].of("step.finished") if event["error"]]
    assert (changed, unknown) == ("HostKeyChanged", "HostKeyUnknown")
    assert "console hosts trust" in said[nobody].err
    assert "console hosts trust" not in said[stranger].err
    # Both say which key the host has, so that it can be compared.
    shown = host.out("ssh-keygen", "-lf", "/etc/ssh/ssh_host_ed25519_key.pub").split()[1]
    assert all(shown in done.err.replace("\n    ", "") for done in said.values())
