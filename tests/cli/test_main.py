"""The front door: every command is there and documented, a wrong one is told, and looking at help loads little."""

from __future__ import annotations

import argparse
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from console import __version__
from console.cli import main
from console.cli.main import VERBS, build, run, verb_of
from console.schema.outcome import EXIT_CODES

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("verb", VERBS)
def test_a_command_can_be_loaded_and_has_help(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    module = importlib.import_module(VERBS[verb][0])
    assert callable(module.add)
    assert callable(module.run)
    assert run([verb, "--help"]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"usage: console {verb}")
    assert VERBS[verb][1][1:] in " ".join(said.split())


def test_every_command_is_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    said = capsys.readouterr().out
    for verb in VERBS:
        assert f"\n    {verb} " in said


def test_the_help_tells_every_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    run(["--help"])
    said = " ".join(capsys.readouterr().out.split()).partition("Exit codes:")[2]
    told = {int(part.split()[0]) for part in said.split(";")}
    assert told == {code for code in EXIT_CODES.values() if code is not None} | {2, 6, 7, 8}


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"console {__version__}\n"


@pytest.mark.parametrize("words", [["plann"], ["--hosts", "x.toml", "plann"], ["--host", "x", "plan"], ["--no-such"]])
def test_what_is_no_command_or_option_is_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words) == 2
    assert "usage: console" in capsys.readouterr().err


def test_an_option_of_no_command_is_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lint", "--no-such"]) == 2
    assert "--no-such" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "verb"),
    [
        ([], None),
        (["plan"], "plan"),
        (["--hosts", "plan", "run", "x"], "run"),
        (["--hosts=plan", "run"], "run"),
        (["--hosts"], None),
        (["--version"], None),
        (["run", "--hosts", "plan"], "run"),
    ],
)
def test_the_command_is_the_first_word_past_the_inventory(words: list[str], verb: str | None) -> None:
    assert verb_of(words) == verb


def test_the_inventory_stands_before_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hosts = tmp_path / "hosts.toml"
    hosts.write_text("schema = 1\n")
    assert run(["--hosts", str(hosts), "lint", str(hosts)]) == 2, "no [hosts] and no [results]: taken for a runbook"
    assert run(["--hosts", str(hosts), "hosts"]) == 0
    assert run([f"--hosts={hosts}", "hosts"]) == 0
    assert run(["hosts", "list", "--hosts", str(hosts)]) == 2


def test_only_the_command_asked_for_has_its_arguments() -> None:
    parser = build("lint")
    assert parser.parse_args(["lint", "a.toml"]).files == ["a.toml"]
    assert not hasattr(parser.parse_args(["plan"]), "runbook")


def test_a_bug_in_a_command_is_a_message_and_1(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from console.cli import lint

    def breaks(_arguments: argparse.Namespace, _output: object) -> int:
        raise KeyError("odd")

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(lint, "run", breaks)
    assert main.run(["lint"]) == 1
    assert "KeyError: 'odd'" in capsys.readouterr().err
    assert "breaks" in (tmp_path / "console" / "crash.txt").read_text()


def test_python_m_console_ends_with_the_commands_exit_code() -> None:
    for words, code in ((["--version"], 0), (["plann"], 2), (["lint", "none.toml"], 2)):
        done = subprocess.run(
            [sys.executable, "-m", "console", *words], cwd=ROOT, capture_output=True, timeout=60, check=False
        )
        assert done.returncode == code
