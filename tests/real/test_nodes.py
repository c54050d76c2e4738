"""An engine on two hosts, declared with `nodes`: edited on both, stopped on both, started on both, put back on both.

The rank that serves nothing is a process that waits; a window above 150,000 ends it at once.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from tests.hosts.engine_unit import FOLDER, UNIT, install_simulator, serving, set_simulator, start_and_wait, unit_text
from tests.hosts.host import Host
from tests.real.conftest import MakeDesk
from tests.real.desk import EXTEND_CONTEXT, Desk
from tests.real.ready import QUICK_LOAD_S, Ready
from tests.real.state_of import LEDGER, UNIT_FILE, flag, lock_is_free

pytestmark = pytest.mark.real_host

RANK = """\
import sys
import time

window = int(sys.argv[sys.argv.index("--context-length") + 1])
if window > 150000 and "--strict" in sys.argv:
    sys.exit("ValueError: window too large for this rank")
time.sleep(100000)
"""


def rank_text(rank: int, *switches: str) -> str:
    flags: dict[str, str | int | float] = {
        "--nnodes": 2,
        "--node-rank": rank,
        "--tp-size": 16,
        "--dist-init-addr": "gpu1:5000",
    }
    return unit_text(flags=flags, switches=("--trust-remote-code", *switches))


def install_rank(host: Host, *switches: str) -> None:
    """Rank 1 in the place of the engine that was there."""
    host.run("systemctl", "stop", UNIT)
    host.run("rm", "-r", f"{FOLDER}/simulator")
    host.write(f"{FOLDER}/simulator/__main__.py", RANK)
    host.write_unit(UNIT, rank_text(1, *switches))
    host.run("systemctl", "restart", UNIT)


@pytest.fixture
def pair(ready: Ready) -> Iterator[list[Host]]:
    """Rank 0 and rank 1."""
    hosts = [ready.take(), ready.take()]
    install_simulator(hosts[0], load_s=QUICK_LOAD_S)
    hosts[0].write_unit(UNIT, rank_text(0))
    start_and_wait(hosts[0])
    install_rank(hosts[1])
    yield hosts
    for host in hosts:
        ready.give_back(host)


@pytest.fixture
def desk(pair: list[Host], make_desk: MakeDesk) -> Desk:
    return make_desk(pair, one_engine=True)


def windows(pair: list[Host]) -> list[tuple[str, str, str]]:
    """Of each rank: on disk, as loaded, and in its process."""
    return [
        (
            flag(host.read(UNIT_FILE).replace("\\\n", " ").split()),
            flag(host.show(UNIT, "ExecStart").split()),
            flag(host.main_argv(UNIT)),
        )
        for host in pair
    ]


def test_all_ranks_together_and_back_from_elsewhere(pair: list[Host], desk: Desk, make_desk: MakeDesk) -> None:
    before = [host.read_bytes(UNIT_FILE) for host in pair]
    planned = desk.console("plan", EXTEND_CONTEXT)
    doctor = desk.console("doctor", "--sudoers")

    assert [line for line in doctor.out.splitlines() if line.startswith("# on ")] == [
        f"# on {host.name}, rank {rank}:" for rank, host in enumerate(pair)
    ]
    assert doctor.out.count(f"/usr/bin/systemctl stop --no-block -- {UNIT}") == 2

    assert planned.code == 0, planned.err
    assert f"on {pair[1].name}:" in planned.out
    assert [host.read_bytes(UNIT_FILE) for host in pair] == before

    done = desk.extend()

    assert done.code == 0, done.err
    assert done.outcome == "verified"
    assert windows(pair) == [("200000",) * 3] * 2
    assert serving(pair[0]) == 200000
    # No rank was started while another one was still up: the first start comes after the last end.
    ended = [int(host.show(UNIT, "InactiveEnterTimestampMonotonic")) for host in pair]
    begun = [int(host.show(UNIT, "InactiveExitTimestampMonotonic")) for host in pair]
    assert ended[0] <= ended[1] < min(begun)
    assert [host.exists(f"{LEDGER}/{UNIT}/{done.run_id}/change.json") for host in pair] == [True, True]
    nodes = [node for event in done.of("facts.read") for node in event["facts"]["nodes"]]
    assert nodes
    assert not any("environment" in node["process"] for node in nodes)
    assert len(desk.commits()) == 1
    assert desk.trailers()["Change"] == ["context_length 32768 -> 200000"]
    said = pair[1].out("sh", f"{LEDGER}/{UNIT}/{done.run_id}/undo.sh", "--no-restart")
    assert f"rank 0, {UNIT} on {pair[0].name}" in said
    pair[1].run("sed", "-i", "s/ 32768 / 200000 /", UNIT_FILE)
    pair[1].run("systemctl", "daemon-reload")

    back = make_desk(pair, one_engine=True).console("rollback", f"{pair[0].name}/k26", "--yes")

    assert back.code == 0, back.err
    assert [host.read_bytes(UNIT_FILE) for host in pair] == before
    assert windows(pair) == [("32768",) * 3] * 2
    assert serving(pair[0]) == 32768
    assert all(lock_is_free(host) for host in pair)


def test_a_rank_that_cannot_start_takes_all_of_them_back(pair: list[Host], desk: Desk) -> None:
    pair[1].write_unit(UNIT, rank_text(1, "--strict"))
    pair[1].run("systemctl", "restart", UNIT)
    before = [host.read_bytes(UNIT_FILE) for host in pair]

    done = desk.extend(timeout_s=60)

    assert done.code == 4, done.err
    assert "restarted" in done.record["message"]
    assert [host.read_bytes(UNIT_FILE) for host in pair] == before
    assert windows(pair) == [("32768",) * 3] * 2
    assert serving(pair[0]) == 32768
    assert all(lock_is_free(host) for host in pair)


@pytest.mark.by_hand
@pytest.mark.parametrize(
    ("at", "word", "window"),
    [("file", "rollback", "32768"), ("restart", "rollback", "32768"), ("restart", "resume", "200000")],
)
def test_a_killed_run_is_finished_on_all_of_them(pair: list[Host], desk: Desk, at: str, word: str, window: str) -> None:
    """Killed while the second host's file is written, and while the ranks are stopped and started."""
    before = [host.read_bytes(UNIT_FILE) for host in pair]
    going = desk.start("run", EXTEND_CONTEXT)
    going.wait_for(
        lambda event: (
            event["type"] == "change.intended"
            and event["change"]["kind"] == at
            and (at != "file" or event["change"]["node"] == pair[1].name)
        )
    )
    going.stop(signal.SIGKILL)
    killed = going.end()
    closed = desk.console("recover")
    assert closed.code in (0, 3, 9), closed.err

    again = desk.console(word, killed.run_id, "--yes")

    assert again.code == 0, again.err
    assert [host.read_bytes(UNIT_FILE) for host in pair] == [text.replace(b"32768", window.encode()) for text in before]
    assert windows(pair) == [(window,) * 3] * 2
    assert serving(pair[0]) == int(window)
    assert desk.open_runs() == []


