"""The operator's words: from the command line, or from their editor before anything begins."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from console.cli import note
from console.cli.output import Output
from console.errors import UsageError


class Terminal(Output):
    is_terminal = True


def asked(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    note.add(parser)
    return parser.parse_args(words)


def editor(folder: Path, script: str) -> dict[str, str]:
    path = folder / "an editor"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return {"EDITOR": f"'{path}' --wait"}


def test_words_need_no_editor() -> None:
    assert note.note_of(asked("--note", "as agreed"), Output(), {}) == "as agreed"
    assert note.note_of(asked(), Output(), {}) == ""


def test_what_the_editor_leaves_without_its_remarks(tmp_path: Path) -> None:
    script = '[ "$1" = --wait ] && grep -q "^# What should" "$2" && printf "first\\n\\nsecond\\n# no\\n" >"$2"'
    words = asked("--note")
    assert note.note_of(words, Terminal(), editor(tmp_path, script)) == "first\n\nsecond"
    assert note.note_of(words, Terminal(), {}) == "first\n\nsecond"  # asked once, for however many targets


def test_nothing_begins_where_the_editor_fails(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="ended with 7: nothing was begun"):
        note.note_of(asked("--note"), Terminal(), editor(tmp_path, "exit 7"))


@pytest.mark.parametrize(("output", "environment"), [(Output(), {"EDITOR": "true"}), (Terminal(), {})])
def test_without_a_terminal_or_an_editor(output: Output, environment: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="needs a terminal"):
        note.note_of(asked("--note"), output, environment)
