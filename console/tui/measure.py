"""Measure: what was measured on this machine, and starting a measurement."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import Static

from console.runs.listing import RunSummary
from console.schema.events import FindingMade
from console.schema.hosts import Target
from console.tui.acting import ActingModal
from console.tui.actions import Situation, actions_of
from console.tui.keys import bindings
from console.tui.listing import ListingScreen
from console.tui.scroll import Scroll
from console.tui.series import SeriesScreen, findings_of
from console.tui.session import Session
from console.tui.table import Column, Row
from console.tui.typed import TypedModal
from console.tui.workers import work
from console.views.answers import labelled
from console.views.figures import day, number
from console.views.series import series_table

COLUMNS = (
    Column("", 2),
    Column("WHEN", 12, drop=2),
    Column("TARGET", 12, grow=True),
    Column("WHAT", 14, drop=1, grow=True),
    Column("POINTS", 6, drop=3),
    Column("FOUND", 22, grow=True),
    Column("FLAGS", 10, drop=4),
    Column("RUN", 14, drop=5),
)
NEWEST = 60
WORDS = {
    "decode": ("measure", "decode"),
    "sweep": ("measure", "sweep"),
    "capacity": ("capacity",),
    "diagnose": ("diagnose",),
    "load": ("measure", "load"),
    "limit": ("diagnose", "--bottleneck"),
    "profile": ("workload", "profile", "--since", "1h", "--target"),
    "replay": ("measure", "replay"),
    "experiment": ("run",),
}
COSTS = {
    "decode": "sends some minutes of generations, one stream at a time, while users are served",
    "sweep": "sends prompts up to the largest that is served, one stream at a time, while users are served",
    "capacity": "reads the host and the model's files; sends no request",
    "diagnose": "reads the log, the record and the host; sends no request",
    "load": "sends up to eight streams at once; refused while others use the service",
    "limit": "reads the recorded loads and the log; sends no request",
    "profile": "reads lengths and times of its request log; sends no request, keeps no text",
    "replay": "sends a trace as it came, at its own pace; refused while others use the service",
    "experiment": "restarts the service again and again, for hours; nobody else may use it meanwhile",
}


@dataclass(frozen=True)
class Measured:
    """A run of this machine that found something."""

    summary: RunSummary
    findings: tuple[FindingMade, ...]


class MeasureScreen(ListingScreen):
    """One row a run with findings, newest first; Enter shows table and chart."""

    NAME: ClassVar[str] = "measure"
    MODE: ClassVar[str] = "measure"
    BINDINGS: ClassVar[list[BindingType]] = bindings("measure")
    COLUMNS = COLUMNS

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.measured: dict[str, Measured] = {}
        self.read = False

    def on_mount(self) -> None:
        super().on_mount()
        self.action_again()

    def on_screen_resume(self) -> None:
        super().on_screen_resume()
        self.action_again()

    def action_again(self) -> None:
        work(self, self._read, "measured")

    async def _read(self) -> None:
        self.measured = await asyncio.to_thread(measured_runs, self.session, dict(self.measured))
        self.read = True
        self.show_rows()

    def rows(self) -> list[Row]:
        return [measured_row(one) for one in self.measured.values()]

    def heading(self, shown: int) -> tuple[str, str]:
        return f"Measure: {len(self.measured)} runs with findings on this machine", ""

    def about(self, key: str) -> str:
        one = self.measured.get(key)
        if one is None:
            return "nothing was measured from this machine yet: m measures" if self.read else "reading the runs"
        return "\n".join([one.summary.id, *series_table(one.findings, (), self.room)])

    def situation(self) -> Situation:
        one = self.measured.get(self.chosen)
        target = one.summary.targets[0] if one and one.summary.targets else ""
        known = target if self.session.target(target) else ""
        targets = self.session.inventory.targets()
        return replace(
            super().situation(), run=one.summary.id if one else "", target=known or (targets[0].name if targets else "")
        )

    def same_command(self) -> str:
        return f"console history show {self.chosen}" if self.chosen else "console history list"

    def action_open(self) -> None:
        self.app.push_screen(SeriesScreen(self.session, self.chosen, earlier_than(self.chosen, self.measured)))

    def action_measure(self) -> None:
        target = self.session.target(self.situation().target)
        if target is not None:
            self.console_app.ways.measure(target)


def measured_runs(session: Session, known: dict[str, Measured]) -> dict[str, Measured]:
    """The newest runs with findings; what has ended is not read twice."""
    found = {}
    for summary in session.runs()[:NEWEST]:
        before = known.get(summary.id)
        if before is not None and not before.summary.alive:
            found[summary.id] = before
            continue
        findings = findings_of(session, summary.id)
        if findings or any(word in summary.runbook for word in ("measure", "capacity", "diagnose")):
            found[summary.id] = Measured(summary, findings)
    return found


def earlier_than(run: str, measured: dict[str, Measured]) -> list[str]:
    """The runs before it with findings on one of its targets, newest first."""
    targets = set(measured[run].summary.targets) if run in measured else set()
    return [
        name for name, one in measured.items() if name < run and targets & set(one.summary.targets) and one.findings
    ]


def measured_row(one: Measured) -> Row:
    summary = one.summary
    flags = list(dict.fromkeys(flag for finding in one.findings for flag in finding.flags))
    glyph = ".." if summary.alive else "!!" if flags else "ok"
    telling = [finding for finding in one.findings if finding.name in ("decode_rate", "step_time", "pool_tokens")]
    first = next(iter(telling or one.findings), None)
    found = f"{first.name} {number(first.value)} {first.unit}".strip() if first else "nothing yet"
    style = {"..": "yellow", "!!": "bold yellow", "ok": "green"}[glyph]
    cells = {
        "": glyph,
        "WHEN": day(summary.started)[5:],
        "TARGET": ", ".join(summary.targets),
        "WHAT": summary.runbook,
        "POINTS": str(len(one.findings)),
        "FOUND": found,
        "FLAGS": ", ".join(flags),
        "RUN": summary.id[:14],
    }
    return Row(summary.id, cells, {"": style})


class ChooseScreen(ActingModal[str]):
    """Dismissed with what shall be measured."""

    NAME: ClassVar[str] = "choose"
    BINDINGS: ClassVar[list[BindingType]] = bindings("choose")

    def __init__(self, session: Session, target: Target) -> None:
        super().__init__(session)
        self.target = target

    def compose(self) -> ComposeResult:
        lines = [f"Measure {self.target.name}. Nothing is sent before the next question.", ""]
        for action in actions_of(self.NAME):
            if action.id in COSTS:
                lines += labelled(f"{action.keys[0]} {action.title}"[:11], [action.help, COSTS[action.id]], 72)
        with Scroll(id="box", can_focus=False):
            yield Static(self.say("\n".join(lines)))
        yield Static(self.keys_content(self.app.size.width), id="keys")

    def action_decode(self) -> None:
        self.dismiss("decode")

    def action_sweep(self) -> None:
        self.dismiss("sweep")

    def action_capacity(self) -> None:
        self.dismiss("capacity")

    def action_diagnose(self) -> None:
        self.dismiss("diagnose")

    def action_load(self) -> None:
        self.dismiss("load")

    def action_limit(self) -> None:
        self.dismiss("limit")

    def action_profile(self) -> None:
        self.dismiss("profile")

    def action_replay(self) -> None:
        self.dismiss("replay")

    def action_experiment(self) -> None:
        self.dismiss("experiment")

    def action_back(self) -> None:
        self.dismiss("")


class SendsScreen(TypedModal[bool]):
    """The question before requests are sent to a service that may have users: its name, typed in full."""

    NAME: ClassVar[str] = "sends"
    BINDINGS: ClassVar[list[BindingType]] = bindings("sends")
    WHEN_TYPED: ClassVar[str] = "begin"
    CHANGES: ClassVar[str] = "nothing on the host; the findings are committed"

    def __init__(self, session: Session, words: Sequence[str], wanted: str, cost: str) -> None:
        super().__init__(session)
        self.words = tuple(words)
        self.wanted = wanted
        self.cost = cost

    def asked(self) -> list[str]:
        lines = labelled("COMMAND", [shlex.join(["console", *self.words])], 74) + labelled("COSTS", [self.cost], 74)
        lines += labelled("CHANGES", [self.CHANGES], 74)
        return [*lines, "", f"Type {self.wanted} to start it"]

    def action_begin(self) -> None:
        typed = self.typed()
        if typed == self.wanted:
            self.dismiss(True)
        elif typed:
            self.wrong(f"{typed!r} is not {self.wanted}: nothing was started")

    def action_back(self) -> None:
        self.dismiss(False)
