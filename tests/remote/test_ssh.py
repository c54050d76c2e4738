"""Connecting: which key is trusted, which login is tried, and what is said when it does not work."""

from __future__ import annotations

import asyncio
import random
import socket
import struct
import subprocess
from pathlib import Path

import asyncssh
import pytest

from console.clock import SystemClock
from console.errors import (
    AuthenticationError,
    HostKeyChangedError,
    HostKeyUnknownError,
    UnreachableError,
    UsageError,
)
from console.remote.known_hosts import pin
from console.remote.route import split_jump
from console.remote.session import connect_reader
from console.remote.ssh import Connections
from console.schema.hosts import Target
from console.secrets import Redactor
from tests.remote.sshd import Sshd, running


async def login(target: Target, connections: Connections | None = None, **environment: str) -> str:
    reader = await connect_reader(
        target, redactor=Redactor(), clock=SystemClock(), environment=environment, connections=connections
    )
    auth = reader.auth
    await reader.aclose()
    return auth


def config(home: Path, text: str) -> None:
    (home / ".ssh").mkdir(exist_ok=True)
    (home / ".ssh" / "config").write_text(text)


async def test_the_login_says_with_which_key_as_whom_and_from_where(sshd: Sshd) -> None:
    auth = await login(sshd.target())
    fingerprint = sshd.user_key.get_fingerprint()
    assert auth == f"publickey ED25519 {fingerprint} ops@127.0.0.1 from {socket.gethostname()}, sudo to root"


async def test_an_unknown_host_key_stops_and_shows_how_to_trust_it(sshd: Sshd) -> None:
    (sshd.folder / "known_hosts").write_text("")
    with pytest.raises(HostKeyUnknownError) as caught:
        await login(sshd.target())
    assert sshd.host_key.get_fingerprint() in caught.value.message
    assert caught.value.hint.endswith("console hosts trust gpu1")
    assert sshd.logins == 0


async def test_a_missing_known_hosts_file_is_an_unknown_key(sshd: Sshd) -> None:
    (sshd.folder / "known_hosts").unlink()
    with pytest.raises(HostKeyUnknownError):
        await login(sshd.target())


async def test_a_changed_host_key_stops_harder(sshd: Sshd) -> None:
    other = asyncssh.generate_private_key("ssh-ed25519")
    known = sshd.folder / "known_hosts"
    known.write_text(f"[127.0.0.1]:{sshd.port} {other.export_public_key('openssh').decode()}")
    with pytest.raises(HostKeyChangedError) as caught:
        await login(sshd.target())
    assert other.get_fingerprint() in caught.value.message
    assert sshd.host_key.get_fingerprint() in caught.value.message
    assert caught.value.hint.endswith(f"ssh-keygen -f {known} -R '[127.0.0.1]:{sshd.port}'")
    assert sshd.logins == 0


async def test_a_known_key_of_another_type_counts_as_changed(sshd: Sshd) -> None:
    other = asyncssh.generate_private_key("ecdsa-sha2-nistp256")
    (sshd.folder / "known_hosts").write_text(f"[127.0.0.1]:{sshd.port} {other.export_public_key('openssh').decode()}")
    with pytest.raises(HostKeyChangedError):
        await login(sshd.target())


async def test_a_revoked_key_is_never_accepted(sshd: Sshd) -> None:
    (sshd.folder / "known_hosts").write_text(sshd.known_as() + "@revoked " + sshd.known_as())
    with pytest.raises((HostKeyChangedError, HostKeyUnknownError)):
        await login(sshd.target())


async def test_a_hashed_entry_is_found_and_a_broken_line_ignored(sshd: Sshd) -> None:
    known = sshd.folder / "known_hosts"
    known.write_text("this is no entry at all !!\n" + sshd.known_as())
    assert (await login(sshd.target())).startswith("publickey")


@pytest.mark.parametrize("choice", ["no", "off", "accept-new"])
async def test_a_config_that_asks_for_less_checking_is_not_followed(
    sshd: Sshd, clean_environment: Path, choice: str
) -> None:
    config(clean_environment, f"Host *\n  StrictHostKeyChecking {choice}\n")
    reader = await connect_reader(sshd.target(), redactor=Redactor(), clock=SystemClock(), environment={})
    assert any(f"StrictHostKeyChecking {choice}" in warning for warning in reader.warnings)
    await reader.aclose()
    (sshd.folder / "known_hosts").write_text("")
    with pytest.raises(HostKeyUnknownError):
        await login(sshd.target())


