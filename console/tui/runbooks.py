"""Choosing a runbook for a target: those beside the inventory, in this folder, and the shipped ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from textual.binding import BindingType
from textual.widget import Widget
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from console.errors import ConsoleError
from console.planning import lint
from console.planning.policy import may_change
from console.planning.shelf import on_shelf
from console.schema.hosts import Inventory, Target
from console.schema.runbook import Runbook
from console.tui.frame import FrameScreen
from console.tui.keys import bindings
from console.tui.scroll import Scroll
from console.tui.session import Session
from console.tui.variables import VariablesScreen
from console.views.cells import wrap


@dataclass(frozen=True)
class Found:
    """A runbook file: read, or why it cannot be used."""

    path: Path
    runbook: Runbook | None = None
    wrong: str = ""


def found_runbooks(inventory: Inventory) -> list[Found]:
    """Every runbook there is to choose from; a broken one is shown with what is wrong."""
    places = [*([inventory.path.parent] if inventory.path else []), Path.cwd()]
    found = []
    for full in on_shelf(places):
        path = full.relative_to(Path.cwd()) if full.is_relative_to(Path.cwd()) else full
        try:
            found.append(Found(path, lint.load(path)))
        except ConsoleError as error:
            found.append(Found(path, wrong=str(error)))
    # What only looks or measures comes last: the first one offered is the main job.
    return sorted(found, key=lambda one: one.runbook is not None and not may_change(one.runbook))


class RunbooksScreen(FrameScreen):
    """One line a runbook; below it what the chosen one does."""

    NAME: ClassVar[str] = "runbooks"
    BINDINGS: ClassVar[list[BindingType]] = bindings("runbooks")

    def __init__(self, session: Session, targets: Sequence[Target]) -> None:
        super().__init__(session)
        self.targets = tuple(targets)
        self.found: list[Found] = []

    def body(self) -> Iterable[Widget]:
        yield OptionList(id="runbooks", markup=False)
        with Scroll(id="detail"):
            yield Static(id="about")

    def on_mount(self) -> None:
        super().on_mount()
        self.found = found_runbooks(self.session.inventory)
        options = self.query_one("#runbooks", OptionList)
        for one in self.found:
            text = f"{one.path.stem}: {one.runbook.title or one.runbook.name}" if one.runbook else f"!! {one.path.name}"
            options.add_option(Option(self.say(text)))
        if self.found:
            options.highlighted = 0
        self.show_title(f"Runbook for {named(self.targets)}", self.targets[0].service.unit)
        self._about(0)
        options.focus()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        self._about(event.option_index)

    async def on_option_list_option_selected(self, _event: OptionList.OptionSelected) -> None:
        await self.action_do("choose")

    def action_choose(self) -> None:
        index = self.query_one("#runbooks", OptionList).highlighted
        if index is None or index >= len(self.found):
            return
        runbook = self.found[index].runbook
        if runbook is None:
            self.tell("this runbook cannot be used: see below", severity="error")
            return
        self.app.push_screen(VariablesScreen(self.session, self.targets, runbook))

    def same_command(self) -> str:
        index = self.query_one("#runbooks", OptionList).highlighted or 0
        chosen = str(self.found[index].path) if index < len(self.found) else "RUNBOOK"
        return f"console plan {chosen} {' '.join(target.name for target in self.targets)}"

    def whole_text(self) -> str:
        index = self.query_one("#runbooks", OptionList).highlighted or 0
        return about(self.found[index], self.room) if index < len(self.found) else ""

    def _about(self, index: int) -> None:
        text = about(self.found[index], self.room) if index < len(self.found) else "no runbook"
        self.query_one("#about", Static).update(self.say(text))


def named(targets: Sequence[Target]) -> str:
    """`node7/chat`, or `node7/chat and 2 more`."""
    more = f" and {len(targets) - 1} more" if len(targets) > 1 else ""
    return targets[0].name + more


def about(found: Found, width: int) -> str:
    """Path, what goes wrong, its steps and its variables."""
    said = wrap(str(found.path), width)
    if found.runbook is None:
        return "\n".join([*said, "", *(line for text in found.wrong.splitlines() for line in wrap(text, width))])
    kinds = ", ".join(step.uses for step in found.runbook.step)
    said += ["", *wrap(kinds, width, first="steps      ")]
    for name, variable in found.runbook.vars.items():
        said += wrap(f"{name} = {variable.default!r}  {variable.help}", width, first="variable   ")
    said += wrap(f"{found.runbook.on_failure}", width, first="on failure ")
    return "\n".join(said)