@pytest.mark.by_hand
def test_a_stop_in_the_wait_puts_all_of_them_back(pair: list[Host], desk: Desk) -> None:
    set_simulator(pair[0], load_s=200.0)
    before = [host.read_bytes(UNIT_FILE) for host in pair]
    going = desk.start("run", EXTEND_CONTEXT, "--on-abort", "rollback")
    going.wait_for_phase("weights", "starting")
    set_simulator(pair[0], load_s=QUICK_LOAD_S)
    going.stop(signal.SIGINT)

    done = going.end()

    assert done.code == 4, done.err
    assert [host.read_bytes(UNIT_FILE) for host in pair] == before
    assert windows(pair) == [("32768",) * 3] * 2
    assert serving(pair[0]) == 32768
    assert all(lock_is_free(host) for host in pair)


@pytest.mark.by_hand
def test_a_rank_whose_connection_dies_under_the_restart_is_found_again(pair: list[Host], desk: Desk) -> None:
    going = desk.start("run", EXTEND_CONTEXT)
    going.wait_for(lambda event: event["type"] == "change.intended" and event["change"]["kind"] == "restart")
    pair[1].run("pkill", "-KILL", "-f", "sshd: root")

    done = going.end()

    assert done.code == 0, done.err
    assert "lost" in [event["state"] for event in done.of("lock.changed")]
    assert windows(pair) == [("200000",) * 3] * 2
    assert serving(pair[0]) == 200000