@pytest.mark.parametrize("option", ["UserKnownHostsFile none", "UserKnownHostsFile /dev/null"])
async def test_no_known_hosts_file_does_not_mean_no_check(sshd: Sshd, clean_environment: Path, option: str) -> None:
    config(clean_environment, f"Host *\n  {option}\n  StrictHostKeyChecking no\n")
    with pytest.raises(HostKeyUnknownError):
        await login(without(sshd.target(), "known_hosts"))


async def test_a_global_file_does_not_hide_the_users(sshd: Sshd, clean_environment: Path) -> None:
    empty = sshd.folder / "global"
    empty.write_text("")
    config(clean_environment, f"GlobalKnownHostsFile {empty} {sshd.folder}/not-there\n")
    (clean_environment / ".ssh" / "known_hosts").write_text(sshd.known_as())
    assert (await login(without(sshd.target(), "known_hosts"))).startswith("publickey")


async def test_the_global_file_is_read(sshd: Sshd, clean_environment: Path) -> None:
    (sshd.folder / "global").write_text(sshd.known_as())
    config(clean_environment, f"GlobalKnownHostsFile {sshd.folder}/global\n")
    assert (await login(without(sshd.target(), "known_hosts"))).startswith("publickey")


async def test_alias_port_user_and_identity_may_come_from_the_config(sshd: Sshd, clean_environment: Path) -> None:
    config(
        clean_environment,
        f"Host gpu-one\n  HostName 127.0.0.1\n  Port {sshd.port}\n  User from-config\n"
        f"  IdentityFile {sshd.folder}/id_ed25519\n  UserKnownHostsFile {sshd.folder}/known_hosts\n"
        "  RequestTTY yes\n  RemoteCommand false\n",
    )
    target = without(sshd.target(address="gpu-one"), "port", "user", "identity", "known_hosts")
    assert "from-config@gpu-one" in await login(target)


async def test_a_refused_login_says_what_was_tried(sshd: Sshd) -> None:
    sshd.faults.refuse_login = True
    with pytest.raises(AuthenticationError) as caught:
        await login(sshd.target())
    assert sshd.user_key.get_fingerprint() in caught.value.message
    assert "ssh-add" in caught.value.hint


async def test_an_encrypted_key_is_named(sshd: Sshd) -> None:
    locked = sshd.folder / "locked"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "secret", "-f", str(locked)], check=True)
    with pytest.raises(AuthenticationError, match="locked is encrypted: ssh-add it"):
        await login(sshd.target(identity=str(sshd.folder / "locked")))


async def test_a_missing_identity_is_named(sshd: Sshd) -> None:
    with pytest.raises(AuthenticationError, match="nowhere does not exist"):
        await login(sshd.target(identity=str(sshd.folder / "nowhere")))


async def test_without_any_key_it_says_so(sshd: Sshd) -> None:
    with pytest.raises(AuthenticationError, match="no agent and no key file"):
        await login(without(sshd.target(), "identity"))


async def until_listening(path: Path) -> None:
    async with asyncio.timeout(10):
        while True:
            try:
                _, writer = await asyncio.open_unix_connection(path)
            except OSError:
                await asyncio.sleep(0.02)
                continue
            writer.close()
            await writer.wait_closed()
            return


async def test_the_agent_is_asked(sshd: Sshd, tmp_path: Path) -> None:
    agent = await asyncio.create_subprocess_exec(
        "ssh-agent", "-D", "-a", str(tmp_path / "agent"), stdout=asyncio.subprocess.DEVNULL
    )
    try:
        await until_listening(tmp_path / "agent")
        async with asyncssh.SSHAgentClient(str(tmp_path / "agent")) as client:
            await client.add_keys([asyncssh.generate_private_key("ssh-ed25519") for _ in range(3)])
            await client.add_keys([sshd.user_key])
        auth = await login(without(sshd.target(), "identity"), SSH_AUTH_SOCK=str(tmp_path / "agent"))
        assert sshd.user_key.get_fingerprint() in auth
        # Named in the inventory, the agent's other keys are not offered at all.
        (sshd.folder / "id_ed25519").unlink()
        sshd.faults.refuse_login = True
        with pytest.raises(AuthenticationError) as caught:
            await login(
                sshd.target(identity=str(sshd.folder / "id_ed25519.pub")), SSH_AUTH_SOCK=str(tmp_path / "agent")
            )
        assert caught.value.message.count("SHA256:") == 1
    finally:
        agent.terminate()
        await agent.wait()


