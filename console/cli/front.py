"""What a run shows and asks at the command line: events in, narration or JSON lines out."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from console.cli.output import Output
from console.cli.prompt import discard_typed, in_foreground, read_line
from console.schema.events import AbortRequested, Event, RunFinished, StepStarted
from console.untrusted import clean
from console.views.cells import wrap
from console.views.final import final_lines
from console.views.lines import Line
from console.views.run import Narration
from console.views.standing import left_where

if TYPE_CHECKING:
    from console.cli.screen import Screen
    from console.runner.ask import Question
    from console.runner.context import RunContext

NOBODY = "nobody: no terminal"
# Wrong words are asked again this often; then the default holds.
TRIES = 5
WIDEST = 110


class Front:
    """The observer and the asking side of one run.

    `event` is called for every event as it is written; it is quick and never raises, so that a closed pipe or a lost
    terminal does not end a run. `context` is set when the run has started.
    """

    def __init__(self, output: Output, *, json: bool, title: str, end_is_data: bool = True) -> None:
        self.output = output
        self.end_is_data = end_is_data  # else stdout has an answer of its own, and how it ended is narration
        self.json = json
        self.title = title
        self.context: RunContext | None = None
        self.narration = Narration(width=self._width(), asks=not json and output.is_terminal)
        self.screen: Screen | None = self._screen() if not json else None
        self.step_began: dict[tuple[str, str], float] = {}
        self.asking: asyncio.Future[None] | None = None
        self.held: list[Line] = []

    def _width(self) -> int:
        if not sys.stderr.isatty():
            return 80
        try:
            columns = os.get_terminal_size(sys.stderr.fileno()).columns
        except (OSError, ValueError):
            return 80
        return max(40, min(WIDEST, columns or 80))

    def _screen(self) -> Screen | None:
        """A screen that redraws, where there is one that may; plain lines anywhere else."""
        plain = os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") == "dumb"
        if plain or not sys.stderr.isatty():
            return None
        from console.cli.screen import Screen

        return Screen(sys.stderr, self.narration.width)

    def close(self) -> None:
        """Leave the terminal as it was; a run that ends early calls it too."""
        if self.screen is not None:
            with suppress(OSError):
                self.screen.clear()
            self.screen = None

    # -- what it shows ---------------------------------------------------------------------------------------------

    def event(self, event: Event) -> None:
        try:
            self._event(event)
        except OSError:
            # The pipe is closed or the terminal gone; the run and its log go on.
            self.output.let_go()
        except Exception as error:  # noqa: BLE001 - a view's bug must not stop a run that changes a host
            self._note(f"console: this event cannot be shown: {type(error).__name__}: {error}")

    def _event(self, event: Event) -> None:
        said = self.narration.tell(event)
        if isinstance(event, AbortRequested):
            self._interrupt()
        if self.json:
            self.output.json(event.line())
            if isinstance(event, AbortRequested) and len(self.narration.state.aborts) > 1:
                self._note("\n".join(left_where(self.narration.state)))
            return
        if isinstance(event, StepStarted) and self.context is not None:
            self.step_began[event.target, event.step] = self.context.clock.monotonic()
        if self.asking is not None:
            self.held.extend(said)
        else:
            self._narrate(said)
        if isinstance(event, RunFinished):
            self.close()
            tell = self.output.data if self.end_is_data else self.output.note
            tell("\n".join(final_lines(self.narration.state, self.narration.width)))

    def _narrate(self, said: Sequence[Line]) -> None:
        """Say it on stderr. When that is gone the result on stdout may still have a reader."""
        try:
            if self.screen is not None:
                kept = [replace(line, text=self._safe(line.text)) for line in said if not line.passing]
                self.screen.tell(kept, self._going_on)
                return
            for line in said:
                self.output.note(line.text)
        except OSError:
            self.screen = None
            self.output.let_go()

    def _safe(self, text: str) -> str:
        return clean(self.output.redactor.text(text))

    def _going_on(self) -> list[str]:
        return [self._safe(text) for text in self.narration.going_on(self._elapsed_s)]

    def _elapsed_s(self, target: str, step: str) -> float | None:
        began = self.step_began.get((target, step))
        return None if began is None or self.context is None else self.context.clock.monotonic() - began

    def _note(self, text: str) -> None:
        with suppress(OSError):
            self.output.note(text)

    # -- what it asks ----------------------------------------------------------------------------------------------

    async def ask(self, question: Question) -> tuple[str, str]:
        """The answer of the person at the terminal; the default for an empty line, the end of input or no terminal."""
        descriptor = self._terminal()
        if descriptor is None:
            if self.narration.asks:  # a terminal, but not ours to read now: a job in the background
                self._note("\n".join(question_lines(question, self.narration.width)))
            return question.default, NOBODY
        self.asking = asyncio.get_running_loop().create_future()
        try:
            return await self._ask(question, descriptor, self.asking)
        except OSError:
            return question.default, "nobody: the terminal is gone"
        finally:
            self.asking = None
            held, self.held = self.held, []
            self._narrate(held)

    def _terminal(self) -> int | None:
        if self.json or not self.output.is_terminal:
            return None
        try:
            descriptor = sys.stdin.fileno()
        except (OSError, ValueError):
            return None
        return descriptor if in_foreground(descriptor) else None

    async def _ask(self, question: Question, descriptor: int, stop: asyncio.Future[None]) -> tuple[str, str]:
        if self.screen is not None:
            self.screen.clear()
        self.output.note("\n".join(question_lines(question, self.narration.width)))
        for _ in range(TRIES):
            discard_typed(descriptor)
            self.output.prompt(f"{prompt_text(question)} ")
            reading: asyncio.Future[str | None] = asyncio.ensure_future(read_line(descriptor))
            either: set[asyncio.Future[Any]] = {reading, stop}
            try:
                await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
                if not reading.done():
                    self.output.note("")
                    return question.default, "terminal: stopped"
                line = reading.result()
            finally:
                reading.cancel()
            if line is None:
                self.output.note("")
                return question.default, "terminal: end of input"
            word = line.strip()
            if not word:
                return question.default, "terminal: empty line"
            answer = meaning(question, word)
            if answer:
                return answer, "terminal"
        return question.default, "terminal: no answer that was asked for"

    def _interrupt(self) -> None:
        """A stop answers an open question with its default."""
        if self.asking is not None and not self.asking.done():
            self.asking.set_result(None)


def question_lines(question: Question, width: int) -> list[str]:
    """The question and, where they have one, the price of each choice."""
    said = ["", *wrap(question.text, width, first=f"{question.target}: ", rest="  ")]
    for choice in question.choices:
        price = question.prices.get(choice, "")
        if price:
            said += wrap(price, width, first=f"  {choice:<9} ")
    return said


def prompt_text(question: Question) -> str:
    """What to type, in full words, and what an empty line means."""
    if question.typed:
        return f"Type {question.typed} to go on; an empty line means {question.default}:"
    return f"Type {' | '.join(question.choices)} in full; an empty line means {question.default}:"


def meaning(question: Question, word: str) -> str:
    """The choice that a typed word makes, or nothing. What mutates must be typed in full."""
    choice = word.lower() if word.lower() in question.choices else ""
    if question.typed:
        # A bare "yes" does not name the host, so it is no answer here.
        return choice if choice not in ("", "yes") else "yes" if word == question.typed else ""
    return choice
