"""act_replace.sh: a file becomes another in one step, or stays exactly as it was."""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from console.remote.files import read_file
from console.remote.session import Output, Remote
from tests.remote.sshd import Sshd

BEFORE = b"[Service]\nExecStart=/bin/engine --context-length 32768\n"
AFTER = b"[Service]\nExecStart=/bin/engine --context-length 200000\n"


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


async def replace(remote: Remote, path: Path, before: bytes = BEFORE, after: bytes = AFTER, run: str = "01A") -> Output:
    return await remote.act(
        "act_replace.sh", str(path), digest(before), digest(after), base64.b64encode(after).decode(), run
    )


@pytest.fixture
def unit(sshd: Sshd) -> Path:
    folder = sshd.folder / "system"
    folder.mkdir()
    path = folder / "sglang-k26.service"
    path.write_bytes(BEFORE)
    return path


async def test_the_bytes_are_replaced_and_nothing_else_is_left(remote: Remote, unit: Path) -> None:
    inode = unit.stat().st_ino
    output = await replace(remote, unit)
    assert output.exit_status == 0
    assert unit.read_bytes() == AFTER
    assert unit.stat().st_ino != inode
    assert [path.name for path in unit.parent.iterdir()] == [unit.name]


@pytest.mark.parametrize("content", [b"", b"\x00\xff\r\n" * 1000, os.urandom(600_000)], ids=["empty", "small", "large"])
async def test_any_bytes_of_any_size(remote: Remote, unit: Path, content: bytes) -> None:
    output = await replace(remote, unit, after=content)
    assert output.exit_status == 0, output.complaint
    assert unit.read_bytes() == content


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o755, 0o444])
async def test_the_mode_stays(remote: Remote, unit: Path, mode: int) -> None:
    unit.chmod(mode)
    await replace(remote, unit)
    assert unit.stat().st_mode & 0o7777 == mode
    assert unit.read_bytes() == AFTER


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
async def test_owner_and_group_stay(remote: Remote, unit: Path) -> None:
    os.chown(unit, 1234, 4321)
    await replace(remote, unit)
    assert (unit.stat().st_uid, unit.stat().st_gid) == (1234, 4321)


async def test_extended_attributes_stay(remote: Remote, unit: Path) -> None:
    try:
        os.setxattr(unit, "user.origin", b"deploy")
    except OSError:
        pytest.skip("no extended attributes on this file system")
    await replace(remote, unit)
    assert os.getxattr(unit, "user.origin") == b"deploy"


async def test_the_access_list_stays(remote: Remote, unit: Path) -> None:
    setfacl = shutil.which("setfacl")
    if setfacl is None or subprocess.run([setfacl, "-m", "u:1234:r", str(unit)], check=False).returncode != 0:
        pytest.skip("no access lists here")
    before = os.getxattr(unit, "system.posix_acl_access")
    await replace(remote, unit)
    assert os.getxattr(unit, "system.posix_acl_access") == before


async def test_systemd_sees_that_it_is_newer(remote: Remote, unit: Path) -> None:
    os.utime(unit, (1_000_000_000, 1_000_000_000))
    await replace(remote, unit)
    assert unit.stat().st_mtime > 1_700_000_000


async def test_a_file_that_is_not_as_planned_is_left_alone(remote: Remote, unit: Path) -> None:
    unit.write_bytes(b"edited by hand\n")
    output = await replace(remote, unit)
    assert output.exit_status == 77
    assert unit.read_bytes() == b"edited by hand\n"
    assert len(list(unit.parent.iterdir())) == 1


async def test_an_edit_in_the_last_moment_is_seen(remote: Remote, sshd: Sshd, unit: Path) -> None:
    sshd.stand_in("dd", f'/bin/dd "$@"; echo "by hand" >{unit}')
    output = await replace(remote, unit)
    assert output.exit_status == 77
    assert unit.read_text() == "by hand\n"
    assert len(list(unit.parent.iterdir())) == 1


async def test_a_missing_file_is_not_as_planned(remote: Remote, unit: Path) -> None:
    unit.unlink()
    assert (await replace(remote, unit)).exit_status == 77


async def test_content_damaged_on_the_way_is_not_installed(remote: Remote, unit: Path) -> None:
    output = await remote.act(
        "act_replace.sh", str(unit), digest(BEFORE), digest(AFTER), base64.b64encode(AFTER[:-3]).decode(), "01A"
    )
    assert output.exit_status == 1
    assert unit.read_bytes() == BEFORE
    assert len(list(unit.parent.iterdir())) == 1


@pytest.mark.parametrize("said", ["No space left on device", "Read-only file system", "Disk quota exceeded"])
async def test_no_room_is_told_apart_and_cleaned_up(remote: Remote, sshd: Sshd, unit: Path, said: str) -> None:
    sshd.stand_in("dd", f'cat >/dev/null; echo "dd: error writing: {said}" >&2; exit 1')
    output = await replace(remote, unit)
    assert output.exit_status == 78
    assert said in output.complaint
    assert unit.read_bytes() == BEFORE
    assert len(list(unit.parent.iterdir())) == 1


