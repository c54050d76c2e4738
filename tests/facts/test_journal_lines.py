"""journald's JSON as lines of text."""

from __future__ import annotations

import asyncio
import json

import pytest

from console.engines.registry import engine_named
from console.facts.journal import SLICE_LINES, Journal, parse_in_slices, parse_journal, read_line
from console.secrets import Redactor

ENGINE = engine_named("sglang")


def entry(message: object, **more: str) -> bytes:
    body = {
        "__CURSOR": "s=1",
        "__REALTIME_TIMESTAMP": "1767322800500000",
        "_SYSTEMD_INVOCATION_ID": "inv",
        "MESSAGE": message,
    }
    return json.dumps(body | more).encode() + b"\n"


def parse(output: bytes, redactor: Redactor | None = None) -> Journal:
    return parse_journal(output, redactor or Redactor(), ENGINE)


def test_text_time_start_and_cursor() -> None:
    (line,) = parse(entry("hello")).lines
    assert (line.text, line.at, line.invocation, line.cursor) == ("hello", 1767322800.5, "inv", "s=1")


def test_bytes_that_are_not_utf8_arrive_as_numbers() -> None:
    (line,) = parse(entry(list(b"caf\xe9 \xf0\x9f\x90\x8d"))).lines
    assert line.text == "caf\ufffd 🐍"


def test_a_redrawn_progress_bar_is_many_lines() -> None:
    shards = "Loading safetensors checkpoint shards:   0% | 0/64\rLoading safetensors checkpoint shards:  50% | 32/64"
    assert [line.text[-5:] for line in parse(entry(shards)).lines] == [" 0/64", "32/64"]


def test_a_repeated_field_is_several_lines() -> None:
    assert [line.text for line in parse(entry(["one", "two"])).lines] == ["one", "two"]


def test_a_message_too_large_for_journald_is_no_line() -> None:
    journal = parse(entry(None))
    assert journal.lines == ()
    assert journal.cursor == "s=1"


def test_what_systemd_says_of_a_unit_belongs_to_its_start() -> None:
    raw = entry("Main process exited, code=killed", INVOCATION_ID="inv").replace(
        b'"_SYSTEMD_INVOCATION_ID": "inv", ', b""
    )
    assert parse(raw).lines[0].invocation == "inv"


def test_a_torn_line_and_complaints_are_no_lines() -> None:
    journal = parse(b"No journal files were found.\n" + entry("ok") + b'{"__CURSOR": "s=2", "MESS')
    assert [line.text for line in journal.lines] == ["ok"]
    assert journal.complaints == "No journal files were found."
    assert journal.cursor == "s=1"


def test_escapes_are_shown_and_secrets_masked_but_the_engine_reads_the_line_as_it_was() -> None:
    redactor = Redactor()
    redactor.learn("made-up-key")
    journal = parse(
        entry("[2026-01-02 03:00:00] server_args=ServerArgs(context_length=32768, api_key='made-up-key')\x1b[0m"),
        redactor,
    )
    (line,) = journal.lines
    assert "\x1b" not in line.text
    assert "made-up-key" not in line.text
    assert line.read is not None
    assert line.read.kind == "args"
    assert line.read.values["context"] == 32768
    assert "made-up-key" not in line.read.text


def test_no_line_is_longer_than_a_screen_can_bear() -> None:
    (line,) = parse(entry("x" * 100_000)).lines
    assert len(line.text) == 4000


def test_what_compose_puts_before_a_line_hides_it_from_nobody() -> None:
    (line,) = parse(entry("chat-1  | [2026-01-02 03:01:35] The server is fired up and ready to roll!")).lines
    assert line.read is not None
    assert line.read.kind == "ready"
    assert line.text.startswith("chat-1  | ")


@pytest.mark.parametrize(
    "before",
    [
        "",
        "web-1  | ",
        "Oct  3 08:00:00 node7 vllm[42]: ",
        "Okt 03 08:00:00 node7 vllm[42]: ",
        "Mär 03 08:00:00 node7 vllm: ",
        "févr. 03 08:00:00 node7.example.net chat@a.service[42]: ",
        "мар 03 08:00:00 node7 vllm[42]: ",
        "3月 03 08:00:00 node7 vllm[42]: ",
        "3 mars 08:00:00 node7 vllm[42]: ",
    ],
)
def test_what_a_syslog_puts_before_a_line_is_passed_over_in_any_language(before: str) -> None:
    told = "INFO:     Application startup complete."
    read = read_line(engine_named("vllm"), f"{before}{told}")
    assert read is not None
    assert read.kind == "ready"


async def test_thousands_of_lines_say_the_same_in_slices_and_let_others_go_on() -> None:
    raw = b"-- a word of journalctl\n" + b"".join(
        entry(f"line {number}", __CURSOR=f"s={number}") for number in range(10 * SLICE_LINES + 7)
    )
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    beside = asyncio.create_task(other())
    assert await parse_in_slices(raw, Redactor(), ENGINE) == parse(raw)
    beside.cancel()
    assert turns >= 10
