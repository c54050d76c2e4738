"""The variables of a runbook as a form; what is wrong with them is said before any host is asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.widget import Widget
from textual.widgets import Input, Static

from console.errors import UsageError
from console.planning import lint
from console.schema.hosts import Target
from console.schema.runbook import Runbook, Value, Variable
from console.tui.frame import FrameScreen
from console.tui.keys import bindings
from console.tui.plan import PlanScreen
from console.tui.session import Session
from console.tui.start import command_line


class VariablesScreen(FrameScreen):
    """One field a variable. Enter in any of them goes on to the plan, which touches nothing."""

    NAME: ClassVar[str] = "variables"
    BINDINGS: ClassVar[list[BindingType]] = bindings("variables")

    def __init__(self, session: Session, targets: Sequence[Target], runbook: Runbook) -> None:
        super().__init__(session)
        self.targets = tuple(targets)
        self.runbook = runbook

    def body(self) -> Iterable[Widget]:
        with VerticalScroll(id="form", can_focus=False):
            for name, variable in self.runbook.vars.items():
                yield Static(self.say(label(name, variable)), classes="label")
                yield Input(text_of(variable.default), id=f"var-{index_of(self.runbook, name)}", compact=True)
            if not self.runbook.vars:
                yield Static(self.say("this runbook has no variables; Enter plans it"))
        yield Static(id="wrong")
        yield Static(id="command")

    def on_mount(self) -> None:
        super().on_mount()
        more = f" and {len(self.targets) - 1} more" if len(self.targets) > 1 else ""
        self.show_title(
            f"Variables of {self.runbook.name} for {self.targets[0].name}{more}", self.targets[0].service.unit
        )
        self._check()

    def given(self) -> dict[str, str]:
        """What differs from the defaults, as --set would give it."""
        told = {}
        for name, variable in self.runbook.vars.items():
            text = self.query_one(f"#var-{index_of(self.runbook, name)}", Input).value
            if variable.default is None or text != text_of(variable.default):
                told[name] = text
        return told

    def on_input_changed(self, _event: Input.Changed) -> None:
        self._check()

    async def on_input_submitted(self, _event: Input.Submitted) -> None:
        await self.action_do("plan")

    def action_plan(self) -> None:
        values = self._check()
        if values is not None:
            self.app.push_screen(PlanScreen(self.session, self.targets, self.runbook, values, self.given()))

    def _check(self) -> dict[str, Value] | None:
        """The values, or None after saying what is wrong."""
        given = self.given()
        command = command_line(self.runbook, [one.name for one in self.targets], given, verb="plan")
        self.query_one("#command", Static).update(self.say(f"without this UI: {command}"))
        wrong = self.query_one("#wrong", Static)
        try:
            values = lint.variables(self.runbook, given)
        except UsageError as error:
            wrong.update(self.say(f"!! {error.message.removeprefix('--set ')}"))
            return None
        wrong.update(self.say(""))
        return values


def label(name: str, variable: Variable) -> str:
    """`to (int): new context length, tokens`."""
    choices = f", one of {', '.join(map(str, variable.choices))}" if variable.choices else ""
    return f"{name} ({variable.type}{choices}): {variable.help}"


def text_of(value: Value | None) -> str:
    """A value as it is typed after --set."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def index_of(runbook: Runbook, name: str) -> int:
    """Names may hold dots, which an id of Textual may not."""
    return list(runbook.vars).index(name)
