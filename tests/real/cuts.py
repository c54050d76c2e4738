"""Runs whose network is cut. Each takes a minute, so they go on beside the other tests."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.hosts.engine_unit import UNIT, install_engine, set_simulator
from tests.hosts.fleet import Fleet
from tests.hosts.host import Host
from tests.real.desk import EXTEND_CONTEXT, Desk, Done
from tests.real.held import held
from tests.real.ready import QUICK_LOAD_S
from tests.real.state_of import LEDGER, UNIT_FILE, everywhere, lock_is_free, starts

SPEED = 20.0  # of the simulator


@dataclass(frozen=True)
class Story:
    """What became of one run. `next`: what was done about it."""

    done: Done
    everywhere: tuple[str, str, str, str]
    restarts: int
    ledger: str
    lock_is_free: bool
    open_runs: list[str]
    next: Done | None = None


Play = Callable[[Host, Desk, threading.Event], Story]


def cut_in_the_wait(cut_s: float, load_s: float) -> Play:
    def play(host: Host, desk: Desk, over: threading.Event) -> Story:
        first = starts(host)
        set_simulator(host, load_s=load_s * SPEED)
        going = desk.start("run", EXTEND_CONTEXT)
        going.wait_for_phase("weights")
        with host.cut_off():
            over.wait(cut_s)
            assert going.process.poll() is None, "the run did not outlive the connection"
        return end_of(host, desk, going.end(), first)

    return play


def gone_in_a_change(host: Host, desk: Desk, over: threading.Event) -> Story:
    """The host does its part, but nobody can see it for longer than a run waits; then it is back."""
    first = starts(host)
    with held(host, "mv", "*.console-*") as point:
        going = desk.start("run", EXTEND_CONTEXT)
        assert point.reached()
        host.run("systemctl", "stop", "ssh.service")
        host.kill_sessions()
        point.release()
        done = going.end()
    assert " 200000 " in host.read(UNIT_FILE)
    host.run("systemctl", "start", "ssh.service")
    assert [entry["id"] for entry in desk.open_runs()] == [done.run_id]
    return end_of(host, desk, done, first, desk.console("resume", done.run_id, "--yes"))


def end_of(host: Host, desk: Desk, done: Done, first: int, after: Done | None = None) -> Story:
    return Story(
        done=done,
        everywhere=everywhere(host),
        restarts=starts(host) - first,
        ledger=host.read(f"{LEDGER}/{UNIT}/{(after or done).run_id}/change.json"),
        lock_is_free=lock_is_free(host),
        open_runs=[entry["id"] for entry in desk.open_runs()],
        next=after,
    )


PLAYS: dict[str, Play] = {
    "60 s": cut_in_the_wait(60.0, load_s=75.0),
    "12 s": cut_in_the_wait(12.0, load_s=20.0),
    "in a change": gone_in_a_change,
}


class Cuts:
    """All of them, each on a host of its own."""

    def __init__(self, fleet: Fleet, folder: Path) -> None:
        self.over = threading.Event()
        self.pool = ThreadPoolExecutor(len(PLAYS))
        self.desks = {
            name: Desk(folder / name.replace(" ", "-"), [host]) for host, name in zip(fleet.hosts, PLAYS, strict=True)
        }
        self.going: dict[str, Future[Story]] = {
            name: self.pool.submit(self._play, host, name) for host, name in zip(fleet.hosts, PLAYS, strict=True)
        }

    def _play(self, host: Host, name: str) -> Story:
        install_engine(host, load_s=QUICK_LOAD_S)
        return PLAYS[name](host, self.desks[name], self.over)

    def story(self, name: str) -> Story:
        return self.going[name].result()

    def close(self) -> None:
        """End what nobody waited for."""
        self.over.set()
        for desk in self.desks.values():
            desk.close()
        self.pool.shutdown()
