"""The question before a run: the host's name, typed in full."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Input, Static

from console.schema.plan import Plan
from console.tui.actions import bindings, key_line
from console.tui.quiet import QuietModal
from console.tui.session import Session
from console.views.answers import labelled

WIDTH = 74


class ConfirmScreen(QuietModal[str]):
    """Dismissed with the reason (may be empty) when the run shall start, with None when not.

    Enter alone, a wrong name, and whatever was typed before the question was there do nothing.
    """

    NAME: ClassVar[str] = "confirm"
    BINDINGS: ClassVar[list[BindingType]] = bindings("confirm")

    def __init__(self, session: Session, plan: Plan, command: str) -> None:
        super().__init__(session)
        self.plan = plan
        self.command = command

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="box", can_focus=False):
            yield Static(self.say("\n".join(question_lines(self.plan, self.command))))
            if self.plan.target.host.protected:
                yield Static(self.say("Why? It is kept in the record (needed: the host is protected)"), classes="label")
                yield Input(id="reason", compact=True, disabled=True)
            yield Static(self.say(f"Type {self.plan.target.host_name} to carry it out"), classes="label")
            yield Input(id="host", compact=True, disabled=True)
            yield Static(Content("one moment…"), id="wrong")
        yield Static(Content(f" {key_line(self.NAME)}"), id="keys")

    def on_armed(self) -> None:
        for field in self.query(Input):
            field.disabled = False
        self.query(Input).first().focus()
        self._say("")

    def on_input_submitted(self, _event: Input.Submitted) -> None:
        self.action_confirm()

    def on_input_changed(self, _event: Input.Changed) -> None:
        self._say("")

    def action_confirm(self) -> None:
        if not self.armed:
            return
        host = self.query_one("#host", Input)
        wanted = self.plan.target.host_name
        reason = self.query_one("#reason", Input).value.strip() if self.plan.target.host.protected else ""
        if self.plan.target.host.protected and not reason:
            self._say("a protected host needs a reason")
            self.query_one("#reason", Input).focus()
        elif not host.value.strip():
            self._say("" if host.has_focus else f"now type {wanted}")
            host.focus()
        elif host.value.strip() != wanted:
            self._say(f"{host.value.strip()!r} is not {wanted}: nothing was started")
            host.focus()
        else:
            self.dismiss(reason)

    def _say(self, text: str) -> None:
        self.query_one("#wrong", Static).update(self.say(text))


def question_lines(plan: Plan, command: str, width: int = WIDTH) -> list[str]:
    """What will be changed where, for how long it is out, how it is undone, and the same as a command."""
    target = plan.target
    said = labelled("TARGET", [f"{target.name}  {target.service.unit}"], width)
    said += labelled("CHANGE", [change.sentence for change in plan.settings] or [changes(plan)], width)
    said += labelled("ALSO LIVE", [text for text in plan.answers.also_live if text != "nothing"], width)
    said += labelled("OUTAGE", plan.answers.outage, width)
    said += labelled("UNDO", plan.answers.undo, width)
    said += labelled("IF IT FAILS", ["roll back" if plan.on_failure == "rollback" else "stop, nothing undone"], width)
    return [*said, *labelled("COMMAND", [command], width), "", *([plan.confirm] if plan.confirm else [])]


def changes(plan: Plan) -> str:
    kinds = [change.summary or change.kind for change in plan.changes]
    return ", ".join(kinds) if kinds else "nothing is changed: it is so already"
