"""The interrupt matrix of the main job on real hosts: every way to be interrupted, between its events and inside.

`python -m tests.real.matrix` (root) runs all cells, at every boundary and inside every action, and prints the table;
`--cells change` only those at a change's own events, `--cells inside` only those inside an action, `--share 0.1 --seed
7` a part of what is not a change's own. Exit status 1 when a cell is wrong.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from tests.hosts import remains
from tests.hosts.commands import CommandError
from tests.hosts.engine_unit import UNIT, install_engine, serving, set_simulator, unit_text
from tests.hosts.fleet import Fleet
from tests.hosts.host import Host
from tests.real import inside
from tests.real.desk import EXTEND_CONTEXT, Desk, Done
from tests.real.state_of import UNIT_FILE, comes_to_serve, lock_is_free, starts

KINDS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGKILL", "cut", "reboot")
LOAD_S = 6.0  # of the simulator, which is twenty times as fast: 0.3 s
WORDS = ("run", EXTEND_CONTEXT, "--set", "measure=false")
# What may be said of a host whose unit file is as before, and of one where it is as after.
BEFORE = frozenset(
    {"rolled-back", "aborted-unchanged", "failed-unchanged", "no-change", "not-started", "rollback-failed"}
)
AFTER = frozenset({"verified", "verified-incomplete", "applied-unverified", "rollback-failed"})
SETTLED = frozenset({"verified", "verified-incomplete"})


@dataclass(frozen=True)
class Cell:
    """One interruption: how, and after which event of the run, or inside which action.

    `label`: that event's type and kind, or the action's name; `number`: the event's, or the action's place in the list.
    """

    kind: str
    number: int
    label: str
    is_inside: bool = False

    @property
    def of_a_change(self) -> bool:
        return self.label.startswith("change.")

    @property
    def verb(self) -> str:
        """How it is finished where it stays open: half of the cells of a moment, and of a kind, this way."""
        return ("rollback", "resume")[(self.number + KINDS.index(self.kind)) % 2]


@dataclass
class Result:
    """What became of a cell. `wrong` is empty where everything agreed."""

    cell: Cell
    outcome: str = ""
    exit_code: int = 0
    then: str = ""
    wrong: list[str] = field(default_factory=list)
    took_s: float = 0.0


def cells_of(events: Sequence[dict[str, Any]], kinds: Sequence[str]) -> Iterator[Cell]:
    """Every boundary of a whole run, with every kind of interruption."""
    for event in events[:-1]:
        name = event["type"] + (f" {event['kind']}" if event["type"].startswith("change.") else "")
        for kind in kinds:
            yield Cell(kind, event["seq"], name)
    for number, action in enumerate(inside.ACTIONS):
        for kind in kinds:
            yield Cell(kind, number, f"in {action.name}", is_inside=True)


def chosen(cells: Sequence[Cell], *, only: str, share: float, seed: int, numbers: Sequence[int] = ()) -> list[Cell]:
    """All cells of changes, and a seeded share of the rest; or those of these numbers."""
    here = [cell for cell in cells if cell.is_inside or only != "inside"]
    if numbers:
        return [cell for cell in here if cell.number in numbers and cell.is_inside == (only == "inside")]
    rest = [cell for cell in here if not cell.of_a_change]
    some = random.Random(seed).sample(rest, round(share * len(rest))) if only != "change" else []
    some.sort(key=rest.index)
    return [cell for cell in here if cell.of_a_change] + some


def play(cell: Cell, host: Host, folder: Path) -> Result:
    """Interrupt a run there, then see that everything told is so, and that it can be finished."""
    result = Result(cell)
    begun = time.monotonic()
    as_at_first(host)
    before, first = host.read_bytes(UNIT_FILE), starts(host)
    after = before.replace(b" 32768 ", b" 200000 ")
    desk = Desk(folder, [host])
    try:
        done = interrupted(cell, host, desk)
        judge(result, host, desk, done, before, after)
        if not inside.is_in_balancer(host):
            put_in(result, host, desk, done)
        # After a reboot the next run takes it away: nobody of this one is left to.
        if cell.kind != "reboot" and (left := host.out("find", "/etc/systemd/system", "-name", ".*")):
            result.wrong.append(f"half a file is left: {left}")
        if cell.kind == "cut" and cell.of_a_change and (done.code, result.outcome) != (0, "verified"):
            result.wrong.append("the run did not outlive its connection")
        if cell.kind != "reboot" and (restarts := starts(host) - first) != (told := restarts_told(desk)):
            result.wrong.append(f"{restarts} starts in the journal, {told} in the logs of the runs")
        if twice := inside.commits_twice(desk):
            result.wrong.append(f"committed twice: {', '.join(twice)}")
    except (AssertionError, CommandError) as error:  # a table with a wrong cell tells more than none
        result.wrong.append((str(error).splitlines() or [type(error).__name__])[0])
    finally:
        desk.close()
        host.run("sh", "-c", "systemctl stop 'console-guard-*'; rm -f /etc/systemd/system/console-guard-*", check=False)
    result.took_s = time.monotonic() - begun
    return result


def as_at_first(host: Host) -> None:
    """The engine with the old setting. What the cell before left is used where it is that already."""
    host.run("find", "/etc/systemd/system", "-name", ".*.console-*", "-delete")
    if host.seen(UNIT_FILE).exists() and host.read(UNIT_FILE) == unit_text() and serving(host) == 32768:
        set_simulator(host, load_s=LOAD_S)
    else:
        install_engine(host, load_s=LOAD_S)


def interrupted(cell: Cell, host: Host, desk: Desk) -> Done:
    if cell.is_inside:
        return inside.interrupted_inside(inside.ACTIONS[cell.number], cell.kind, host, desk, WORDS)
    if cell.kind.startswith("SIG"):
        return desk.console(*WORDS, environment={"CONSOLE_TEST_KILL_AFTER": f"{cell.number}:{cell.kind}"})
    going = desk.start(*WORDS)
    try:
        going.wait_for(lambda event: event["seq"] >= cell.number)
    except AssertionError:
        return going.end()  # it was over before
    if cell.kind == "cut":
        host.kill_sessions()
    else:
        host.reboot()
    return going.end(timeout_s=240.0)


def judge(result: Result, host: Host, desk: Desk, done: Done, before: bytes, after: bytes) -> None:
    """Compare what was said with the host; then finish what is open and compare again."""
    wrong = result.wrong
    result.exit_code = done.code
    if host.read_bytes(UNIT_FILE) not in (before, after):
        wrong.append("the unit file is neither as before nor as after")
    if done.code < 0:
        if done.code != -signal.SIGKILL:
            wrong.append(f"ended by signal {-done.code}")
        recovered(wrong, desk)
    result.outcome = outcome_of(desk, done)
    waiting = desk.open_runs()
    compare(wrong, result.outcome, host, after, left_out=any(run["left_out"] for run in waiting))
    if result.outcome in ("applied-unverified", "unknown", "rollback-failed") and not waiting:
        wrong.append(f"{result.outcome}, and console runs shows nothing open")
    if not waiting:
        result.then = "closed"
        idle = done.code < 0 and host.read_bytes(UNIT_FILE) == before
        settled_as(wrong, host, 200000 if host.read_bytes(UNIT_FILE) == after else 32768, idle=idle)
        return
    result.then = verb = result.cell.verb
    ended = desk.console(verb, waiting[0]["id"], "--yes", timeout_s=240.0)
    if ended.code != 0:
        wrong.append(f"{verb}: exit {ended.code}: {ended.err.strip().splitlines()[-1:]}")
    window = 200000 if host.read_bytes(UNIT_FILE) == after else 32768
    if verb == "rollback" and window != 32768:
        wrong.append("rolled back, and the unit file is as after")
    settled_as(wrong, host, window)
    if desk.open_runs():
        wrong.append("still open after that")


def recovered(wrong: list[str], desk: Desk) -> None:
    """A run that was killed is shown to need it; done twice it is committed once."""
    if not all(run["needs_recover"] for run in desk.open_runs()):
        wrong.append("console runs does not say that it needs recover")
    for _ in range(2):
        told = desk.console("recover")
        if told.code != 0:
            wrong.append(f"recover: exit {told.code}")


def restarts_told(desk: Desk) -> int:
    """How often the runs of this machine say that they restarted the unit."""
    said = (event for folder in desk.run_folders() for event in Done(0, "", "", folder, 0.0).events)
    return sum(
        event.get("kind") == "restart"
        and (event["type"] == "change.made" or (event["type"] == "change.undone" and event["how"] == "run"))
        for event in said
    )


def outcome_of(desk: Desk, done: Done) -> str:
    """As `console runs` lists the run; empty where none was begun."""
    if done.folder is None:
        return ""
    ended = [event for event in Done(0, "", "", done.folder, 0.0).events if event["type"] == "target.finished"]
    return str(ended[-1]["outcome"]) if ended else "not-started"


def put_in(result: Result, host: Host, desk: Desk, done: Done) -> None:
    """What is proven and still out of its balancer is told to be, and a resume puts it in."""
    if "is still out of the balancer" not in Done(0, "", "", done.folder, 0.0).of("target.finished")[-1]["message"]:
        result.wrong.append("it is still out of its balancer, and nobody says so")
    result.then += ", resume"
    ended = desk.console("resume", done.run_id, "--yes")
    if ended.code != 0 or not inside.is_in_balancer(host):
        result.wrong.append(f"still out of its balancer, resume: exit {ended.code}")


def compare(wrong: list[str], outcome: str, host: Host, after: bytes, *, left_out: bool) -> None:
    """A target that is out of its balancer, or may be, is changed, too."""
    if outcome == "unknown" or not outcome:
        return
    is_after = host.read_bytes(UNIT_FILE) == after
    if outcome not in (AFTER if is_after or left_out else BEFORE):
        wrong.append(f"the run says {outcome}, and the unit file is as {'after' if is_after else 'before'}")


def settled_as(wrong: list[str], host: Host, window: int, *, idle: bool = False) -> None:
    """`idle`: a guard may be left that has nothing to put back; it stands down by itself, or before the next run."""
    if not comes_to_serve(host, window, 30.0):
        wrong.append(f"does not serve {window} but {serving(host)}")
    if not remains.wait_until(lambda: lock_is_free(host), 10.0, every_s=0.2):
        wrong.append("the lock is still held")
    listed = host.out("systemctl", "list-timers", "--no-legend", "console-guard-*").split()
    if listed and not idle:
        wrong.append("a guard is still armed")
    if host.show(UNIT, "NeedDaemonReload") != "no":
        wrong.append("systemd has not read the unit file")


def every_cell(host: Host, folder: Path, kinds: Sequence[str] = KINDS) -> list[Cell]:
    """The cells of the main job, of which that host sees a whole run."""
    install_engine(host, load_s=LOAD_S)
    whole = Desk(folder, [host]).console(*WORDS)
    assert whole.code == 0, whole.err
    return list(cells_of(whole.events, kinds))


@contextmanager
def playing(cells: Sequence[Cell], hosts: Sequence[Host], folder: Path) -> Iterator[list[Future[Result]]]:
    """The cells one after the other, as many at once as there are hosts."""
    free: SimpleQueue[Host] = SimpleQueue()
    for host in hosts:
        free.put(host)

    def one(index: int) -> Result:
        host = free.get()
        try:
            return play(cells[index], host, folder / str(index))
        finally:
            free.put(host)

    pool = ThreadPoolExecutor(len(hosts))
    try:
        yield [pool.submit(one, index) for index in range(len(cells))]
    finally:
        pool.shutdown(cancel_futures=True)


def run(arguments: argparse.Namespace) -> int:
    with Fleet(arguments.jobs) as fleet, tempfile.TemporaryDirectory(prefix="matrix-") as temporary:
        folder = Path(temporary)
        cells = chosen(
            every_cell(fleet.hosts[0], folder / "whole", arguments.kinds),
            only=arguments.cells,
            share=arguments.share,
            seed=arguments.seed,
            numbers=arguments.numbers,
        )
        results = []
        with playing(cells, fleet.hosts, folder) as coming:
            for result in (each.result() for each in coming):
                results.append(result)
                if result.wrong or arguments.verbose:
                    sys.stdout.write(row(result) + "\n")
                    sys.stdout.flush()
    sys.stdout.write("\n".join([*table(results), ""]))
    return 1 if any(result.wrong for result in results) else 0


def row(result: Result) -> str:
    cell = result.cell
    word = "WRONG " + "; ".join(result.wrong) if result.wrong else "ok"
    end = f"{result.outcome or '-'} ({result.exit_code}), {result.then or '-'}"
    return f"{cell.kind:8} {cell.number:3} {cell.label:24} {end:42} {result.took_s:5.1f} s  {word}"


def table(results: Sequence[Result]) -> list[str]:
    """One line an event type, one column a kind: cells that agreed of all."""
    kinds = [kind for kind in KINDS if any(result.cell.kind == kind for result in results)]
    said = [f"{'after':26}" + "".join(f"{kind:>9}" for kind in kinds)]
    for label in dict.fromkeys(result.cell.label for result in results):
        line = f"{label:26}"
        for kind in kinds:
            here = [result for result in results if (result.cell.label, result.cell.kind) == (label, kind)]
            good = sum(not result.wrong for result in here)
            line += f"{f'{good}/{len(here)}' if here else '-':>9}"
        said.append(line)
    wrong = sum(bool(result.wrong) for result in results)
    return [*said, f"{len(results)} cells, {wrong} wrong"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", choices=["all", "change", "inside"], default="all")
    parser.add_argument("--share", type=float, default=1.0, help="of the cells that are not a change's own")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--numbers", type=int, nargs="+", default=[], help="only these events, or actions")
    parser.add_argument("--jobs", type=int, default=4, help="hosts at work at once")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--verbose", action="store_true", help="a line for every cell")
    return run(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
