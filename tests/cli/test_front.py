from __future__ import annotations

import asyncio
import fcntl
import io
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import tty
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import pytest

from console.cli.front import NOBODY, Front
from console.cli.output import Output
from console.runner.ask import Question
from console.schema.events import AbortRequested, Event, LogLine
from tests.views import story
from tests.views.samples import HOSTILE, LONG

CONFIRM = Question(id="confirm", target=story.TARGET, text="Restart it?", choices=("yes", "no"), default="no")
TYPED = Question(
    id="confirm", target=story.TARGET, text="Restart it?", choices=("yes", "no"), default="no", typed="node7"
)
AFTER_STOP = Question(
    id="after-abort",
    target=story.TARGET,
    text="stopped; loading when last seen",
    choices=("leave", "rollback", "wait"),
    default="leave",
    prices={"leave": "the new process goes on loading", "rollback": "about 6 min without service"},
)

PROMPT = "an empty line means"


@dataclass
class Terminal:
    """A real terminal: `front` has it as stdin and stderr, `typed` is what a person types, `shown` what they see."""

    controller: int
    stdin: TextIO
    stderr: TextIO
    monkeypatch: pytest.MonkeyPatch
    seen: bytearray = field(default_factory=bytearray)
    out: io.StringIO = field(default_factory=io.StringIO)
    news: asyncio.Event = field(default_factory=asyncio.Event)

    def front(self, *, as_json: bool = False) -> Front:
        # Here and not in a fixture: pytest puts its own streams back between a fixture and its test.
        for name in ("stdin", "stderr"):
            self.monkeypatch.setattr(sys, name, getattr(self, name))
        self.monkeypatch.setattr(sys, "stdout", self.out)
        return front(as_json=as_json)

    def type(self, text: str) -> None:
        os.write(self.controller, text.encode())

    def read(self) -> None:
        with suppress(OSError):
            self.seen.extend(os.read(self.controller, 65536))
        self.news.set()

    async def shown(self, text: str, times: int = 1) -> str:
        """Everything seen once `text` is on the screen."""
        async with asyncio.timeout(10.0):
            while self.text.count(text) < times:
                self.news.clear()
                await self.news.wait()
        return self.text

    @property
    def text(self) -> str:
        return self.seen.decode("utf-8", "replace")


