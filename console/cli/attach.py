"""`console attach RUN`: follow a run that goes on elsewhere on this machine; stop it, answer it, let it wait longer."""

from __future__ import annotations

import argparse
import asyncio
import getpass
import os
import sys

from console.cli import identity
from console.cli.output import Output
from console.cli.prompt import in_foreground, read_line
from console.clock import SystemClock
from console.errors import ConsoleError, StateError, UsageError
from console.runs.control import Abort, Answer, Extend, Message
from console.runs.directory import RunDirectory, base_folder
from console.runs.listing import find_run, list_runs
from console.runs.log import follow
from console.runs.socket import send_to_run
from console.runs.state import RunState
from console.schema.events import Event, QuestionAsked, RunFinished
from console.views.final import final_lines
from console.views.run import Narration

CHOICES = ("leave", "rollback", "wait")
HELP = "type 'stop', 'extend MINUTES' or an answer; Ctrl-C leaves, and the run goes on"


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_id", nargs="?", default="", metavar="RUN", help="default: the one that goes on")
    parser.add_argument("--abort", action="store_true", help="ask it to stop, as Ctrl-C there would")
    parser.add_argument("--choice", choices=CHOICES, default="", help="with --abort: the answer to what follows")
    parser.add_argument(
        "--answer", default="", metavar="WORD", help="answer the question that it asks now; - asks you for it, unseen"
    )
    parser.add_argument("--extend", type=float, metavar="MINUTES", help="let it wait longer for the service")
    parser.add_argument("--json", action="store_true", help="its events as JSON lines")


def run(arguments: argparse.Namespace, output: Output) -> int:
    directory = find_run(base_folder(os.environ), arguments.run_id) if arguments.run_id else going_on()
    if arguments.answer == "-":
        arguments.answer = unseen(output)
    message = order(arguments)
    try:
        if message is not None:
            asyncio.run(tell(directory, message, output))
            return 0
        return asyncio.run(Attached(directory, output, json=arguments.json).follow())
    except KeyboardInterrupt:
        output.note(f"\nleft; run {directory.run_id} goes on: console attach {directory.run_id} --abort stops it")
        return 0


def unseen(output: Output) -> str:
    """An answer that no list of processes shows: typed at the terminal, else the first line of stdin.

    Raises UsageError where none came.
    """
    try:
        said = getpass.getpass("answer: ") if output.is_terminal else sys.stdin.readline().rstrip("\r\n")
    except EOFError:
        said = ""
    if not said:
        raise UsageError("--answer -, and no answer was given")
    return said


def going_on() -> RunDirectory:
    """The only run of this machine that goes on. Raises UsageError where there is none, or several."""
    alive = [summary.id for summary in list_runs(base_folder(os.environ)) if summary.alive]
    if len(alive) == 1:
        return find_run(base_folder(os.environ), alive[0])
    if not alive:
        raise UsageError("no run goes on here", hint="console runs; one of another machine: console takeover RUN")
    raise UsageError(f"{len(alive)} runs go on: {', '.join(alive)}", hint="name one")


def order(arguments: argparse.Namespace) -> Message | None:
    """What the command line wants said to the run; None: it is only followed. Raises UsageError."""
    by = said_by()
    given: list[Message] = []
    if arguments.abort:
        given.append(Abort(choice=arguments.choice, by=by))
    elif arguments.choice:
        raise UsageError("--choice goes with --abort")
    if arguments.answer:
        given.append(Answer(answer=arguments.answer, by=by))
    if arguments.extend is not None:
        if not 0 < arguments.extend <= 24 * 60:
            raise UsageError("--extend takes minutes, at most a day")
        given.append(Extend(minutes=arguments.extend, by=by))
    if len(given) > 1:
        raise UsageError("one of --abort, --answer, --extend at a time")
    return given[0] if given else None


def said_by() -> str:
    return f"attach by {identity.operator()}"


async def tell(directory: RunDirectory, message: Message, output: Output) -> None:
    """Say one thing. Raises StateError when nobody hears it or it is not taken."""
    if not directory.alive():
        raise StateError(f"run {directory.run_id} does not go on any more", hint="console runs --open")
    reply = await send_to_run(directory.run_id, message, os.environ)
    if not reply.ok:
        raise StateError(reply.message or "the run refused it", where=directory.run_id)
    output.note(f"run {directory.run_id} took it" + (f": {reply.message}" if reply.message else ""))


class Attached:
    """Follows one run's log from its beginning to its end; what is typed here is said to the run."""

    def __init__(self, directory: RunDirectory, output: Output, *, json: bool) -> None:
        self.directory = directory
        self.output = output
        self.json = json
        self.narration = Narration()
        self.exit_code: int | None = None

    @property
    def state(self) -> RunState:
        return self.narration.state

    async def follow(self) -> int:
        """Returns the run's exit code; of one whose process is gone what its events come to."""
        typing = asyncio.ensure_future(self._typed()) if self._may_type() else None
        try:
            async for event in follow(self.directory.events_path, self.directory.alive, SystemClock()):
                self._show(event)
        finally:
            if typing is not None:
                typing.cancel()
        if self.state.finished is None:
            self.output.note(f"the process of run {self.directory.run_id} is gone: console recover")
        return self.state.exit_code

    def _show(self, event: Event) -> None:
        said = self.narration.tell(event)
        if self.json:
            self.output.json(event.line())
            return
        for line in said:
            self.output.note(line.text)
        if isinstance(event, QuestionAsked) and self.directory.alive():
            choices = f"answers: {', '.join(event.choices)}; also with" if event.choices else "answer it with"
            self.output.note(f"  {choices}: {self._command('--answer WORD' if event.choices else '--answer -')}")
        if isinstance(event, RunFinished):
            self.output.data("\n".join(final_lines(self.state)))

    def _command(self, words: str) -> str:
        return f"console attach {self.directory.run_id} {words}"

    def _may_type(self) -> bool:
        if self.json or not self.output.is_terminal or not self.directory.alive():
            return False
        if not in_foreground(sys.stdin.fileno()):
            return False
        self.output.note(HELP)
        return True

    async def _typed(self) -> None:
        while (line := await read_line(sys.stdin.fileno())) is not None:
            try:
                message = meaning(line)
                if message is not None:
                    await tell(self.directory, message, self.output)
            except ConsoleError as error:
                self.output.note(str(error))


def meaning(line: str) -> Message | None:
    """What a typed line says to the run; None for an empty one, which says nothing. Raises UsageError."""
    words = line.split()
    if not words:
        return None
    if words[0] in ("stop", "abort") and len(words) <= 2:
        choice = words[1] if len(words) == 2 else ""
        if choice and choice not in CHOICES:
            raise UsageError(f"stop {choice}? the choices are {', '.join(CHOICES)}")
        return Abort.model_validate({"choice": choice, "by": said_by()})
    if words[0] == "extend":
        try:
            return Extend(minutes=float(words[1]), by=said_by())
        except (IndexError, ValueError):
            raise UsageError("extend takes minutes, at most a day: extend 10") from None
    return Answer(answer=line.strip(), by=said_by())
