"""The unit's lock: one holder, named, and free as soon as the holder is gone."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import fcntl
import json
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from console.errors import LockHeldError, RefusedError
from console.facts.parse import parse_lock
from console.remote.session import LockHold, Remote
from tests.remote.conftest import Connect
from tests.remote.sshd import Sshd

DOCUMENT = {"operator": "kim", "from_host": "desk", "runbook": "extend-context"}


def is_held(path: Path) -> bool:
    with path.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


async def until_free(path: Path, within_s: float) -> float:
    """Seconds until the lock was free."""
    started = time.monotonic()
    while is_held(path):
        assert time.monotonic() - started < within_s, "the lock is still held"
        await asyncio.sleep(0.05)
    return time.monotonic() - started


def openers(path: Path) -> list[int]:
    """Processes that have the file open."""
    found = []
    for folder in Path("/proc").glob("[0-9]*/fd"):
        with contextlib.suppress(OSError):
            if any(link.readlink() == path for link in folder.iterdir()):
                found.append(int(folder.parent.name))
    return found


@pytest.fixture
def lock_file(sshd: Sshd) -> Path:
    return sshd.runtime / "sglang-k26.service.lock"


async def test_a_held_lock_names_its_holder_to_anybody(remote: Remote, lock_file: Path) -> None:
    hold = await remote.hold_lock("01RUN", DOCUMENT)
    assert is_held(lock_file)
    said = json.loads(lock_file.read_text())
    assert said["run"] == "01RUN"
    assert said["operator"] == "kim"
    assert said["since"].endswith("Z")
    assert lock_file.stat().st_mode & 0o777 == 0o644
    output = await remote.look("look_lock.sh", str(lock_file))
    lock = parse_lock(output.sections["lock"])
    assert (lock.held, lock.run, lock.operator, lock.from_host) == (True, "01RUN", "kim", "desk")
    await hold.release()
    assert not is_held(lock_file)


async def test_a_secret_in_the_reason_does_not_lie_on_the_host(remote: Remote, lock_file: Path) -> None:
    """The file stays when the lock is given back, and everybody there may read it."""
    secret = "sk-" + "0123456789abcdef" * 2
    hold = await remote.hold_lock("01RUN", {**DOCUMENT, "reason": f"with {secret}"})
    assert secret not in lock_file.read_text()
    assert json.loads(lock_file.read_text())["reason"].startswith("with ")
    await hold.release()


async def test_the_second_holder_is_told_who_has_it(remote: Remote, connect: Connect) -> None:
    hold = await remote.hold_lock("01RUN", DOCUMENT)
    other = await connect()
    with pytest.raises(
        LockHeldError, match=r"locked by kim from desk, since .*, run 01RUN, runbook extend-context"
    ) as caught:
        await other.hold_lock("01OTHER", DOCUMENT)
    assert caught.value.exit_code == 6
    await hold.release()
    await (await other.hold_lock("01OTHER", DOCUMENT)).release()


async def test_acts_need_the_lock_of_their_own_run(remote: Remote) -> None:
    command = base64.b64encode(b"echo done").decode()
    hold = await remote.hold_lock("01RUN", DOCUMENT)
    assert (await remote.act("act_command.sh", command, "", lock="01RUN")).stdout == b"done\n"
    with pytest.raises(LockHeldError):
        await remote.act("act_command.sh", command, "", lock="01OTHER")
    await hold.release()
    with pytest.raises(LockHeldError, match="not held by run 01RUN any more"):
        await remote.act("act_command.sh", command, "", lock="01RUN")


async def test_it_is_free_when_the_connection_dies_and_the_holder_hears_of_it(
    remote: Remote, sshd: Sshd, lock_file: Path
) -> None:
    hold = await remote.hold_lock("01RUN", DOCUMENT)
    sshd.cut()
    async with asyncio.timeout(5):
        await hold.lost.wait()
    await until_free(lock_file, 5)
    await (await remote.hold_lock("01RUN", DOCUMENT)).release()


async def test_it_is_free_after_six_silent_seconds(
    remote: Remote, lock_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.remote.lock.HEARTBEAT_S", 1000.0)
    hold = await remote.hold_lock("01RUN", DOCUMENT)
    took = await until_free(lock_file, 9)
    assert took > 4
    async with asyncio.timeout(3):
        await hold.lost.wait()


@pytest.mark.slow
async def test_heartbeats_keep_it(remote: Remote, lock_file: Path) -> None:
    hold = await remote.hold_lock("01RUN", DOCUMENT)
    await asyncio.sleep(8)
    assert is_held(lock_file)
    assert not hold.lost.is_set()
    await hold.release()


async def test_killing_the_process_on_the_host_frees_it_at_once(remote: Remote, sshd: Sshd, lock_file: Path) -> None:
    hold = await remote.hold_lock("01RUN", DOCUMENT)
    for pid in openers(lock_file):
        if (Path("/proc") / str(pid) / "comm").read_text() != "timeout\n":
            os.kill(pid, signal.SIGKILL)
    # No child of it has the file open: it would keep the lock for up to six seconds.
    assert await until_free(lock_file, 3) < 1
    async with asyncio.timeout(8):
        await hold.lost.wait()


async def test_looking_neither_creates_nor_disturbs(remote: Remote, lock_file: Path) -> None:
    await remote.look("look_lock.sh", str(lock_file))
    assert not lock_file.exists()
    looks = [remote.look("look_lock.sh", str(lock_file)) for _ in range(5)]
    taking = asyncio.create_task(remote.hold_lock("01RUN", DOCUMENT))
    await asyncio.gather(*looks)
    await (await taking).release()


async def test_a_folder_others_can_write_is_refused(remote: Remote, sshd: Sshd) -> None:
    sshd.runtime.chmod(0o777)
    with pytest.raises(RefusedError, match="writable for others"):
        await remote.hold_lock("01RUN", DOCUMENT)


async def test_the_folder_is_made_when_missing(remote: Remote, sshd: Sshd, lock_file: Path) -> None:
    sshd.runtime.rmdir()
    hold = await remote.hold_lock("01RUN", DOCUMENT)
    assert sshd.runtime.stat().st_mode & 0o777 == 0o755
    await hold.release()


async def test_two_at_once_one_gets_it(remote: Remote, connect: Connect) -> None:
    other = await connect()
    results: Sequence[LockHold | BaseException] = await asyncio.gather(
        remote.hold_lock("01A", DOCUMENT), other.hold_lock("01B", DOCUMENT), return_exceptions=True
    )
    assert sorted(type(result).__name__ for result in results) == ["LockHeldError", "LockHold"]
    for result in results:
        if isinstance(result, LockHold):
            await result.release()


async def test_a_lock_file_with_nonsense_still_names_somebody(connect: Connect, sshd: Sshd, lock_file: Path) -> None:
    lock_file.write_bytes(b"\x1b[31mnot json\n")
    with lock_file.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        remote = await connect()
        with pytest.raises(LockHeldError, match="locked by somebody"):
            await remote.hold_lock("01RUN", DOCUMENT)


async def test_our_own_lock_of_a_lost_connection_is_waited_for(remote: Remote, connect: Connect) -> None:
    """The host has not noticed yet that our old connection is gone: that is nobody else's lock."""
    old = await connect()
    await old.hold_lock("01RUN", DOCUMENT)
    freed = asyncio.get_running_loop().call_later(3, lambda: asyncio.ensure_future(old.aclose()))
    hold = await remote.hold_lock("01RUN", DOCUMENT)
    freed.cancel()
    await hold.release()


