"""Files of a host, with everything that must not get lost on the way."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from console.remote.files import parse_file, read_file, read_files
from console.remote.session import Remote
from tests.remote.conftest import Connect
from tests.remote.sshd import Sshd


@pytest.fixture
def folder(sshd: Sshd) -> Path:
    path = sshd.folder / "files"
    path.mkdir()
    return path


@pytest.mark.parametrize("content", [b"", b"no newline", b"\xef\xbb\xbf[Unit]\r\n", bytes(range(256)) * 300])
async def test_the_bytes_are_the_bytes(remote: Remote, folder: Path, content: bytes) -> None:
    (folder / "a").write_bytes(content)
    file = await read_file(remote, str(folder / "a"))
    assert file.content == content
    assert file.sha256 == hashlib.sha256(content).hexdigest()
    assert file.size == len(content)
    assert not file.error


async def test_owner_and_mode(remote: Remote, folder: Path) -> None:
    (folder / "a").write_bytes(b"x")
    (folder / "a").chmod(0o640)
    file = await read_file(remote, str(folder / "a"))
    assert (file.mode, file.uid, file.gid) == (0o640, os.geteuid(), os.getegid())


async def test_a_symlink_shows_where_it_leads(remote: Remote, folder: Path) -> None:
    (folder / "real").write_bytes(b"x")
    (folder / "link").symlink_to("real")
    file = await read_file(remote, str(folder / "link"))
    assert (file.path, file.real_path) == (str(folder / "link"), str(folder / "real"))
    assert file.content == b"x"


async def test_missing_and_odd_files_say_so(remote: Remote, folder: Path) -> None:
    (folder / "dangling").symlink_to("nowhere")
    (folder / "folder").mkdir()
    (folder / "large").write_bytes(b"x" * 1_100_000)
    missing, dangling, directory, large = await read_files(
        remote, *(str(folder / name) for name in ("none", "dangling", "folder", "large"))
    )
    assert missing.missing
    assert missing.sha256 == ""
    assert dangling.missing
    assert dangling.real_path == str(folder / "nowhere")
    assert directory.error == "not a regular file"
    assert large.error == "larger than 1 MiB"
    assert large.sha256 == ""


@pytest.mark.parametrize("name", ["with blank", "quo'te", "$HOME", "-n", "ünï", "a=b", "back\\slash"])
async def test_any_name(remote: Remote, folder: Path, name: str) -> None:
    (folder / name).write_bytes(b"x")
    file = await read_file(remote, str(folder / name))
    assert file.path == str(folder / name)
    assert file.content == b"x"


async def test_what_the_login_user_may_not_read_is_read_with_sudo_or_said(connect: Connect, sshd: Sshd) -> None:
    sshd.stand_in("id", 'case "$1" in -u) echo 1000;; *) exec /usr/bin/id "$@";; esac')
    sshd.stand_in("sudo", 'echo "$*" >>"$LAB/sudo.log"; shift 2; exec "$@"')
    (sshd.folder / "a").write_bytes(b"x")
    remote = await connect()
    assert (await read_file(remote, str(sshd.folder / "a"))).content == b"x"
    assert not (sshd.folder / "sudo.log").exists()  # readable: no need to ask


def test_damaged_output_is_an_error_of_that_file() -> None:
    file = parse_file(b"kind=dropin\npath=/a\nreal=/a\nstat=644 0 0 5 regular file\ncontent=!!!\n")
    assert file.error
    assert file.sha256 == ""
    assert parse_file(b"").error
