"""The interrupt matrix of the main job on real hosts: every way to be interrupted, at every boundary between events.

`python -m tests.real.matrix` (root) runs all cells and prints the table; `--cells change` only those at a change's own
events, `--share 0.1 --seed 7` a part of the rest. Exit status 1 when a cell is wrong.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from tests.hosts import remains
from tests.hosts.engine_unit import UNIT, install_engine, serving
from tests.hosts.fleet import Fleet
from tests.hosts.host import Host
from tests.real.desk import EXTEND_CONTEXT, Desk, Done
from tests.real.state_of import UNIT_FILE, comes_to_serve, lock_is_free

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
    """One interruption: how, and after which event of the run. `label`: that event's type and kind."""

    kind: str
    number: int
    label: str

    @property
    def of_a_change(self) -> bool:
        return self.label.startswith("change.")


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


def chosen(cells: Sequence[Cell], *, only: str, share: float, seed: int, numbers: Sequence[int] = ()) -> list[Cell]:
    """All cells of changes, and a seeded share of the rest; or those after the events of these numbers."""
    if numbers:
        return [cell for cell in cells if cell.number in numbers]
    rest = [cell for cell in cells if not cell.of_a_change]
    some = random.Random(seed).sample(rest, round(share * len(rest))) if only != "change" else []
    return [cell for cell in cells if cell.of_a_change] + some


def play(cell: Cell, host: Host, folder: Path) -> Result:
    """Interrupt a run there, then see that everything told is so, and that it can be finished."""
    result = Result(cell)
    begun = time.monotonic()
    install_engine(host, load_s=LOAD_S)
    before = host.read_bytes(UNIT_FILE)
    after = before.replace(b" 32768 ", b" 200000 ")
    desk = Desk(folder, [host])
    try:
        done = interrupted(cell, host, desk)
        judge(result, host, desk, done, before, after)
    except AssertionError as error:
        result.wrong.append(str(error).splitlines()[0])
    finally:
        desk.close()
        host.run("sh", "-c", "systemctl stop 'console-guard-*'; rm -f /etc/systemd/system/console-guard-*", check=False)
    result.took_s = time.monotonic() - begun
    return result


def interrupted(cell: Cell, host: Host, desk: Desk) -> Done:
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
        told = desk.console("recover")
        if told.code != 0:
            wrong.append(f"recover: exit {told.code}")
    result.outcome = outcome_of(desk, done)
    compare(wrong, result.outcome, host.read_bytes(UNIT_FILE) == after, "the run")
    waiting = desk.open_runs()
    if result.outcome in ("applied-unverified", "unknown", "rollback-failed") and not waiting:
        wrong.append(f"{result.outcome}, and console runs shows nothing open")
    if not waiting:
        result.then = "closed"
        idle = done.code < 0 and host.read_bytes(UNIT_FILE) == before
        settled_as(wrong, host, 200000 if host.read_bytes(UNIT_FILE) == after else 32768, idle=idle)
        return
    verb = "resume" if result.cell.number % 2 else "rollback"
    result.then = verb
    ended = desk.console(verb, waiting[0]["id"], "--yes", timeout_s=240.0)
    if ended.code != 0:
        wrong.append(f"{verb}: exit {ended.code}: {ended.err.strip().splitlines()[-1:]}")
    window = 200000 if host.read_bytes(UNIT_FILE) == after else 32768
    if verb == "rollback" and window != 32768:
        wrong.append("rolled back, and the unit file is as after")
    settled_as(wrong, host, window)
    if desk.open_runs():
        wrong.append("still open after that")


def outcome_of(desk: Desk, done: Done) -> str:
    """As `console runs` lists the run; empty where none was begun."""
    if done.folder is None:
        return ""
    ended = [event for event in Done(0, "", "", done.folder, 0.0).events if event["type"] == "target.finished"]
    return str(ended[-1]["outcome"]) if ended else "not-started"


def compare(wrong: list[str], outcome: str, is_after: bool, who: str) -> None:
    if outcome == "unknown" or not outcome:
        return
    if outcome not in (AFTER if is_after else BEFORE):
        wrong.append(f"{who} says {outcome}, and the unit file is as {'after' if is_after else 'before'}")


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


def run(arguments: argparse.Namespace) -> int:
    with Fleet(arguments.jobs) as fleet, tempfile.TemporaryDirectory(prefix="matrix-") as folder:
        install_engine(fleet.hosts[0], load_s=LOAD_S)
        whole = Desk(Path(folder) / "whole", fleet.hosts[:1]).console(*WORDS)
        assert whole.code == 0, whole.err
        everything = list(cells_of(whole.events, arguments.kinds))
        cells = chosen(
            everything, only=arguments.cells, share=arguments.share, seed=arguments.seed, numbers=arguments.numbers
        )
        free: SimpleQueue[Host] = SimpleQueue()
        for host in fleet.hosts:
            free.put(host)

        def one(index: int) -> Result:
            host = free.get()
            try:
                return play(cells[index], host, Path(folder) / str(index))
            finally:
                free.put(host)

        with ThreadPoolExecutor(arguments.jobs) as pool:
            results = []
            for result in pool.map(one, range(len(cells))):
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
    parser.add_argument("--cells", choices=["all", "change"], default="all")
    parser.add_argument("--share", type=float, default=1.0, help="of the cells that are not a change's own")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--numbers", type=int, nargs="+", default=[], help="only after these events")
    parser.add_argument("--jobs", type=int, default=4, help="hosts at work at once")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--verbose", action="store_true", help="a line for every cell")
    return run(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
