"""Tuning from the Measure screen: which trace is replayed, which experiment is tried, and the question before that."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from console.results.traces import FOLDER, HEAD
from console.tui.acting import ActingModal
from console.tui.keys import bindings
from console.tui.measure import SendsScreen
from console.tui.runbooks import found_runbooks
from console.tui.scroll import Scroll
from console.tui.session import Session
from console.views.cells import cut


@dataclass(frozen=True)
class Choice:
    """A trace or a runbook: its word on the command line, and what it is."""

    word: str
    about: str


def traces_of(session: Session) -> list[Choice]:
    """Frozen traces of the results repository."""
    folder = session.inventory.results_path / FOLDER
    return [Choice(one.parent.name, "a frozen trace") for one in sorted(folder.glob(f"*/{HEAD}"))]


def experiments_of(session: Session) -> list[Choice]:
    """Runbooks with an [experiment] table."""
    return [
        Choice(str(one.path), one.runbook.experiment.objective)
        for one in found_runbooks(session.inventory)
        if one.runbook is not None and one.runbook.experiment is not None
    ]


class PickScreen(ActingModal[str]):
    """Dismissed with the word of what was picked."""

    NAME: ClassVar[str] = "pick"
    BINDINGS: ClassVar[list[BindingType]] = bindings("pick")

    def __init__(self, session: Session, title: str, choices: Sequence[Choice]) -> None:
        super().__init__(session)
        self.heading = title
        self.choices = tuple(choices)

    def compose(self) -> ComposeResult:
        with Scroll(id="box", can_focus=False):
            yield Static(self.say(f"{self.heading}\n"))
            yield OptionList(
                *(Option(self.say(cut(f"{one.word}: {one.about}", 70))) for one in self.choices),
                id="found",
                markup=False,
            )
        yield Static(self.keys_content(self.app.size.width), id="keys")

    def on_mount(self) -> None:
        options = self.query_one("#found", OptionList)
        options.highlighted = 0
        options.focus()

    async def on_option_list_option_selected(self, _event: OptionList.OptionSelected) -> None:
        await self.action_do("pick_line")

    def action_pick_line(self) -> None:
        index = self.query_one("#found", OptionList).highlighted
        if index is not None and index < len(self.choices):
            self.dismiss(self.choices[index].word)

    def action_back(self) -> None:
        self.dismiss("")


class TriesScreen(SendsScreen):
    """The question before a service is restarted again and again: its name, typed in full."""

    NAME: ClassVar[str] = "tries"
    BINDINGS: ClassVar[list[BindingType]] = bindings("tries")
    WHEN_TYPED: ClassVar[str] = "try_out"
    CHANGES: ClassVar[str] = "settings of the service, one at a time; what does not help or fails a gate is put back"

    def action_try_out(self) -> None:
        self.action_begin()


@dataclass(frozen=True)
class Picking:
    """What is asked before a replay or an experiment, and what is said where there is nothing to pick."""

    title: str
    choices: Callable[[Session], list[Choice]]
    none: str
    asks: type[SendsScreen]


PICKS: Mapping[str, Picking] = {
    "replay": Picking(
        "Replay which trace?", traces_of, "no frozen trace yet: console workload freeze FILE --name NAME", SendsScreen
    ),
    "experiment": Picking(
        "Try which experiment?", experiments_of, "no runbook has an [experiment] table: see docs/tune.md", TriesScreen
    ),
}
