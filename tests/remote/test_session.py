"""Looking and acting over a connection that may die, hang or lie."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path

import pytest

from console.clock import SystemClock
from console.errors import (
    ConnectionLostError,
    InternalError,
    LockHeldError,
    RefusedError,
    SudoError,
    UnreachableError,
)
from console.remote.files import read_files
from console.remote.session import Remote, connect_reader
from console.remote.ssh import Connections
from console.secrets import Redactor
from tests.remote.conftest import Connect
from tests.remote.sshd import Sshd


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


async def test_output_is_cut_into_sections_and_bytes_arrive_whole(remote: Remote, sshd: Sshd) -> None:
    (sshd.folder / "blob").write_bytes(bytes(range(256)) * 40)
    output = await remote.look("look_command.sh", b64(f"cat {sshd.folder}/blob"), "")
    assert output.stdout.removesuffix(b"\n") == (bytes(range(256)) * 40).removesuffix(b"\n")
    assert output.text("status").strip() == "0"


async def test_a_login_shell_that_greets_disturbs_nothing(remote: Remote, sshd: Sshd) -> None:
    sshd.stand_in("id", "echo 'Welcome!'; exec /usr/bin/id \"$@\"")
    output = await remote.look("look_command.sh", b64("echo hello"), "")
    assert output.stdout == b"hello\n"


async def test_the_commands_own_exit_status_comes_back(remote: Remote) -> None:
    output = await remote.act("act_command.sh", b64("echo no >&2; exit 75"), "")
    assert output.exit_status == 75
    assert output.complaint == "no"


async def test_a_command_killed_by_a_signal_is_not_a_success(remote: Remote) -> None:
    output = await remote.act("act_command.sh", b64("kill -9 $$"), "")
    assert output.exit_status == 128 + 9


async def test_a_connection_that_dies_under_an_act_is_unknown_and_nothing_is_sent_twice(
    remote: Remote, sshd: Sshd
) -> None:
    sshd.faults.drop_after_s = 0.3
    count = sshd.folder / "count"
    with pytest.raises(ConnectionLostError) as caught:
        await remote.act("act_command.sh", b64(f"echo x >>{count}; sleep 1"), "")
    assert caught.value.exit_code == 9
    assert caught.value.changed is None
    assert count.read_text() == "x\n"


async def test_a_connection_that_dies_under_a_look_is_read_again(remote: Remote, sshd: Sshd) -> None:
    sshd.faults.drop_after_s = 0.1
    asyncio.get_running_loop().call_later(0.3, setattr, sshd.faults, "drop_after_s", None)
    output = await remote.look("look_command.sh", b64("sleep 0.2; echo there"), "", patience_s=20)
    assert output.stdout == b"there\n"
    assert remote.generation >= 2


async def test_without_patience_a_dying_look_says_unreachable_not_unknown(remote: Remote, sshd: Sshd) -> None:
    sshd.faults.drop_after_s = 0.1
    with pytest.raises(UnreachableError, match="stopped answering"):
        await remote.look("look_command.sh", b64("sleep 1"), "")


async def test_a_connection_found_dead_is_opened_again_before_an_act(remote: Remote, sshd: Sshd) -> None:
    sshd.cut()
    await asyncio.sleep(0.1)
    output = await remote.act("act_command.sh", b64("echo once"), "")
    assert output.stdout == b"once\n"


async def test_patience_ends_when_the_host_stays_away(remote: Remote, sshd: Sshd) -> None:
    await sshd.stop()
    loop = asyncio.get_running_loop()
    started = loop.time()
    with pytest.raises(UnreachableError):
        await remote.look("look_lock.sh", patience_s=1.5)
    assert 1.0 < loop.time() - started < 10


async def test_reading_goes_on_once_the_host_is_back(remote: Remote, sshd: Sshd) -> None:
    await sshd.stop()
    back = asyncio.create_task(_start_later(sshd, 0.6))
    output = await remote.look("look_lock.sh", patience_s=20)
    await back
    assert output.exit_status == 0


async def _start_later(sshd: Sshd, delay_s: float) -> None:
    await asyncio.sleep(delay_s)
    await sshd.start()


async def test_an_act_that_takes_too_long_is_stopped_on_the_host(remote: Remote, sshd: Sshd) -> None:
    mark = sshd.folder / "still-there"
    command = f"sh -c 'sleep 3; touch {mark}' & sleep 30; wait"
    with pytest.raises(ConnectionLostError, match="it was stopped on the host"):
        await remote.act("act_command.sh", b64(command), "", timeout_s=0.5)
    await asyncio.sleep(3)
    assert not mark.exists()


async def test_a_look_that_takes_too_long_says_so(remote: Remote) -> None:
    with pytest.raises(UnreachableError, match="no end within"):
        await remote.look("look_command.sh", b64("sleep 20"), "", timeout_s=0.3)


async def test_a_flood_ends_the_look(remote: Remote, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.remote.exchange.OUTPUT_LIMIT", 1_000_000)
    with pytest.raises(RefusedError, match="of output"):
        await remote.look("look_command.sh", b64("yes"), "")


async def test_a_server_that_opens_no_session_ran_nothing(remote: Remote, sshd: Sshd) -> None:
    sshd.faults.refuse_sessions = True
    with pytest.raises(UnreachableError, match="nothing was sent"):
        await remote.act("act_command.sh", b64("true"), "")
    assert sshd.commands == []


async def test_no_more_sessions_at_once_than_a_server_allows(remote: Remote, sshd: Sshd) -> None:
    looks = [remote.look("look_command.sh", b64("sleep 0.1"), "") for _ in range(30)]
    await asyncio.gather(*looks)
    assert sshd.most_sessions <= 8
    assert sshd.logins == 1


async def test_only_looking_scripts_can_be_looked_and_only_acts_acted(remote: Remote) -> None:
    with pytest.raises(InternalError):
        await remote.look("act_reload.sh", "chat.service")
    with pytest.raises(InternalError):
        await remote.act("look_lock.sh")


async def test_reader_and_writer_share_one_connection(remote: Remote, sshd: Sshd) -> None:
    await remote.writer().act("act_command.sh", b64("true"), "")
    await remote.look("look_lock.sh")
    assert sshd.logins == 1


async def test_sudo_that_wants_a_password_is_told_apart(connect: Connect, sshd: Sshd) -> None:
    sshd.stand_in("id", 'case "$1" in -u) echo 1000;; *) exec /usr/bin/id "$@";; esac')
    sshd.stand_in("sudo", 'echo "sudo: a password is required" >&2; exit 1')
    remote = await connect()
    with pytest.raises(SudoError, match="a password is required") as caught:
        await remote.act("act_command.sh", b64("true"), "yes")
    assert caught.value.exit_code == 7


async def test_each_privileged_act_is_its_own_sudo(connect: Connect, sshd: Sshd) -> None:
    sshd.stand_in("id", 'case "$1" in -u) echo 1000;; *) exec /usr/bin/id "$@";; esac')
    sshd.stand_in("sudo", 'echo "$*" >>"$LAB/sudo.log"; shift 2; exec "$@"')
    sshd.stand_in("systemctl", 'echo "systemctl $*" >>"$LAB/systemctl.log"')
    remote = await connect()
    await remote.act("act_reload.sh", "chat.service")
    assert (sshd.folder / "sudo.log").read_text() == "-n -- systemctl daemon-reload\n"


async def test_sudo_never_never_calls_sudo(connect: Connect, sshd: Sshd) -> None:
    sshd.stand_in("id", 'case "$1" in -u) echo 1000;; *) exec /usr/bin/id "$@";; esac')
    sshd.stand_in("sudo", 'echo "$*" >>"$LAB/sudo.log"')
    remote = await connect(sudo="never")
    with pytest.raises(SudoError, match="the inventory says"):
        await remote.act("act_reload.sh", "chat.service")
    assert not (sshd.folder / "sudo.log").exists()


async def test_an_act_without_its_lock_does_nothing(remote: Remote, sshd: Sshd) -> None:
    mark = sshd.folder / "made"
    with pytest.raises(LockHeldError, match="not held by run"):
        await remote.act("act_command.sh", b64(f"touch {mark}"), "", lock="01RUN")
    assert not mark.exists()


async def test_words_of_any_signs_arrive_as_they_are(remote: Remote, sshd: Sshd) -> None:
    name = 'it\'s a "test" $HOME `id` \\ * ? ü'
    (sshd.folder / name).write_text("content")
    (file,) = await read_files(remote, str(sshd.folder / name))
    assert file.path == str(sshd.folder / name)
    assert file.content == b"content"


async def test_a_cancelled_look_leaves_the_connection_usable(remote: Remote) -> None:
    looking = asyncio.create_task(remote.look("look_command.sh", b64("sleep 30"), ""))
    await asyncio.sleep(0.2)
    looking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await looking
    assert (await remote.look("look_lock.sh")).exit_status == 0


async def test_two_services_of_a_host_share_its_connection_until_the_last_is_done(sshd: Sshd) -> None:
    connections = Connections({})
    heard: list[list[str]] = [[], []]
    readers = [
        await connect_reader(
            sshd.target(),
            redactor=Redactor(),
            clock=SystemClock(),
            environment={},
            connections=connections,
            on_connection=lambda state, _message, said=said: said.append(state),  # type: ignore[misc]
        )
        for said in heard
    ]
    assert sshd.logins == 1
    await readers[0].aclose()
    assert (await readers[1].look("look_lock.sh")).exit_status == 0
    sshd.cut()
    await asyncio.sleep(0.1)
    await readers[1].look("look_lock.sh", patience_s=10)
    assert readers[1].regained()
    assert not readers[1].regained()
    await readers[1].aclose()
    assert connections.links == {}
    assert heard[0] == ["connected"]
    assert heard[1] == ["connected", "lost", "reconnecting", "connected", "closed"]


def test_nothing_outside_remote_imports_asyncssh() -> None:
    root = Path(__file__).parents[2] / "console"
    users = {
        path.relative_to(root).parts[0]
        for path in root.rglob("*.py")
        if any(line.startswith(("import asyncssh", "from asyncssh")) for line in path.read_text().splitlines())
    }
    assert users <= {"remote", "lab"}


async def test_a_sudo_that_is_refused_inside_a_command_is_the_command_s_own_failure(remote: Remote) -> None:
    """The command ran, and may have done half of its work: nobody says that nothing happened."""
    text = b64("echo half >&2; echo 'sudo: a password is required' >&2; exit 1")
    output = await remote.act("act_command.sh", text, "")
    assert (output.exit_status, "half" in output.complaint) == (1, True)


async def test_what_a_dead_run_sent_is_found_by_its_name_and_waited_for(connect: Connect) -> None:
    first, second = await connect(), await connect()
    hold = await first.hold_lock("R1", {})
    sent = asyncio.ensure_future(first.act("act_command.sh", b64("sleep 1.5"), "", lock="R1"))
    await asyncio.sleep(0.5)
    assert "still runs: process" in await second.until_over("R1", patience_s=0.0)
    assert await second.until_over("R2", patience_s=0.0) == ""
    await sent
    assert "still holds the lock" in await second.until_over("R1", patience_s=0.0)
    await hold.release()
    assert await second.until_over("R1", patience_s=5.0) == ""
