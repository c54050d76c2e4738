"""`console lint`: every file is checked, each mistake is named, and checking nothing is not passing."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.cli.main import run

ROOT = Path(__file__).parents[2]
BOOK = 'schema = 1\nname = "x"\n[[step]]\nuses = "service.restart"\n'
HOSTS = """\
schema = 1
[hosts.gpu1.services.k26]
unit = "a.service"
engine = "sglang"
url = "http://127.0.0.1:30000"
"""


def write(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return str(path)


def test_it_says_what_each_file_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    book, hosts = write(tmp_path, "book.toml", BOOK), write(tmp_path, "hosts.toml", HOSTS)
    assert run(["lint", book, hosts]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{book}: runbook x, 1 steps",
        f"{hosts}: inventory of 1 hosts, 1 services",
    ]


def test_one_mistake_does_not_hide_another(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = write(tmp_path, "a.toml", BOOK.replace("service.restart", "service.restrat"))
    good = write(tmp_path, "b.toml", BOOK)
    last = write(tmp_path, "c.toml", HOSTS.replace("url", "uri"))
    assert run(["lint", first, good, last]) == 2
    said = capsys.readouterr()
    assert "did you mean 'service.restart'" in said.err
    assert f"{first}:3" in said.err
    assert last in said.err
    assert said.out == f"{good}: runbook x, 1 steps\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HOSTS.replace("sglang", "sglong"), "sglong"),
        (HOSTS.replace("schema = 1", "schema = 7"), "reads up to 1"),
        ("", "must start with 'schema = 1'"),
        ("not toml", "toml:1"),
    ],
)
def test_a_wrong_file(tmp_path: Path, text: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lint", write(tmp_path, "hosts.toml", text)]) == 2
    assert said in capsys.readouterr().err


def test_a_file_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lint", str(tmp_path / "none.toml")]) == 2
    assert "no such file" in capsys.readouterr().err


def test_without_names_the_inventory_and_the_runbooks_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "hosts.toml", HOSTS)
    write(tmp_path / "runbooks", "b.toml", BOOK)
    write(tmp_path / "runbooks", "a.toml", BOOK)
    write(tmp_path / "runbooks", "runbook.schema.json", "{}")
    assert run(["lint"]) == 0
    files = [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()]
    assert files == ["hosts.toml", "runbooks/a.toml", "runbooks/b.toml"]


def test_an_inventory_that_was_named_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    other = write(tmp_path / "etc", "other.toml", HOSTS)
    assert run(["--hosts", other, "lint"]) == 0
    assert capsys.readouterr().out.startswith(f"{other}: inventory")
    monkeypatch.setenv("CONSOLE_HOSTS", str(tmp_path / "none.toml"))
    assert run(["lint"]) == 2


def test_nothing_to_check_does_not_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["lint"]) == 2
    assert "nothing to check" in capsys.readouterr().err


def test_what_ships_passes(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    assert run(["lint"]) == 0
    assert "runbooks/extend_context.toml: runbook extend-context" in capsys.readouterr().out
