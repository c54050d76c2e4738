"""The network is gone for a while. Slow, so what happens is set up once, on several hosts at a time."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.hosts.engine_unit import UNIT, install_engine, set_simulator
from tests.hosts.fleet import Fleet
from tests.hosts.host import Host
from tests.real.desk import EXTEND_CONTEXT, Desk, Done
from tests.real.held import held
from tests.real.state_of import LEDGER, UNIT_FILE, everywhere, lock_is_free, starts

pytestmark = [pytest.mark.real_host, pytest.mark.slow]

SPEED = 20.0  # of the simulator


@dataclass(frozen=True)
class Story:
    """What became of one run."""

    done: Done
    everywhere: tuple[str, str, str, str]
    restarts: int
    ledger: str
    lock_is_free: bool
    listed: list[str]  # open runs
    next: Done | None = None


def end_of(host: Host, desk: Desk, done: Done, first: int, after: Done | None = None) -> Story:
    return Story(
        done=done,
        everywhere=everywhere(host),
        restarts=starts(host) - first,
        ledger=host.read(f"{LEDGER}/{UNIT}/{(after or done).run_id}/change.json"),
        lock_is_free=lock_is_free(host),
        listed=[entry["id"] for entry in desk.open_runs()],
        next=after,
    )


def cut_in_the_wait(cut_s: float, load_s: float) -> Callable[[Host, Desk], Story]:
    def play(host: Host, desk: Desk) -> Story:
        install_engine(host, load_s=10.0)
        first = starts(host)
        set_simulator(host, load_s=load_s * SPEED)
        going = desk.start("run", EXTEND_CONTEXT)
        going.wait_for_phase("weights")
        with host.cut_off():
            time.sleep(cut_s)
            assert going.process.poll() is None, "the run did not outlive the connection"
        return end_of(host, desk, going.end(), first)

    return play


def gone_in_a_change(host: Host, desk: Desk) -> Story:
    """The host does its part, but nobody can see it for longer than a run waits; then it is back."""
    install_engine(host, load_s=10.0)
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


STORIES: dict[str, Callable[[Host, Desk], Story]] = {
    "60 s": cut_in_the_wait(60.0, load_s=75.0),
    "12 s": cut_in_the_wait(12.0, load_s=20.0),
    "in a change": gone_in_a_change,
}


@pytest.fixture(scope="module")
def stories(fleet: Fleet, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Story]:
    """All of them, told at the same time."""
    hosts = fleet.fresh(len(STORIES))
    folder: Path = tmp_path_factory.mktemp("cut")

    def tell(host: Host, name: str) -> Story:
        return STORIES[name](host, Desk(folder / name.replace(" ", "-"), [host]))

    with ThreadPoolExecutor(len(STORIES)) as pool:
        telling = {name: pool.submit(tell, host, name) for host, name in zip(hosts, STORIES, strict=True)}
        return {name: told.result() for name, told in telling.items()}


@pytest.mark.parametrize("name", ["60 s", "12 s"])
def test_run_outlives_a_cut_in_the_wait(stories: dict[str, Story], name: str) -> None:
    story = stories[name]
    assert story.done.code == 0, story.done.err
    assert story.done.outcome == "verified"
    assert story.everywhere == ("200000", "200000", "200000", "200000")
    assert story.restarts == 1
    assert '"state": "verified"' in story.ledger
    assert story.lock_is_free
    assert story.listed == []
    # The host let go of the lock meanwhile, and it was taken again before the run went on.
    assert [event["state"] for event in story.done.of("lock.changed")] == ["held", "lost", "held", "released"]


def test_change_that_nobody_could_see_is_unknown_until_somebody_looks(stories: dict[str, Story]) -> None:
    story = stories["in a change"]
    assert story.done.code == 9, story.done.err
    assert story.done.outcome == "unknown"
    assert not story.done.of("undo.started")
    assert story.next is not None
    assert story.next.code == 0, story.next.err
    assert story.next.outcome == "verified"
    assert story.everywhere == ("200000", "200000", "200000", "200000")
    assert story.restarts == 1
    assert story.listed == []