async def test_what_a_crashed_one_left_is_removed_by_the_next(remote: Remote, sshd: Sshd, unit: Path) -> None:
    sshd.stand_in("mv", "kill -9 0")
    crashed = await replace(remote, unit)
    assert crashed.exit_status != 0
    assert unit.read_bytes() == BEFORE
    assert (unit.parent / f".{unit.name}.console-01A").exists()
    (sshd.bin / "mv").unlink()
    assert (await replace(remote, unit, run="01B")).exit_status == 0
    assert [path.name for path in unit.parent.iterdir()] == [unit.name]


async def test_the_temporary_file_is_never_more_readable(remote: Remote, sshd: Sshd, unit: Path) -> None:
    unit.chmod(0o600)
    sshd.stand_in("mv", 'stat -c %a "$4" >"$LAB/seen"; exec /bin/mv "$@"')
    await replace(remote, unit)
    assert (sshd.folder / "seen").read_text() == "600\n"


async def test_the_digest_is_of_the_bytes_that_arrived(remote: Remote, unit: Path) -> None:
    await replace(remote, unit)
    file = await read_file(remote, str(unit))
    assert file.sha256 == digest(AFTER)
    assert file.content == AFTER
    assert file.size == len(AFTER)


async def make(remote: Remote, path: Path, *, folder: str = "folder") -> Output:
    content = base64.b64encode(AFTER).decode()
    return await remote.act("act_replace.sh", str(path), "absent", digest(AFTER), content, "01A", folder)


async def take_away(remote: Remote, path: Path, *, folder: str = "folder") -> Output:
    return await remote.act("act_replace.sh", str(path), digest(AFTER), "absent", "", "01A", folder)


async def test_a_file_is_made_with_its_folder_and_both_are_taken_away(remote: Remote, unit: Path) -> None:
    made = unit.parent / f"{unit.name}.d" / "50-console.conf"
    assert (await make(remote, made)).exit_status == 0
    assert made.read_bytes() == AFTER
    assert (made.stat().st_mode & 0o777, made.parent.stat().st_mode & 0o777) == (0o644, 0o755)
    assert [path.name for path in made.parent.iterdir()] == [made.name]
    assert (await take_away(remote, made)).exit_status == 0
    assert [path.name for path in unit.parent.iterdir()] == [unit.name]


@pytest.mark.parametrize(("folder", "other"), [("", ""), ("folder", "10-other.conf")])
async def test_a_folder_that_is_not_ours_or_not_empty_stays(
    remote: Remote, unit: Path, folder: str, other: str
) -> None:
    made = unit.parent / f"{unit.name}.d" / "50-console.conf"
    made.parent.mkdir()
    if other:
        (made.parent / other).touch()
    assert (await make(remote, made, folder=folder)).exit_status == 0
    assert (await take_away(remote, made, folder=folder)).exit_status == 0
    assert [path.name for path in made.parent.iterdir()] == ([other] if other else [])


@pytest.mark.parametrize("there", ["file", "link"])
async def test_what_somebody_else_made_meanwhile_is_not_replaced(remote: Remote, unit: Path, there: str) -> None:
    made = unit.parent / "50-console.conf"
    made.symlink_to("/nowhere") if there == "link" else made.write_bytes(BEFORE)
    output = await make(remote, made, folder="")
    assert (output.exit_status, "was not when this was planned" in output.complaint) == (77, True)
    assert made.is_symlink() if there == "link" else made.read_bytes() == BEFORE
    assert len(list(unit.parent.iterdir())) == 2


async def test_what_somebody_makes_in_the_last_moment_is_not_replaced(remote: Remote, sshd: Sshd, unit: Path) -> None:
    made = unit.parent / f"{unit.name}.d" / "50-console.conf"
    sshd.stand_in("ln", f'echo theirs >"{made}"; exec /bin/ln "$@"')
    output = await make(remote, made)
    assert (output.exit_status, "made by somebody else meanwhile" in output.complaint) == (77, True)
    assert made.read_text() == "theirs\n"
    assert [path.name for path in made.parent.iterdir()] == [made.name]


async def test_a_file_that_cannot_be_made_leaves_no_folder(remote: Remote, sshd: Sshd, unit: Path) -> None:
    made = unit.parent / f"{unit.name}.d" / "50-console.conf"
    sshd.stand_in("dd", 'cat >/dev/null; echo "dd: No space left on device" >&2; exit 1')
    output = await make(remote, made)
    assert output.exit_status == 78
    assert not made.parent.exists()


async def test_what_was_edited_since_is_not_taken_away(remote: Remote, unit: Path) -> None:
    assert (await take_away(remote, unit)).exit_status == 77
    assert unit.read_bytes() == BEFORE
