"""The lab's journal, in the form of `journalctl -o json`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from console.lab.journal import LINE_MAX, Journal, Record, Stream


def shown(record: Record, *, everything: bool = True) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(record.shown(None, everything))
    return value


def test_a_record_ends_at_a_newline_and_keeps_carriage_returns() -> None:
    journal = Journal()
    stream = Stream(journal, {"_PID": "7"})
    stream.feed(b"one\ntw")
    assert [record.message for record in journal.records] == [b"one"]
    stream.feed(b"o\rthree\n\n")
    assert [record.message for record in journal.records] == [b"one", b"two\rthree"]
    assert shown(journal.records[0])["MESSAGE"] == "one"
    assert shown(journal.records[1])["MESSAGE"] == list(b"two\rthree")


def test_bytes_that_are_no_text_are_a_list() -> None:
    journal = Journal()
    journal.add(b"\xff\xfe", {})
    assert shown(journal.records[0])["MESSAGE"] == [255, 254]


def test_a_long_line_is_null_unless_all_is_asked_for_and_cut_at_48_k() -> None:
    journal = Journal()
    stream = Stream(journal, {})
    stream.feed(b"x" * (LINE_MAX + 10) + b"\n")
    assert [len(record.message) for record in journal.records] == [LINE_MAX, 10]
    assert shown(journal.records[0], everything=False)["MESSAGE"] is None
    assert len(shown(journal.records[0])["MESSAGE"]) == LINE_MAX


def test_what_had_no_newline_is_kept_at_the_end() -> None:
    journal = Journal()
    stream = Stream(journal, {})
    stream.feed(b"last words")
    stream.close()
    assert journal.records[0].message == b"last words"


def test_matches_cursor_and_last() -> None:
    journal = Journal()
    for number in range(6):
        journal.add(str(number).encode(), {"INV": "a" if number % 2 else "b", "UNIT": "u"})
    odd = journal.select([{"INV": ["a"], "UNIT": ["u"]}])
    assert [record.message for record in odd] == [b"1", b"3", b"5"]
    assert journal.select([{"INV": ["a"], "UNIT": ["other"]}]) == []
    assert len(journal.select([{"INV": ["a"]}, {"INV": ["b"]}])) == 6
    cursor = odd[1].fields["__CURSOR"]
    assert [record.message for record in journal.select([{"INV": ["a"]}], after=cursor)] == [b"5"]
    assert [record.message for record in journal.select([], last=2)] == [b"4", b"5"]


def test_a_cursor_of_nobody() -> None:
    with pytest.raises(ValueError, match="nonsense"):
        Journal().select([], after="nonsense")


def test_fields_can_be_chosen() -> None:
    journal = Journal()
    journal.add(b"m", {"A": "1", "B": "2"})
    value = json.loads(journal.records[0].shown(["MESSAGE", "A"], True))
    assert set(value) == {"__CURSOR", "__REALTIME_TIMESTAMP", "__MONOTONIC_TIMESTAMP", "_BOOT_ID", "MESSAGE", "A"}