@pytest.fixture
async def terminal(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Terminal]:
    """A pseudo terminal of 80 columns that echoes nothing, so what is seen is what was written."""
    controller, process_end = pty.openpty()
    fcntl.ioctl(process_end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    modes = termios.tcgetattr(process_end)
    modes[3] &= ~termios.ECHO
    termios.tcsetattr(process_end, termios.TCSANOW, modes)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    loop = asyncio.get_running_loop()
    stdin, stderr = os.fdopen(process_end), os.fdopen(os.dup(process_end), "w")
    made = Terminal(controller, stdin, stderr, monkeypatch)
    loop.add_reader(controller, made.read)
    yield made
    loop.remove_reader(controller)
    with suppress(OSError):  # a test closed it: the terminal is lost
        os.close(controller)
    stdin.close()
    with suppress(OSError):
        stderr.close()


def front(*, as_json: bool = False) -> Front:
    return Front(Output(), json=as_json, title="Extend the served context window")


async def asked(question: Question, terminal: Terminal, *lines: str) -> tuple[str, str]:
    """Put the question and type a line each time it is asked."""
    asking = asyncio.ensure_future(terminal.front().ask(question))
    for times, line in enumerate(lines, start=1):
        await terminal.shown(PROMPT, times)
        terminal.type(line)
    return await asyncio.wait_for(asking, 10.0)


# -- what it shows -----------------------------------------------------------------------------------------------------


def test_narration_goes_to_stderr_and_the_result_to_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    told = front()
    for event in story.verified():
        told.event(event)
    out, err = capsys.readouterr()
    assert out.startswith("target      outcome   exit   time  settings\nnode7/chat  verified     0  6m02s")
    assert "next: console facts node7/chat" in out
    assert "[8/8] ok       prove that the setting serves" in err
    assert "\x1b" not in out + err


def test_json_is_events_on_stdout_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    told = front(as_json=True)
    events = story.verified()
    for event in events:
        told.event(event)
    out, err = capsys.readouterr()
    assert [json.loads(line) for line in out.splitlines()] == [event.line() for event in events]
    assert err == ""


@pytest.mark.parametrize("poison", [HOSTILE, LONG, "\x7f\x9b", 'a "b\\" API_KEY=***\nc', "\ud800"])
def test_a_json_line_is_whole_ascii_whatever_a_host_said(poison: str, capsys: pytest.CaptureFixture[str]) -> None:
    told = front(as_json=True)
    told.event(LogLine(target=story.TARGET, kind="failure", text=poison))
    line = capsys.readouterr().out.removesuffix("\n")
    assert line.isascii()
    assert line.isprintable()
    assert json.loads(line)["text"] == poison


def test_a_second_stop_says_what_is_left_where_in_json_too(capsys: pytest.CaptureFixture[str]) -> None:
    told = front(as_json=True)
    for event in story.stopped_twice()[:-1]:
        told.event(event)
    assert capsys.readouterr().err == ""
    told.event(story.stopped_twice()[-1])
    assert f"sudo sh {story.LEDGER}/undo.sh" in capsys.readouterr().err


def test_secrets_are_masked_on_the_way_out(capsys: pytest.CaptureFixture[str]) -> None:
    told = front()
    told.output.redactor.learn("canary-value-4711")
    told.event(LogLine(target=story.TARGET, kind="failure", text="key canary-value-4711 refused"))
    said = capsys.readouterr().err
    assert "canary" not in said
    assert re.search(r"key \*\*\*[0-9a-f]{6} refused", said)


class Broken(io.StringIO):
    def write(self, text: str) -> int:
        raise BrokenPipeError(32, "Broken pipe")


@pytest.mark.parametrize("as_json", [False, True])
def test_a_reader_that_went_away_does_not_end_the_run(
    as_json: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", Broken())
    if as_json:
        monkeypatch.setattr(sys, "stdout", Broken())
    told = front(as_json=as_json)
    for event in story.verified():
        told.event(event)
    if not as_json:
        assert capsys.readouterr().out.startswith("target ")


def test_a_bug_of_a_view_is_said_and_the_run_goes_on(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    told = front()

    def fail(event: Event) -> list[Any]:
        raise ValueError("unexpected")

    monkeypatch.setattr(told.narration, "tell", fail)
    told.event(story.started())
    assert "this event cannot be shown: ValueError: unexpected" in capsys.readouterr().err


async def test_a_terminal_is_redrawn_and_left_as_it_was(terminal: Terminal) -> None:
    told = terminal.front()
    assert told.screen is not None
    events = story.verified()
    for event in events[:-1]:
        told.event(event)
        await asyncio.sleep(0)
    told.event(events[-1])
    assert told.screen is None
    text = await terminal.shown("committed")
    assert "weights [###.............] 5/24, eta 5m30s" in text
    assert all(hidden.startswith("\x1b[?25h") for hidden in text.split("\x1b[?25l")[1:]), "the cursor is never hidden"
    kept = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
    assert "[7/8] ok       wait until the new process serves                           5m45s" in kept
    assert "[7/8] ..." not in kept
    assert "\x1b" not in terminal.out.getvalue()


async def test_markup_and_escapes_of_a_host_stay_text_on_a_terminal(terminal: Terminal) -> None:
    told = terminal.front()
    told.event(LogLine(target=story.TARGET, kind="failure", text=HOSTILE + " :smile: end"))
    text = await terminal.shown("end")
    assert r"| a[/red][bold]b\x1b[2Jc\u202ed\u200be\x07f :smile: end" in text
    assert "\x1b[2J" not in text


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
async def test_a_terminal_that_may_not_be_redrawn_gets_plain_lines(
    name: str, value: str, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    told = terminal.front()
    for event in story.verified():
        told.event(event)
    text = await terminal.shown("committed")
    assert "\x1b" not in text + terminal.out.getvalue()
    assert "[7/8] ...      weights" in text


def test_a_locale_without_utf8_costs_no_result() -> None:
    code = "from console.cli.output import Output; Output().data('模 …')"
    root = Path(__file__).parents[2]
    environment = os.environ | {"PYTHONIOENCODING": "latin-1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, cwd=root, env=environment)
    assert done.stdout == b"\\u6a21 \\u2026\n"


def test_rich_is_not_loaded_before_a_screen_is_drawn() -> None:
    code = "import sys, console.cli.front; print([name for name in sys.modules if name.split('.')[0] == 'rich'])"
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    assert done.stdout.strip() == "[]"


# -- what it asks ------------------------------------------------------------------------------------------------------


async def test_without_a_terminal_the_default_holds(capsys: pytest.CaptureFixture[str]) -> None:
    assert await front().ask(CONFIRM) == ("no", NOBODY)
    assert await front(as_json=True).ask(AFTER_STOP) == ("leave", NOBODY)


async def test_json_never_asks_even_at_a_terminal(terminal: Terminal) -> None:
    assert await terminal.front(as_json=True).ask(CONFIRM) == ("no", NOBODY)


async def test_yes_is_typed_in_full(terminal: Terminal) -> None:
    assert await asked(CONFIRM, terminal, "yes\n") == ("yes", "terminal")


async def test_a_short_yes_is_asked_again(terminal: Terminal) -> None:
    assert await asked(CONFIRM, terminal, "y\n", "no\n") == ("no", "terminal")
    assert "Type yes | no in full" in terminal.text


@pytest.mark.parametrize(("typed", "by"), [("\n", "terminal: empty line"), ("  \n", "terminal: empty line")])
async def test_an_empty_line_is_the_default(typed: str, by: str, terminal: Terminal) -> None:
    assert await asked(CONFIRM, terminal, typed) == ("no", by)


async def test_the_end_of_input_is_the_default(terminal: Terminal) -> None:
    assert await asked(CONFIRM, terminal, "\x04") == ("no", "terminal: end of input")


async def test_a_word_without_its_line_end_is_no_answer(terminal: Terminal) -> None:
    assert await asked(CONFIRM, terminal, "yes\x04\x04") == ("no", "terminal: end of input")


async def test_a_lost_terminal_is_the_default(terminal: Terminal) -> None:
    asking = asyncio.ensure_future(terminal.front().ask(CONFIRM))
    await terminal.shown(PROMPT)
    asyncio.get_running_loop().remove_reader(terminal.controller)
    os.close(terminal.controller)
    answer, _ = await asyncio.wait_for(asking, 10.0)
    assert answer == "no"


async def test_what_was_typed_before_the_question_answers_nothing(terminal: Terminal) -> None:
    terminal.type("yes\nyes\n")
    await asyncio.sleep(0)
    asking = asyncio.ensure_future(terminal.front().ask(CONFIRM))
    await terminal.shown(PROMPT)
    terminal.type("no\n")
    assert await asyncio.wait_for(asking, 10.0) == ("no", "terminal")


async def test_the_host_is_named_in_full(terminal: Terminal) -> None:
    assert await asked(TYPED, terminal, "yes\n", "node\n", "NODE7\n", "node7\n") == ("yes", "terminal")
    assert "Type node7 to go on; an empty line means no:" in terminal.text


async def test_no_needs_no_name(terminal: Terminal) -> None:
    assert await asked(TYPED, terminal, "no\n") == ("no", "terminal")


async def test_wrong_words_end_in_the_default(terminal: Terminal) -> None:
    assert await asked(TYPED, terminal, *["what\n"] * 5) == ("no", "terminal: no answer that was asked for")


async def test_each_choice_shows_its_price(terminal: Terminal) -> None:
    assert await asked(AFTER_STOP, terminal, "rollback\n") == ("rollback", "terminal")
    assert re.search(r"rollback +about 6 min without service", terminal.text)
    assert re.search(r"leave +the new process goes on loading", terminal.text)


async def test_a_stop_while_asking_is_the_default_at_once(terminal: Terminal) -> None:
    told = terminal.front()
    asking = asyncio.ensure_future(told.ask(CONFIRM))
    await terminal.shown(PROMPT)
    told.event(AbortRequested(how="SIGINT"))
    assert await asyncio.wait_for(asking, 1.0) == ("no", "terminal: stopped")
    assert "STOP (SIGINT)" in await terminal.shown("STOP")


async def test_an_answer_from_elsewhere_takes_the_question_back(terminal: Terminal) -> None:
    told = terminal.front()
    asking = asyncio.ensure_future(told.ask(CONFIRM))
    await terminal.shown(PROMPT)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    terminal.type("yes\n")  # nobody reads it any more, and the next question throws it away
    await asyncio.sleep(0)
    asking = asyncio.ensure_future(told.ask(CONFIRM))
    await asyncio.sleep(0.05)
    assert not asking.done()
    terminal.type("no\n")
    assert await asyncio.wait_for(asking, 10.0) == ("no", "terminal")


async def test_nothing_is_said_into_an_open_question(terminal: Terminal) -> None:
    told = terminal.front()
    asking = asyncio.ensure_future(told.ask(CONFIRM))
    await terminal.shown(PROMPT)
    told.event(LogLine(target=story.TARGET, kind="failure", text="from another target"))
    await asyncio.sleep(0.05)
    assert "from another target" not in terminal.text
    terminal.type("no\n")
    await asking
    await terminal.shown("from another target")


async def test_the_loop_goes_on_while_somebody_thinks(terminal: Terminal) -> None:
    asking = asyncio.ensure_future(terminal.front().ask(CONFIRM))
    await terminal.shown(PROMPT)
    turns = 0
    for _ in range(50):
        await asyncio.sleep(0)
        turns += 1
    assert turns == 50
    assert not asking.done()
    terminal.type("\n")
    await asking


async def test_a_raw_terminal_is_read_too(terminal: Terminal) -> None:
    tty.setcbreak(terminal.stdin.fileno())
    asking = asyncio.ensure_future(terminal.front().ask(CONFIRM))
    await terminal.shown(PROMPT)
    for character in "yes\n":
        terminal.type(character)
        await asyncio.sleep(0.005)
    assert await asyncio.wait_for(asking, 10.0) == ("yes", "terminal")