async def test_nothing_listening_is_unreachable(sshd: Sshd) -> None:
    await sshd.stop()
    with pytest.raises(UnreachableError, match="connection refused"):
        await login(sshd.target())


async def test_a_name_that_does_not_resolve_is_unreachable(sshd: Sshd) -> None:
    with pytest.raises(UnreachableError, match="does not resolve"):
        await login(sshd.target(address="no-such-host.invalid"))


async def test_silence_is_unreachable(sshd: Sshd, clean_environment: Path) -> None:
    config(clean_environment, "Host *\n  ConnectTimeout 1\n")
    silent = socket.create_server(("127.0.0.1", 0))
    with silent, pytest.raises(UnreachableError, match="no answer in time"):
        await login(sshd.target(port=str(silent.getsockname()[1])))


async def test_what_does_not_speak_ssh_is_unreachable(sshd: Sshd) -> None:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 2000)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    async with server:
        with pytest.raises(UnreachableError):
            await login(sshd.target(port=str(server.sockets[0].getsockname()[1])), quick())


def quick() -> Connections:
    """Connections that do not wait between two tries."""

    async def no_pause(seconds: float) -> None:
        await asyncio.sleep(0)

    return Connections({}, randomness=random.Random(1), sleep=no_pause)


async def test_a_crowded_server_is_tried_again_before_login(sshd: Sshd) -> None:
    sshd.faults.hang_up_first = 3
    assert (await login(sshd.target(), quick())).startswith("publickey")
    assert sshd.logins == 1


async def test_a_server_that_always_hangs_up_is_given_up(sshd: Sshd) -> None:
    sshd.faults.hang_up_first = 1000
    with pytest.raises(UnreachableError, match=r"lost before login|was reset"):
        await login(sshd.target(), quick())
    assert sshd.faults.hang_up_first == 1000 - 6


async def test_no_more_than_eight_knock_at_once(sshd: Sshd, monkeypatch: pytest.MonkeyPatch) -> None:
    knocking, most = 0, 0
    original = Connections._connect

    async def counted(self: Connections, *args: object) -> asyncssh.SSHClientConnection:
        nonlocal knocking, most
        knocking += 1
        most = max(most, knocking)
        try:
            return await original(self, *args)  # type: ignore[arg-type]
        finally:
            knocking -= 1

    monkeypatch.setattr(Connections, "_connect", counted)
    connections = Connections({})
    targets = [sshd.target().model_copy(update={"host_name": f"gpu{number}"}) for number in range(20)]
    await asyncio.gather(*(login(target, connections) for target in targets))
    assert sshd.logins == 20
    assert most == 8


async def test_a_jump_host_is_checked_like_any_other(sshd: Sshd, tmp_path: Path, clean_environment: Path) -> None:
    async with running(tmp_path / "bastion") as bastion:
        (clean_environment / ".ssh").mkdir()
        (clean_environment / ".ssh" / "id_ed25519").write_bytes((bastion.folder / "id_ed25519").read_bytes())
        target = sshd.target(jump=f"ops@127.0.0.1:{bastion.port}")
        with pytest.raises(HostKeyUnknownError):
            await login(target)
        assert bastion.logins == 0
        pin(sshd.folder / "known_hosts", [bastion.known_as().strip()])
        connections = Connections({})
        assert "ops@127.0.0.1" in await login(target, connections)
        await login(target, connections)
        assert bastion.logins == 1  # one connection to it, shared
        assert sshd.logins == 2
        await connections.aclose()


async def test_a_jump_host_of_the_config_is_used_but_not_for_itself(
    sshd: Sshd, tmp_path: Path, clean_environment: Path
) -> None:
    async with running(tmp_path / "bastion") as bastion:
        config(
            clean_environment,
            f"Host bastion\n  HostName localhost\n  Port {bastion.port}\n  User ops\n"
            f"  IdentityFile {bastion.folder}/id_ed25519\nHost *\n  ProxyJump bastion\n",
        )
        pin(sshd.folder / "known_hosts", [bastion.known_as("localhost").strip()])
        connections = Connections({})
        await login(sshd.target(), connections)
        assert bastion.logins == 1
        await connections.aclose()


