"""Answering what a run asks: the answer typed in full; where it lets a host be changed, the host's name instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from textual.binding import BindingType

from console.errors import StateError
from console.runs.control import Answer
from console.runs.socket import send_to_run
from console.schema.events import QuestionAsked
from console.tui.keys import bindings
from console.tui.session import Session
from console.tui.typed import TypedModal
from console.views.answers import labelled

WIDTH = 74


class AnswerScreen(TypedModal[str]):
    """Dismissed with the answer, or with None: then nothing is sent and the run goes on waiting."""

    NAME: ClassVar[str] = "answer"
    BINDINGS: ClassVar[list[BindingType]] = bindings("answer")
    WHEN_TYPED: ClassVar[str] = "send_answer"

    def __init__(self, session: Session, question: QuestionAsked) -> None:
        super().__init__(session)
        self.question = question
        self.wanted = typed_answers(question)
        self.hidden = question.unseen

    def asked(self) -> list[str]:
        return answer_lines(self.question, self.room)

    def action_send_answer(self) -> None:
        typed = self.typed()
        if typed in self.wanted:
            self.dismiss(self.wanted[typed])
        elif typed and not self.wanted:
            self.session.redactor.learn(typed)
            self.dismiss(typed)
        elif typed:
            self.wrong(f"{typed!r} is none of {', '.join(self.wanted)}: nothing sent")


def typed_answers(question: QuestionAsked) -> Mapping[str, str]:
    """What must be typed → what is sent. A yes to a change is the host's name, as for every start."""
    host = question.target.partition("/")[0]
    yes = question.question == "confirm" and host
    return {host if yes and choice == "yes" else choice: choice for choice in question.choices}


def answer_lines(question: QuestionAsked, width: int = WIDTH) -> list[str]:
    """What is asked, and what each answer costs."""
    said = labelled("THE RUN ASKS", question.text.splitlines() or [""], width)
    said += labelled("OF", [question.target], width) if question.target else []
    said.append("")
    for typed, choice in typed_answers(question).items():
        price = question.prices.get(choice, "")
        default = "also when nobody answers" if choice == question.default else ""
        said += labelled(typed, ["; ".join(text for text in (price, default) if text) or f"answers {choice}"], width)
    if not question.choices:
        return [*said, "Type the answer; it goes to the run's process, and no file keeps it"]
    return [*said, "", "Type one of them in full"]


async def answer_run(run: str, question: QuestionAsked, answer: str, environment: Mapping[str, str]) -> str:
    """Send it to the run; returns what to say about it."""
    try:
        reply = await send_to_run(run, Answer(question=question.question, answer=answer, by="tui"), environment)
    except StateError as error:
        return str(error)
    return (
        f"answered: {answer if question.choices else 'what was asked'}"
        if reply.ok
        else f"the run did not take it: {reply.message}"
    )
