"""Everything that can be done here, found by its name; and a line that takes commands as the shell does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.suggester import SuggestFromList
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from console.tui.acting import ActingModal
from console.tui.actions import Action, Situation, actions_of
from console.tui.keys import bindings, shown_key
from console.tui.scroll import Scroll
from console.tui.session import Session
from console.views.cells import cut, pad


class PaletteScreen(ActingModal[str]):
    """Dismissed with the id of an action. What is off is there with its reason, and is not done."""

    NAME: ClassVar[str] = "palette"
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("palette"),
        Binding("down", "down", show=False),
        Binding("up", "up", show=False),
    ]

    def __init__(self, session: Session, of: str, now: Situation) -> None:
        super().__init__(session)
        self.of = of
        self.now = now
        self.shown: list[Action] = []

    def compose(self) -> ComposeResult:
        with Scroll(id="box", can_focus=False):
            yield Input(id="wanted", compact=True, placeholder="what shall be done?")
            found = OptionList(id="found", markup=False)
            found.can_focus = False
            yield found
        yield Static(self.keys_content(self.app.size.width), id="keys")

    def on_mount(self) -> None:
        self._fill("")
        self.query_one("#wanted").focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        self._fill(event.value)

    async def on_input_submitted(self, _event: Input.Submitted) -> None:
        await self.action_do("choose_line")

    def _fill(self, wanted: str) -> None:
        words = wanted.casefold().split()
        self.shown = [
            action
            for action in actions_of(self.of)
            if action.id != "palette"
            and all(word in f"{action.id} {action.title} {action.help}".casefold() for word in words)
        ]
        options = self.query_one("#found", OptionList)
        options.clear_options()
        for action in self.shown:
            reason = action.off(self.now)
            said = f"off: {reason}" if reason else action.help
            key = pad(shown_key(action, self.of, self.keymap), 6)
            options.add_option(Option(self.say(cut(f"{key}{pad(action.title, 14)} {said}", 70))))
        if self.shown:
            options.highlighted = 0

    def action_down(self) -> None:
        self.query_one("#found", OptionList).action_cursor_down()

    def action_up(self) -> None:
        self.query_one("#found", OptionList).action_cursor_up()

    def action_choose_line(self) -> None:
        index = self.query_one("#found", OptionList).highlighted
        if index is not None and index < len(self.shown):
            self.dismiss(self.shown[index].id)

    def on_option_list_option_selected(self, _event: OptionList.OptionSelected) -> None:
        self.action_choose_line()

    def action_back(self) -> None:
        self.dismiss("")


class CommandScreen(ActingModal[str]):
    """Dismissed with what was typed; the right arrow takes the completion."""

    NAME: ClassVar[str] = "command"
    BINDINGS: ClassVar[list[BindingType]] = bindings("command")

    def __init__(self, session: Session, of: str, names: Sequence[str]) -> None:
        super().__init__(session)
        self.of = of
        self.names = names

    def compose(self) -> ComposeResult:
        with Scroll(id="box", can_focus=False):
            yield Static(self.say("A command of console, without its first word; or an action of this screen."))
            yield Input(id="wanted", compact=True, suggester=SuggestFromList(self.names, case_sensitive=True))
            yield Static(self.say(""), id="wrong")
        yield Static(self.keys_content(self.app.size.width), id="keys")

    def on_mount(self) -> None:
        self.query_one("#wanted").focus()
        self._hint("")

    def on_input_changed(self, event: Input.Changed) -> None:
        self._hint(event.value)

    async def on_input_submitted(self, _event: Input.Submitted) -> None:
        await self.action_do("choose_line")

    def _hint(self, typed: str) -> None:
        """What may follow: the next words, not every whole line."""
        fitting = [name for name in self.names if name.startswith(typed)]
        nexts = dict.fromkeys(" ".join(name.split()[: len(typed.split(" "))]) for name in fitting)
        self.query_one("#wrong", Static).update(self.say("  ".join(list(nexts)[:40])))

    def action_choose_line(self) -> None:
        self.dismiss(self.query_one("#wanted", Input).value.strip())

    def action_back(self) -> None:
        self.dismiss("")