async def test_who_comes_back_finds_that_somebody_else_had_it(remote: Remote, lock_file: Path) -> None:
    """Also when they are gone again: what they found and left is not what we know."""
    await (await remote.hold_lock("01RUN", DOCUMENT)).release()
    await (await remote.hold_lock("01RUN", DOCUMENT, again=True)).release()
    await (await remote.hold_lock("01OTHER", DOCUMENT)).release()
    with pytest.raises(LockHeldError, match=r"locked meanwhile by kim from desk, since .*, run 01OTHER"):
        await remote.hold_lock("01RUN", DOCUMENT, again=True)
    assert "01OTHER" in lock_file.read_text()


@pytest.mark.parametrize("left", ["", '{"run": "guard of 01RUN", "operator": "the guard"}\n'])
async def test_a_guard_and_a_reboot_are_nobody_else(remote: Remote, lock_file: Path, left: str) -> None:
    await (await remote.hold_lock("01RUN", DOCUMENT)).release()
    lock_file.write_text(left)
    await (await remote.hold_lock("01RUN", DOCUMENT, again=True)).release()


@pytest.mark.parametrize("status", [0, 3])
async def test_an_act_that_succeeds_leaves_its_note_in_the_hosts_log(remote: Remote, sshd: Sshd, status: int) -> None:
    sshd.stand_in("logger", 'printf "%s\\n" "$*" >>"$LAB/host.log"')
    hold = await remote.hold_lock("01RUN", DOCUMENT)
    noting = remote.noting('run 01RUN kim: it\'s "so" $HOME')
    command = base64.b64encode(f"exit {status}".encode()).decode()
    assert (await noting.act("act_command.sh", command, "", lock="01RUN")).exit_status == status
    await remote.act("act_command.sh", command, "", lock="01RUN")  # says nothing of it
    await hold.release()
    log = sshd.folder / "host.log"
    assert noting.noted == log.exists() == (status == 0)
    assert status or log.read_text() == '-t console -- run 01RUN kim: it\'s "so" $HOME\n'
