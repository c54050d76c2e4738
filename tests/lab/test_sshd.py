"""The lab's SSH server, from a client's side."""

from __future__ import annotations

import asyncio

import asyncssh
import httpx
import pytest

from console.lab.lab import Lab, LabError

SSH = asyncssh.SSHClientConnection


async def test_a_script_on_stdin_finds_the_stand_ins_first(shared_lab: Lab, ssh: SSH) -> None:
    result = await ssh.run("/bin/sh -s", input=b"command -v systemctl; id -un; exit 7\n", encoding=None)
    assert result.exit_status == 7
    assert result.stdout == f"{shared_lab.folder}/bin/systemctl\n{shared_lab.user}\n".encode()


async def test_bytes_pass_unchanged(ssh: SSH) -> None:
    data = bytes(range(256)) * 4000
    result = await ssh.run("cat; printf '\\377' >&2", input=data, encoding=None)
    assert result.stdout == data
    assert result.stderr == b"\xff"


async def test_a_signal_is_told(ssh: SSH) -> None:
    result = await ssh.run("kill -9 $$", encoding=None)
    assert result.exit_signal is not None
    assert result.exit_signal[0] == "KILL"


async def test_the_engine_is_reached_through_the_connection(shared_lab: Lab, ssh: SSH) -> None:
    async with (
        ssh.forward_local_port("127.0.0.1", 0, "127.0.0.1", shared_lab.service().port) as listener,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{listener.get_port()}", trust_env=False) as http,
    ):
        reply = await http.get("/v1/models", headers={"Connection": "close"})
        assert reply.json()["data"][0]["max_model_len"] == 32768
        shared_lab.ssh_fault(refuse_forwarding=True)
        with pytest.raises(httpx.TransportError):
            await http.get("/v1/models")
    shared_lab.ssh_fault(refuse_forwarding=False)


async def test_only_the_labs_own_key_and_loopback(shared_lab: Lab, ssh: SSH) -> None:
    stranger = asyncssh.generate_private_key("ssh-ed25519")
    with pytest.raises(asyncssh.PermissionDenied):
        async with shared_lab.connect(client_keys=[stranger]):
            pass
    with pytest.raises(asyncssh.ChannelOpenError):
        await ssh.open_connection("192.0.2.1", 80)


async def test_the_eleventh_session_is_refused(ssh: SSH) -> None:
    processes = [await ssh.create_process("sleep 30", encoding=None) for _ in range(10)]
    with pytest.raises(asyncssh.ChannelOpenError):
        await ssh.create_process("true", encoding=None)
    processes[0].stdin.write_eof()
    processes[0].close()


async def test_a_dropped_connection_reports_no_status_and_the_command_goes_on(shared_lab: Lab, ssh: SSH) -> None:
    shared_lab.ssh_fault(drop_at="touch done")
    result = await ssh.run("/bin/sh -s", input=b"sleep 0.3; touch done\n", encoding=None)
    assert result.exit_status is None
    assert result.exit_signal is None
    async with shared_lab.connect() as again:
        waited = "i=0; until [ -e done ] || [ $i = 50 ]; do sleep 0.05; i=$((i+1)); done; ls done"
        assert (await again.run(waited)).stdout == "done\n"
        await again.run("rm done")


async def test_a_connection_dropped_before_the_script_arrives_runs_nothing(shared_lab: Lab, ssh: SSH) -> None:
    shared_lab.ssh_fault(drop_before="touch done")
    result = await ssh.run("/bin/sh -s", input=b"touch done\n", encoding=None)
    assert result.exit_status is None
    async with shared_lab.connect() as again:
        assert (await again.run("sleep 0.1; ls")).stdout == ""


async def test_noise_refused_sessions_and_a_deaf_host(shared_lab: Lab, ssh: SSH) -> None:
    shared_lab.ssh_fault(noise=True)
    result = await ssh.run("echo hi", encoding=None)
    assert isinstance(result.stdout, bytes)
    assert result.stdout.startswith(b"\xff\xfe\x00")
    assert result.stdout.endswith(b"hi\n")
    shared_lab.ssh_fault(refuse_sessions=True)
    with pytest.raises(asyncssh.ChannelOpenError):
        await ssh.run("true")
    shared_lab.deaf()
    with pytest.raises(OSError, match="Connect call failed"):
        async with shared_lab.connect():
            pass
    shared_lab.listen()
    shared_lab.ssh_fault(refuse_sessions=False, noise=False)
    async with shared_lab.connect() as again:
        assert (await again.run("echo back")).stdout == "back\n"
    with pytest.raises(LabError, match="no such fault"):
        shared_lab.ssh_fault(nonsense=True)


async def test_a_frozen_host_answers_nothing_until_it_thaws(shared_lab: Lab, ssh: SSH) -> None:
    shared_lab.freeze()
    running = asyncio.create_task(ssh.run("echo late"))
    done, _ = await asyncio.wait([running], timeout=0.3)
    assert not done
    shared_lab.thaw()
    assert (await running).stdout == "late\n"


async def test_sudo_may_want_a_password(shared_lab: Lab, ssh: SSH) -> None:
    assert (await ssh.run("sudo -n -- echo x")).stdout == "x\n"
    shared_lab.want_sudo_password(True)
    refused = await ssh.run("sudo -n -- true")
    assert (refused.exit_status, refused.stderr) == (1, "sudo: a password is required\n")
    shared_lab.want_sudo_password(False)
    assert (await ssh.run("sudo -n true")).exit_status == 0
    assert (await ssh.run("sudo -n -- /usr/bin/systemctl stop x")).exit_status == 64
