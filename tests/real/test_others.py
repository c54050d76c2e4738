"""Somebody else is at the same unit: another run, another restart."""

from __future__ import annotations

import threading

import pytest

from tests.hosts.engine_unit import UNIT, serving, set_simulator
from tests.hosts.host import Host
from tests.real.conftest import MakeDesk
from tests.real.desk import EXTEND_CONTEXT, Desk
from tests.real.state_of import UNIT_FILE, comes_to_serve, everywhere, lock_is_free, starts

pytestmark = pytest.mark.real_host


def test_of_two_runs_at_once_one_changes(host: Host, make_desk: MakeDesk) -> None:
    set_simulator(host)
    first = starts(host)
    one, two = make_desk([host]), make_desk([host])
    begun = [one.start("run", EXTEND_CONTEXT), two.start("run", EXTEND_CONTEXT)]
    ends = sorted((going.end() for going in begun), key=lambda done: done.code)
    assert ends[0].code == 0, ends[0].err
    assert ends[1].code in (6, 8), ends[1].err
    assert ends[1].outcome == "failed-unchanged"
    assert everywhere(host) == ("200000", "200000", "200000", "200000")
    assert starts(host) == first + 1


def test_second_run_names_who_is_there(host: Host, make_desk: MakeDesk) -> None:
    set_simulator(host, load_s=2000.0)  # the first is in its wait for as long as it takes
    one, two = make_desk([host]), make_desk([host])
    going = one.start("run", EXTEND_CONTEXT, "--reason", "more context")
    going.wait_for_phase("weights")
    refused = two.extend()
    planned = two.console("plan", EXTEND_CONTEXT)
    going.stop()
    done = going.end()
    assert refused.code == 6, refused.err
    assert planned.code == 6, planned.err
    assert done.run_id in refused.err
    assert done.code == 3, done.err
    assert lock_is_free(host)


def test_restart_by_somebody_else_in_our_wait_ends_the_run_there(host: Host, desk: Desk) -> None:
    first = starts(host)
    set_simulator(host, load_s=80.0)
    going = desk.start("run", EXTEND_CONTEXT)
    going.wait_for_phase("weights", "graphs")
    host.run("systemctl", "restart", UNIT)
    theirs = host.show(UNIT, "InvocationID")

    done = going.end()

    assert done.code == 3, done.err
    assert done.outcome == "applied-unverified"
    assert theirs in done.record["message"]
    assert not done.of("undo.started")
    assert " 200000 " in host.read(UNIT_FILE)
    assert host.show(UNIT, "InvocationID") == theirs
    assert starts(host) == first + 2
    (listed,) = desk.open_runs()
    assert listed["id"] == done.run_id


def test_edit_between_run_and_rollback_is_shown_three_ways_and_kept(host: Host, desk: Desk) -> None:
    done = desk.extend()
    assert done.code == 0, done.err
    edited = host.read(UNIT_FILE).replace("--tp-size 8", "--tp-size 4")
    host.write(UNIT_FILE, edited)
    first = starts(host)
    for words in (["rollback", done.run_id], ["rollback", f"{host.name}/k26"]):
        refused = desk.console(*words, "--yes")
        assert refused.code == 8, refused.err
        assert f"what run {done.run_id} changed:" in refused.err
        assert "what somebody changed since:" in refused.err
        assert refused.err.index("+ --context-length 200000") < refused.err.index("- --tp-size 8")
        assert "+ --tp-size 4" in refused.err
    assert host.read(UNIT_FILE) == edited
    assert starts(host) == first
    assert desk.commits()[0].startswith(f"{host.name}/k26: rollback of")


def test_client_from_the_moment_the_port_opens(host: Host, desk: Desk) -> None:
    """Requests that come before the engine is warm, and go on, do not disturb the proof."""
    first = starts(host)
    over = threading.Event()
    answered = []

    def client() -> None:
        body = '{"text": "one two three", "sampling_params": {"max_new_tokens": 8}}'
        ask = ["curl", "-sS", "--max-time", "5", "-o", "/dev/null", "-w", "%{http_code}", "-d", body]
        ask += ["-H", "Content-Type: application/json", "http://127.0.0.1:30000/generate"]
        while not over.is_set():
            done = host.run(*ask, check=False)
            if done.stdout == b"200" and serving(host) == 200000:
                answered.append(done)
            over.wait(0.02)

    thread = threading.Thread(target=client)
    going = desk.start("run", EXTEND_CONTEXT)
    going.wait_for(lambda event: event["type"] == "change.intended" and event["kind"] == "restart")
    thread.start()
    try:
        done = going.end()
    finally:
        over.set()
        thread.join()
    assert done.code == 0, done.err
    assert done.outcome == "verified"
    assert starts(host) == first + 1
    assert comes_to_serve(host, 200000)
    assert answered
