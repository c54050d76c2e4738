"""The question before anything is started: the host's name, or `3 hosts`, typed in full."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widgets import Input, Static

from console.schema.hosts import Target
from console.schema.plan import Plan
from console.tui.keys import bindings
from console.tui.quiet import QuietModal
from console.tui.scroll import Scroll
from console.tui.session import Session
from console.views.answers import labelled

WIDTH = 74


@dataclass(frozen=True)
class Question:
    """What is asked: the lines above it, what must be typed, and whether a reason is needed."""

    lines: tuple[str, ...]
    wanted: str
    protected: bool = False


class ConfirmScreen(QuietModal[str]):
    """Dismissed with the reason (may be empty) when it shall start, with None when not.

    Enter alone, a wrong name, and whatever was typed before the question was there do nothing.
    """

    NAME: ClassVar[str] = "confirm"
    BINDINGS: ClassVar[list[BindingType]] = bindings("confirm")

    def __init__(self, session: Session, question: Question) -> None:
        super().__init__(session)
        self.question = question

    def compose(self) -> ComposeResult:
        with Scroll(id="box", can_focus=False):
            yield Static(self.say("\n".join(self.question.lines)))
            if self.question.protected:
                yield Static(self.say("Why? It is kept in the record (needed: the host is protected)"), classes="label")
                yield Input(id="reason", compact=True, disabled=True)
            yield Static(self.say(f"Type {self.question.wanted} to carry it out"), classes="label")
            yield Input(id="host", compact=True, disabled=True)
            yield Static(Content("one moment"), id="wrong")
        yield Static(self.keys_content(self.app.size.width), id="keys")

    def on_armed(self) -> None:
        for field in self.query(Input):
            field.disabled = False
        self.query(Input).first().focus()
        self._say("")

    async def on_input_submitted(self, _event: Input.Submitted) -> None:
        await self.action_do("confirm")

    def on_input_changed(self, _event: Input.Changed) -> None:
        self._say("")

    def action_confirm(self) -> None:
        host = self.query_one("#host", Input)
        wanted = self.question.wanted
        reason = self.query_one("#reason", Input).value.strip() if self.question.protected else ""
        if self.question.protected and not reason:
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


def to_type(targets: Sequence[Target]) -> str:
    """The host's name; of several hosts how many: nobody types eight names with care."""
    names = list(dict.fromkeys(target.host_name for target in targets))
    return names[0] if len(names) == 1 else f"{len(names)} hosts"


def question_of(plans: Sequence[Plan], command: str, width: int = WIDTH) -> Question:
    """The question of a run that carries out these plans."""
    lines = [line for plan in plans for line in question_lines(plan, "", width)]
    lines += labelled("COMMAND", [command], width)
    asked = next((plan.confirm for plan in plans if plan.confirm), "")
    targets = [plan.target for plan in plans]
    return Question(
        (*lines, "", *([asked] if asked else [])), to_type(targets), any(target.protected for target in targets)
    )


def question_lines(plan: Plan, command: str, width: int = WIDTH) -> list[str]:
    """What will be changed where, for how long it is out, how it is undone, and the same as a command."""
    target = plan.target
    said = labelled("TARGET", [f"{target.name}  {target.service.unit}"], width)
    said += labelled("CHANGE", [change.sentence for change in plan.settings] or [changes(plan)], width)
    said += labelled("ALSO LIVE", [text for text in plan.answers.also_live if text != "nothing"], width)
    said += labelled("OUTAGE", plan.answers.outage, width)
    said += labelled("UNDO", plan.answers.undo, width)
    said += labelled("IF IT FAILS", ["roll back" if plan.on_failure == "rollback" else "stop, nothing undone"], width)
    return [*said, *(labelled("COMMAND", [command], width) if command else [])]


def changes(plan: Plan) -> str:
    kinds = [change.summary or change.kind for change in plan.changes]
    return ", ".join(kinds) if kinds else "nothing is changed: it is so already"
