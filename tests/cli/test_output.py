"""What ends a command is one message and one exit code; nothing hostile and no secret gets out."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from console import errors
from console.cli.output import BROKEN_PIPE, INTERRUPTED, Output
from console.errors import ConsoleError

ROOT = Path(__file__).parents[2]
KEY = "plain-word-9000"


def ended(error: BaseException | None) -> int:
    with Output().ending() as end:
        if error is not None:
            raise error
    return end.code


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (None, 0),
        (errors.UsageError("x"), 2),
        (errors.RefusedError("x"), 1),
        (errors.LockHeldError("x"), 6),
        (errors.SudoError("x"), 7),
        (errors.ForeignEditError("x"), 8),
        (errors.RestartedByOthersError("x"), 3),
        (errors.ConnectionLostError("x"), 9),
        (errors.AbortedError("x"), 130),
        (KeyboardInterrupt(), INTERRUPTED),
        (ValueError("x"), 1),
    ],
)
def test_exit_codes(error: BaseException | None, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(error) == code
    said = capsys.readouterr()
    assert said.out == ""
    assert bool(said.err) is (error is not None)


def test_an_error_says_what_where_and_what_next(capsys: pytest.CaptureFixture[str]) -> None:
    ended(errors.RefusedError("no room", where="node7/chat", hint="make some"))
    assert capsys.readouterr().err == "console: node7/chat: no room\n  next: make some\n"


def test_hostile_words_of_an_error_are_made_harmless(capsys: pytest.CaptureFixture[str]) -> None:
    ended(errors.RefusedError("a\x1b[2Jb"))
    assert "\x1b" not in capsys.readouterr().err


def crash(secret: str) -> None:
    local_value = f"local {secret}"
    raise ValueError(f"{len(local_value)} is wrong: --api-key {secret}")


def test_a_bug_leaves_a_traceback_without_local_values_and_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with Output().ending() as end:
        crash(KEY)
    assert end.code == 1
    kept = tmp_path / "console" / "crash.txt"
    text = kept.read_text()
    assert "in crash" in text
    assert "--api-key ***" in text
    assert f"local {KEY}" not in text
    assert KEY not in text
    assert kept.stat().st_mode & 0o777 == 0o600
    said = capsys.readouterr().err
    assert "this is a bug; the traceback is in" in said
    assert KEY not in said
    assert "Traceback" not in said


def test_a_bug_is_told_even_where_nothing_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert ended(ValueError("odd")) == 1
    said = capsys.readouterr().err
    assert "ValueError: odd" in said
    assert "could not be kept" in said


def test_data_goes_to_stdout_and_notes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    output = Output()
    output.data("answer")
    output.note("narration")
    output.prompt("Sure? ")
    assert capsys.readouterr() == ("answer\n", "narration\nSure? ")


def test_every_way_out_masks_secrets(capsys: pytest.CaptureFixture[str]) -> None:
    output = Output()
    output.redactor.learn(KEY)
    for say in (output.data, output.note, output.raw, output.prompt):
        say(f"[{KEY}]")
    output.json({"said": f"[{KEY}]", "api_key": "another"})
    said = "".join(capsys.readouterr())
    assert len(set(re.findall(r"\[(\*{3}[0-9a-f]{6})\]", said))) == 1
    assert said.count("[***") == 5
    assert KEY not in said
    assert "another" not in said


def test_json_is_one_line_whatever_is_in_it(capsys: pytest.CaptureFixture[str]) -> None:
    value = {"text": "a\n\x1b[2J\x7f\u2028é\ud800", "n": None}
    Output().json(value)
    line = capsys.readouterr().out
    assert line.endswith("\n")
    assert line.count("\n") == 1
    assert all(32 <= ord(character) < 127 for character in line[:-1])
    assert json.loads(line) == value


@pytest.mark.parametrize("name", ["data", "note", "prompt"])
def test_controls_are_made_visible(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    getattr(Output(), name)("a\x1b]0;x\x07\u202eb\x9b")
    said = "".join(capsys.readouterr())
    assert not {"\x1b", "\x07", "\u202e", "\x9b"} & set(said)


SCRIPT = """
import re
import sys
from console.cli.output import Output
from console.errors import LockHeldError
output = Output()
with output.ending() as end:
    {body}
sys.exit(end.code)
"""


def into_closed_pipes(body: str, *closed: str) -> subprocess.Popen[bytes]:
    """Run `body` with pipes that nobody reads as these streams."""
    streams: dict[str, int] = {}
    readers, writers = [], []
    for name in closed:
        reader, writer = os.pipe()
        readers.append(reader)
        writers.append(writer)
        streams[name] = writer
    for reader in readers:
        os.close(reader)
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(body=body)],
        cwd=ROOT,
        stdout=streams.get("stdout", subprocess.PIPE),
        stderr=streams.get("stderr", subprocess.PIPE),
    )
    for writer in writers:
        os.close(writer)
    return process


def test_a_reader_of_stdout_that_went_away_is_no_error_of_ours() -> None:
    process = into_closed_pipes("output.data('x')", "stdout")
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (BROKEN_PIPE, b"")


def test_an_error_keeps_its_exit_code_though_nobody_reads_it() -> None:
    process = into_closed_pipes("raise LockHeldError('held')", "stderr")
    process.communicate(timeout=60)
    assert process.returncode == 6


def test_both_gone() -> None:
    process = into_closed_pipes("output.data('x')", "stdout", "stderr")
    process.communicate(timeout=60)
    assert process.returncode == BROKEN_PIPE


def test_a_locale_without_utf8_costs_no_answer() -> None:
    environment = dict(os.environ) | {"PYTHONIOENCODING": "ascii", "PYTHONPATH": str(ROOT)}
    script = SCRIPT.format(body="output.data('é → 模型'); output.note('é')")
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, cwd=ROOT, capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, b"\\xe9 \\u2192 \\u6a21\\u578b\n")


def test_every_error_of_the_tree_has_an_exit_code_that_is_documented() -> None:
    page = (ROOT / "docs/change-a-setting.md").read_text()
    codes = {
        each.exit_code for each in vars(errors).values() if isinstance(each, type) and issubclass(each, ConsoleError)
    }
    for code in codes:
        assert f"| {code} |" in page
