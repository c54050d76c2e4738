"""Questions to a person: what, which answers there are, what each costs, and what happens without one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from console.schema.events import Event, QuestionAnswered, QuestionAsked


@dataclass(frozen=True)
class Question:
    """`default` is the answer of an empty line, EOF or a lost terminal; it never mutates.

    `typed`: the answer that means yes must be this word, typed in full. Without choices any answer counts; `unseen`: it
    is not shown while it is typed.
    """

    id: str
    target: str
    text: str
    choices: tuple[str, ...]
    default: str
    prices: Mapping[str, str] = field(default_factory=dict)
    typed: str = ""
    unseen: bool = False


class Ask(Protocol):
    """Who can be asked. Returns one of the choices; the default when nobody answers."""

    async def ask(self, question: Question) -> tuple[str, str]:
        """The answer, and by whom."""
        ...


class Nobody:
    """No terminal: every question gets its default."""

    async def ask(self, question: Question) -> tuple[str, str]:
        return question.default, "nobody: no terminal"


class Desk:
    """Puts one question at a time, to the front and to whoever is attached; the first answer counts."""

    def __init__(self, front: Ask, emit: Callable[[Event], object]) -> None:
        self.front = front
        self.emit = emit
        self.turn = asyncio.Lock()
        self.pending: Question | None = None
        self.answered: asyncio.Future[tuple[str, str]] | None = None
        self.closed = False

    def answer(self, question_id: str, answer: str, by: str) -> str:
        """An answer from outside. Returns what is wrong with it, or nothing."""
        if self.pending is None or self.answered is None or self.answered.done():
            return "nothing is asked"
        if question_id and question_id != self.pending.id:
            return f"{question_id!r} is not what is asked: {self.pending.id!r} is"
        if self.pending.choices and answer not in self.pending.choices:
            return f"answers: {', '.join(self.pending.choices)}"
        self.answered.set_result((answer, by))
        return ""

    async def put(self, question: Question) -> str:
        async with self.turn:
            self._open(question)
            assert self.answered is not None
            front = asyncio.ensure_future(self.front.ask(question))
            try:
                await asyncio.wait({front, self.answered}, return_when=asyncio.FIRST_COMPLETED)
                answer, by = self.answered.result() if self.answered.done() else front.result()
            finally:
                front.cancel()
                self.pending = None
            if answer not in question.choices:
                answer = question.default
            self.emit(QuestionAnswered(target=question.target, question=question.id, answer=answer, by=by))
            return answer

    async def put_outside(self, question: Question, wait_s: float) -> str | None:
        """Ask those who are attached, and nobody else; the answer in their own words, which no event repeats.

        None when nobody answers in time.
        """
        async with self.turn:
            self._open(question)
            assert self.answered is not None
            answer, by = None, "nobody: in time"
            try:
                async with asyncio.timeout(wait_s):
                    answer, by = await self.answered
            except TimeoutError:
                pass
            finally:
                self.pending = None
                given = "given" if answer else "none"
                if not self.closed:
                    self.emit(QuestionAnswered(target=question.target, question=question.id, answer=given, by=by))
            return answer

    def close(self) -> None:
        """The run has ended; nobody waits for an answer any more."""
        self.closed = True
        if self.answered is not None:
            self.answered.cancel()

    def _open(self, question: Question) -> None:
        self.emit(
            QuestionAsked(
                target=question.target,
                question=question.id,
                text=question.text,
                choices=question.choices,
                prices=dict(question.prices),
                default=question.default,
                unseen=question.unseen,
            )
        )
        self.pending = question
        self.answered = asyncio.get_running_loop().create_future()
