"""What a look at a host says of a guard that is armed there."""

from __future__ import annotations

import base64
import json
from itertools import pairwise

from console.facts.parse import parse_guard
from console.schema.facts import GuardState
from tests.fakes import FRAGMENT, UNIT, sha256, unit_file

RUN = "01K2EXAMPLE0000000000000ZZ"
SHOWN = f"name=console-guard-chat-{RUN}\nActiveState=active\nNextElapseUSecMonotonic=2min 5s\n".encode()


def ledger(written: str) -> bytes:
    change = {"kind": "file", "real_path": FRAGMENT, "sha256_after": sha256(written.encode())}
    body = json.dumps({"run": RUN, "plan": {"changes": [change, {"kind": "reload"}]}})
    return (
        b"/var/lib/console/chat.service/" + RUN.encode() + b"/change.json\n" + base64.b64encode(body.encode()) + b"\n"
    )


def twice(first: str, second: str, third: str) -> bytes:
    """The ledger of a run that writes one file from the first text to the second, and that to the third."""
    texts = [sha256(text.encode()) for text in (first, second, third)]
    changes = [
        {"kind": "file", "real_path": FRAGMENT, "sha256_before": before, "sha256_after": after}
        for before, after in pairwise(texts)
    ]
    body = base64.b64encode(json.dumps({"run": RUN, "plan": {"changes": changes}}).encode())
    return b"/var/lib/console/chat.service/" + RUN.encode() + b"/change.json\n" + body + b"\n"


def test_one_that_died_between_two_writes_of_a_file_has_something_to_put_back() -> None:
    there = [unit_file(FRAGMENT, UNIT)]
    assert not parse_guard(SHOWN, 60.0, twice("old", UNIT, "new"), there).idle
    assert not parse_guard(SHOWN, 60.0, twice("old", "half", UNIT), there).idle
    assert parse_guard(SHOWN, 60.0, twice(UNIT, "half", "new"), there).idle
    assert parse_guard(SHOWN, 60.0, twice(UNIT, "half", UNIT), there).idle


def test_none_is_armed() -> None:
    assert parse_guard(b"", 60.0, b"", []) == GuardState()


def test_one_whose_change_is_on_disk() -> None:
    state = parse_guard(SHOWN, 60.0, ledger(UNIT), [unit_file(FRAGMENT, UNIT)])
    assert state == GuardState(run=RUN, active=True, idle=False, fires_in_s=65.0)


def test_one_that_has_nothing_to_put_back_stands_in_nobodys_way() -> None:
    assert parse_guard(SHOWN, 60.0, ledger("other"), [unit_file(FRAGMENT, UNIT)]).idle


def test_one_whose_entry_cannot_be_read_is_taken_seriously() -> None:
    assert not parse_guard(SHOWN, 60.0, b"", [unit_file(FRAGMENT, UNIT)]).idle