async def test_every_hop_of_a_chain_is_checked_by_name(sshd: Sshd, tmp_path: Path, clean_environment: Path) -> None:
    async with running(tmp_path / "one") as one, running(tmp_path / "two") as two:
        config(
            clean_environment,
            f"Host one\n  HostName 127.0.0.1\n  Port {one.port}\n  User ops\n  IdentityFile {one.folder}/id_ed25519\n"
            f"Host two\n  HostName 127.0.0.1\n  Port {two.port}\n  User ops\n  IdentityFile {two.folder}/id_ed25519\n",
        )
        pin(sshd.folder / "known_hosts", [one.known_as().strip()])
        connections = Connections({})
        with pytest.raises(HostKeyUnknownError) as caught:
            await login(sshd.target(jump="one,two"), connections)
        assert (caught.value.where.split()[0], one.logins, two.logins, sshd.logins) == ("two", 1, 0, 0)
        pin(sshd.folder / "known_hosts", [two.known_as().strip()])
        assert "ops@127.0.0.1" in await login(sshd.target(jump="one,two"), connections)
        await connections.aclose()
        # The same way, told by the hops' own options: two is behind one.
        with (clean_environment / ".ssh" / "config").open("a") as handle:
            handle.write("Host two\n  ProxyJump one\n")
        connections = Connections({})
        await login(sshd.target(jump="two"), connections)
        assert (one.logins, two.logins, sshd.logins) == (2, 2, 2)
        await connections.aclose()


async def test_a_way_in_a_circle_is_refused(sshd: Sshd, clean_environment: Path) -> None:
    config(clean_environment, "Host one\n  ProxyJump two\nHost two\n  ProxyJump one\n")
    with pytest.raises(UsageError, match=r"goes through (one|two) twice"):
        await login(sshd.target(jump="one"))


async def test_scan_shows_keys_and_pinning_them_is_enough(sshd: Sshd) -> None:
    known = sshd.folder / "known_hosts"
    known.unlink()
    keys = await Connections({}).scan(sshd.target())
    assert [(key.kind, key.fingerprint) for key in keys] == [("ssh-ed25519", sshd.host_key.get_fingerprint())]
    assert sshd.logins == 0
    assert pin(known, [key.line for key in keys]) == 1
    assert pin(known, [key.line for key in keys]) == 0
    assert known.stat().st_mode & 0o777 == 0o600
    assert (await login(sshd.target())).startswith("publickey")


@pytest.mark.parametrize(("resets", "found"), [(b"ecdsa", 1), (b"ssh-", 0)])
async def test_scan_takes_a_reset_for_a_key_that_is_not_there_only_beside_one_that_is(
    sshd: Sshd, resets: bytes, found: int
) -> None:
    """A server without the wanted type says so and hangs up; where its reset comes first, that is all one sees."""

    async def front(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        behind, ahead = await asyncio.open_connection("127.0.0.1", sshd.port)
        offered = b""
        back = asyncio.create_task(copy(behind, writer))
        while data := await reader.read(65536):
            offered += data
            if resets in offered.split(b"\n", 1)[-1] and (resets != b"ecdsa" or b"ssh-ed25519" not in offered):
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                break
            ahead.write(data)
        back.cancel()
        ahead.close()
        writer.close()

    async def copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while data := await source.read(65536):
            sink.write(data)

    server = await asyncio.start_server(front, "127.0.0.1", 0)
    target = sshd.target(port=str(server.sockets[0].getsockname()[1]))
    async with server:
        if found:
            keys = await Connections({}).scan(target)
            assert [key.kind for key in keys] == ["ssh-ed25519"]
        else:
            with pytest.raises(UnreachableError, match=r"lost|reset"):
                await Connections({}).scan(target)


def test_pin_does_not_glue_lines_together(tmp_path: Path) -> None:
    path = tmp_path / "new" / "known_hosts"
    path.parent.mkdir()
    path.write_text("host key without a newline at the end")
    pin(path, ["second line"])
    assert path.read_text() == "host key without a newline at the end\nsecond line\n"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("bastion", (None, "bastion", None)),
        ("ops@bastion:2222", ("ops", "bastion", 2222)),
        ("a@b@c", ("a@b", "c", None)),
        ("[fe80::1]:22", (None, "fe80::1", 22)),
    ],
)
def test_jump_specifications(text: str, parts: tuple[str | None, str, int | None]) -> None:
    assert split_jump(text) == parts


async def test_a_key_variable_that_is_not_set_asks_no_host(sshd: Sshd) -> None:
    with pytest.raises(UsageError, match="K26_KEY is not set") as caught:
        await login(sshd.target(api_key_env="K26_KEY"))
    assert caught.value.exit_code == 2
    assert sshd.connections == []


def without(target: Target, *keys: str) -> Target:
    """The target with these keys of its host left to the SSH config."""
    return target.model_copy(update={"host": target.host.model_copy(update=dict.fromkeys(keys))})
