"""Going on with a run, or undoing it: what it left, what would be done, and the question before it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import ClassVar

from textual.binding import BindingType
from textual.widget import Widget
from textual.widgets import Static

from console.errors import ConsoleError
from console.runs.directory import RunDirectory
from console.runs.log import read_events
from console.runs.state import RunState, fold
from console.schema.hosts import Target
from console.tui.actions import Situation
from console.tui.confirm import ConfirmScreen, Question, to_type
from console.tui.frame import FrameScreen
from console.tui.keys import bindings
from console.tui.scroll import Scroll
from console.tui.session import Seen, Session
from console.views.answers import labelled
from console.views.argv import near_changes
from console.views.cells import wrap
from console.views.standing import left_where

TITLES = {
    "resume": "Go on with",
    "rollback": "Roll back",
    "takeover": "Take over",
}
MEANS = {
    "resume": "The host is read again first; what is done already is not done twice. Refused when it was edited since.",
    "rollback": "The host is read again first; only what this run made is put back. Refused when it was edited since.",
    "takeover": "The host is read again first, and gone on with from the ledger. Refused while its owner lives.",
}


class AgainScreen(FrameScreen):
    """A run of its own with the earlier one as its parent; it plans anew before it changes anything."""

    NAME: ClassVar[str] = "again"
    MODE: ClassVar[str] = "runs"
    BINDINGS: ClassVar[list[BindingType]] = bindings("again")

    def __init__(self, session: Session, verb: str, run_id: str, targets: Sequence[Target] = ()) -> None:
        super().__init__(session)
        self.verb = verb
        self.run_id = run_id
        self.state = RunState()
        self.targets = tuple(targets)
        self.wrong = ""

    def body(self) -> Iterable[Widget]:
        with Scroll(id="plan"):
            yield Static(id="text")

    def on_mount(self) -> None:
        super().on_mount()
        directory = RunDirectory(self.session.base / self.run_id)
        try:
            if self.verb == "takeover":
                return  # its log is on another machine; what is known is in the ledger of the host
            self.state = fold(read_events(directory.events_path))
            self.targets = tuple(plan.target for plan in directory.read_plan().plans)
        except ConsoleError as error:
            self.wrong = str(error)
        finally:
            self.query_one("#plan").focus()
            self._show()

    def on_resize(self) -> None:
        super().on_resize()
        self._show()

    def situation(self) -> Situation:
        return replace(super().situation(), run=self.run_id if self.targets else "")

    def action_start(self) -> None:
        lines = [*self._lines(74), "", *labelled("COMMAND", [self.same_command()], 74)]
        protected = any(self._protected(target) for target in self.targets)
        question = Question(tuple(lines), to_type(self.targets), protected)
        self.app.push_screen(ConfirmScreen(self.session, question), self._confirmed)

    def _protected(self, target: Target) -> bool:
        """As the inventory says now: it may have been protected since."""
        known = self.session.target(target.name)
        return (known or target).protected

    def _confirmed(self, reason: str | None) -> None:
        if reason is not None:
            words = [self.verb, self.run_id, "--yes", "--json", *(["--reason", reason] if reason else [])]
            self.console_app.ways.launch(words)

    def same_command(self) -> str:
        return shlex.join(["console", self.verb, self.run_id])

    def whole_text(self) -> str:
        return "\n".join(self._lines(max(80, self.room)))

    def _show(self) -> None:
        self.show_title(f"{TITLES[self.verb]} {self.run_id}", "nothing is started yet")
        self.query_one("#text", Static).update(self.say("\n".join(self._lines(self.room))))
        self.show_keys()

    def _lines(self, width: int) -> list[str]:
        if self.wrong:
            return wrap(self.wrong, width)
        if self.verb == "takeover":
            return self._remembered(width)
        return again_lines(self.verb, self.state, width)

    def _remembered(self, width: int) -> list[str]:
        """What the hosts' ledgers say of the run."""
        said = labelled("RUN", [self.run_id], width)
        for target in self.targets:
            seen = self.session.seen.get(target.name, Seen())
            entries = seen.facts.ledger if seen.facts is not None else ()
            for entry in entries:
                if entry.run == self.run_id:
                    who = f"by {entry.operator or 'nobody known'} from {entry.from_host or '?'}"
                    by = f"{entry.state}, {who} at {entry.at}"
                    said += labelled(target.name[:11], [by, entry.summary, entry.reason], width)
        return [*said, "", *wrap(MEANS["takeover"], width)]


def again_lines(verb: str, state: RunState, width: int) -> list[str]:
    """What the earlier run was and left, and the words that would change back."""
    started = state.started
    said = []
    if started is not None:
        what = f"{started.runbook} on {', '.join(started.targets)}, by {started.operator or 'nobody known'}"
        said += labelled("RUN", [f"{state.run}  {started.ts[:16]}Z", what], width)
    said += ["", *left_where(state, width), ""]
    for target in state.targets.values():
        for edit in target.edits:
            said += _edit(verb, edit.file, edit.argv_before, edit.argv_after, width)
        changes = [
            f"{change.change.summary or change.change.kind}: {change.state}" for change in target.changes.values()
        ]
        said += labelled("CHANGES", changes or ["none was begun"], width)
    return [*said, "", *wrap(MEANS[verb], width)]


def _edit(verb: str, file: str, before: Sequence[str], after: Sequence[str], width: int) -> list[str]:
    words = near_changes(after, before) if verb == "rollback" else near_changes(before, after)
    label = "PUT BACK" if verb == "rollback" else "OUR EDIT"
    return labelled(label, [file, " ".join(words)], width) if words else []
