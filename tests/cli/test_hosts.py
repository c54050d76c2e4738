"""`console hosts add`: the file means exactly what was asked, and every comment of it is still there."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from console.cli import hosts
from console.cli.main import run
from console.errors import InvalidFileError
from console.schema.hosts import load_inventory

INVENTORY = """\
# Who is on call: see the wiki.
schema = 1

[results]
path = "../findings"          # a git repository

[hosts.gpu1]                  # the old one
address = "gpu1.example.net"
tags = ["k26"]

[hosts.gpu1.services.k26]
unit = "sglang-k26.service"   # do not rename
engine = "sglang"
url = "http://127.0.0.1:30000"
"""
SERVICE = ("--unit", "sglang-chat.service", "--engine", "sglang", "--url", "http://127.0.0.1:30001")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "hosts.toml"
    file.write_text(INVENTORY)
    return file


def add(path: Path, name: str, *words: str) -> int:
    return run(["--hosts", str(path), "hosts", "add", name, *(words or SERVICE)])


def comments(path: Path) -> list[str]:
    return [line.partition("#")[2] for line in path.read_text().splitlines() if "#" in line]


def test_a_new_host_with_all_that_can_be_said(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--address", "gpu2.example.net", "--port", "2222", "--user", "ops", "--jump", "bastion", "--tag", "a")
    assert add(path, "gpu2/chat", *SERVICE, *words, "--tag", "b", "--protected", "--api-key-env", "CHAT_KEY") == 0
    target = load_inventory(path).target("gpu2/chat")
    assert (target.address, target.host.port, target.host.user, target.host.jump) == (
        "gpu2.example.net",
        2222,
        "ops",
        "bastion",
    )
    assert (target.host.tags, target.host.protected) == (("a", "b"), True)
    assert (target.service.unit, target.service.port, target.service.api_key_env) == (
        "sglang-chat.service",
        30001,
        "CHAT_KEY",
    )
    said = capsys.readouterr()
    assert said.out == f"{path}: gpu2/chat added\n"
    assert "console hosts trust gpu2" in said.err


def test_what_was_there_stays_as_it_was(path: Path) -> None:
    before = comments(path)
    assert add(path, "gpu2/chat") == 0
    assert comments(path) == before
    assert path.read_text().startswith(INVENTORY.rstrip("\n"))
    assert load_inventory(path).target("gpu1/k26").host.tags == ("k26",)


def test_a_second_service_of_a_host(path: Path) -> None:
    before = comments(path)
    assert add(path, "gpu1/chat") == 0
    assert [target.name for target in load_inventory(path).targets()] == ["gpu1/k26", "gpu1/chat"]
    assert comments(path) == before


def test_many_in_a_row(path: Path) -> None:
    for number in range(2, 7):
        assert add(path, f"gpu{number}/chat") == 0
        assert add(path, f"gpu{number}/draft", "--unit", "d.service", "--engine", "sglang", "--url", "http://h:1") == 0
    assert len(load_inventory(path).targets()) == 11


def test_names_with_dots_and_digits(path: Path) -> None:
    assert add(path, "10.0.0.7/k2.6") == 0
    assert load_inventory(path).target("10.0.0.7/k2.6").service.unit == "sglang-chat.service"


def test_a_service_that_is_there_already(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert add(path, "gpu1/k26") == 2
    assert "gpu1/k26 is in" in capsys.readouterr().err
    assert path.read_text() == INVENTORY


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--address", "other.example.net"), "another address"),
        (("--tag", "other"), "another tags"),
        (("--port", "70000"), "port"),
        (("--unit", "sglang"), "not a service unit's name"),
        (("--unit", "a b.service"), "not a service unit's name"),
        (("--url", "ftp://h"), "not an http URL"),
        (("--url", "http://me:word@h:1"), "carries no credentials"),
    ],
)
def test_what_would_not_be_a_good_file_leaves_it_alone(
    path: Path, words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert add(path, "gpu1/chat", *SERVICE, *words) == 2
    assert said in capsys.readouterr().err
    assert path.read_text() == INVENTORY


def test_a_tag_that_is_no_name(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert add(path, "gpu2/chat", *SERVICE, "--tag", "two words") == 2
    assert "not a name" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["gpu1", "gpu1/", "/k26", "gpu 1/k26", "a/b/c", "-x/y", "gpu1/k\x1b"])
def test_a_name_that_is_no_host_and_service(path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert add(path, name) == 2
    assert "\x1b" not in capsys.readouterr().err
    assert path.read_text() == INVENTORY


def test_an_engine_that_is_not_there_yet(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert add(path, "gpu2/x", "--unit", "x.service", "--engine", "tgi", "--url", "http://h:1") == 2
    assert path.read_text() == INVENTORY


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"schema = 1\n[hosts\n", "hosts.toml:2"),
        (b"\xff\xfe", "not UTF-8"),
        (b"", "must start with 'schema = 1'"),
        (b"schema = 2\n", "reads up to 1"),
        (b"schema = 1\n[hosts.a]\nadress = 'x'\n", "did you mean 'address'"),
    ],
)
def test_a_file_that_is_wrong_already_is_named_and_left(
    path: Path, content: bytes, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path.write_bytes(content)
    assert add(path, "gpu2/chat") == 2
    errors = capsys.readouterr().err
    assert said in errors
    assert "bug" not in errors
    assert path.read_bytes() == content


def test_without_a_file_there_is_one_afterwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["hosts", "add", "gpu1/chat", *SERVICE]) == 0
    assert [target.name for target in load_inventory(tmp_path / "hosts.toml").targets()] == ["gpu1/chat"]
    assert (tmp_path / "hosts.toml").stat().st_mode & 0o777 == 0o644


def test_its_folder_is_made(tmp_path: Path) -> None:
    assert add(tmp_path / "new" / "hosts.toml", "gpu1/chat") == 0


def test_mode_and_line_ends_stay(path: Path) -> None:
    path.write_bytes(INVENTORY.replace("\n", "\r\n").encode())
    path.chmod(0o640)
    assert add(path, "gpu2/chat") == 0
    assert path.stat().st_mode & 0o777 == 0o640
    assert path.read_bytes().startswith(INVENTORY.replace("\n", "\r\n").encode())


def test_a_link_stays_one_and_what_it_leads_to_is_edited(path: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.toml"
    link.symlink_to(path)
    assert add(link, "gpu2/chat") == 0
    assert link.is_symlink()
    assert "gpu2" in path.read_text()


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert add(tmp_path / "file" / "hosts.toml", "gpu1/chat") == 1
    said = capsys.readouterr().err
    assert "cannot write" in said
    assert "bug" not in said


@pytest.mark.parametrize(
    "inventory",
    [
        'schema = 1\nhosts = { gpu1 = { address = "a" } }\n',
        "schema = 1\nhosts.gpu1.address = 'a'\n",
        "schema = 1\n[hosts]\ngpu1 = { address = 'a' }\n",
        "schema = 1\n[hosts.gpu1]\n[groups.g]\nmembers = []\n[hosts.gpu0]\n",
    ],
)
def test_any_way_to_write_a_table_is_edited_or_refused_but_never_changed_in_meaning(
    path: Path, inventory: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path.write_text(inventory)
    before = tomllib.loads(inventory)
    for name in ("gpu1/chat", "gpu9/chat"):
        kept = path.read_text()
        host, _, service = name.partition("/")
        if add(path, name) == 0:
            before["hosts"].setdefault(host, {}).setdefault("services", {})[service] = {
                "unit": "sglang-chat.service",
                "engine": "sglang",
                "url": "http://127.0.0.1:30001",
            }
        else:
            assert path.read_text() == kept
            assert "bug" not in capsys.readouterr().err
        assert tomllib.loads(path.read_text()) == before


def test_what_was_written_is_read_again_and_compared(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import argparse

    import tomlkit

    from console.cli.output import Output

    monkeypatch.setattr(tomlkit, "dumps", lambda _document: INVENTORY + '\n[hosts.gpu2.services.chat]\nunit = "x"\n')
    words = argparse.Namespace(
        hosts=str(path), name="gpu2/chat", unit="sglang-chat.service", engine="sglang", url="http://h:1",
        api_key_env=None, address=None, port=None, user=None, jump=None, identity=None, tags=[], protected=False,
    )  # fmt: skip
    with pytest.raises(InvalidFileError, match="without changing its meaning"):
        hosts.add_host(words, Output())
    assert path.read_text() == INVENTORY


def test_list_shows_every_target(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--hosts", str(path), "hosts"]) == 0
    assert "gpu1" in capsys.readouterr().out
    assert run(["--hosts", str(path), "hosts", "list"]) == 0


def test_a_host_to_trust_must_be_known(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--hosts", str(path), "hosts", "trust", "gpu7"]) == 2
    assert "did you mean 'gpu1'" in capsys.readouterr().err
