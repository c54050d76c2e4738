"""Ctrl-C at a terminal while the service loads and while it is proven: how soon the choice stands on the screen."""

from __future__ import annotations

import random
import statistics
import time
from datetime import datetime
from pathlib import Path

from tests.hosts.engine_unit import install_engine, set_simulator
from tests.hosts.fleet import Fleet
from tests.hosts.host import Host
from tests.real.desk import EXTEND_CONTEXT, Desk, Event
from tests.real.fire.said import Said
from tests.real.fire.terminal import Terminal

TRIES = 12  # of a run
RUNS = {"service.wait_ready": 4, "service.verify": 2}
LIMIT_MS = 200.0
PROMPT = "in full; an empty line means"
# Of the engine's own time: loads for long; or loads at once and answers slowly, so that the proof takes its time.
SLOW = {"service.wait_ready": {"load_s": 12000.0}, "service.verify": {"load_s": 0.5, "speed": 0.25}}


def prove(said: Said, folder: Path) -> None:
    chance = random.Random(5)
    ended: list[float] = []
    shown: list[float] = []
    with Fleet(1) as fleet:
        for uses, runs in RUNS.items():
            for number in range(runs):
                one_run(fleet.hosts[0], folder / f"{uses}-{number}", uses, chance, ended, shown)
    for what, values in (("the wait is over", ended), ("the choice is on the screen", shown)):
        worst = max(values)
        text = (
            f"{what} {statistics.median(values):.0f} ms after Ctrl-C (median), {worst:.0f} ms (worst of {len(values)})"
        )
        said.line(worst < LIMIT_MS and len(values) == TRIES * sum(RUNS.values()), text)


def one_run(host: Host, folder: Path, uses: str, chance: random.Random, ended: list[float], shown: list[float]) -> None:
    """So many stops of one run, each answered with `wait`; milliseconds from the key come into the lists."""
    install_engine(host, load_s=2.0)
    set_simulator(host, **SLOW[uses])
    desk = Desk(folder, [host])
    terminal = Terminal(desk, "run", EXTEND_CONTEXT, "--yes")
    try:
        seq = 0
        for _ in range(TRIES):
            seq = next_of(terminal, "step.started", uses, seq)["seq"]
            time.sleep(chance.uniform(0.1, 1.5))
            pressed = terminal.type("\x03")
            on_screen = terminal.shown(PROMPT, pressed)
            over = next_of(terminal, "step.finished", uses, seq)
            seq = over["seq"]
            ended.append(1000 * (datetime.fromisoformat(over["ts"]).timestamp() - pressed))
            shown.append(1000 * (on_screen - pressed))
            terminal.type("wait\r")
        terminal.shown("", 0.0)
    finally:
        terminal.close()
        desk.close()


def next_of(terminal: Terminal, kind: str, uses: str, after: int) -> Event:
    return terminal.going.wait_for(
        lambda event: event["type"] == kind and event.get("uses") == uses and event["seq"] > after
    )
