"""The scripts on real systemd, OpenSSH and journald."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from console.clock import SystemClock
from console.engines.base import Request
from console.engines.registry import engine_named
from console.errors import ConnectionLostError, SudoError
from console.facts.collect import collect, collect_again
from console.facts.watch import watch_once
from console.remote.files import read_file
from console.remote.session import Remote, connect_reader
from console.remote.systemd import unit_state
from console.schema.hosts import Target, load_inventory
from console.secrets import Redactor
from tests.hosts.engine_unit import MODEL, PORT, UNIT, install_engine, unit_text
from tests.hosts.host import Host
from tests.hosts.inventory import write_inventory

pytestmark = pytest.mark.real_host

ENGINE = engine_named("sglang")
UNIT_PATH = f"/etc/systemd/system/{UNIT}"


def target_of(host: Host, folder: Path, user: str = "root") -> Target:
    return load_inventory(write_inventory(folder / "hosts.toml", [host], user=user)).target(host.name)


@pytest.fixture
async def remote(host: Host, tmp_path: Path) -> AsyncIterator[Remote]:
    connected = (
        await connect_reader(target_of(host, tmp_path), redactor=Redactor(), clock=SystemClock(), environment={})
    ).writer()
    yield connected
    await connected.aclose()


async def test_facts_of_a_serving_unit(host: Host, remote: Remote) -> None:
    install_engine(host, unit_text(environment=["HF_TOKEN=hush-hush-token"]))
    facts = await collect(remote, ENGINE)
    assert facts.host.hostname == host.name
    assert facts.host.sudo == "root"
    assert facts.host.systemd_version >= 247
    assert facts.host.free_bytes_unit_folder
    assert facts.host.free_bytes_state_folder
    assert facts.host.gpu_reason == "nvidia-smi is not installed"
    assert facts.unit.active_state == "active"
    assert facts.unit.fragment_path == UNIT_PATH
    assert not facts.unit.need_daemon_reload
    assert "--trust-remote-code" in facts.unit.exec_start[0].split()
    assert [(file.path, file.kind) for file in facts.files] == [(UNIT_PATH, "fragment")]
    content = host.read_bytes(UNIT_PATH)
    assert facts.files[0].content == content
    assert facts.files[0].sha256 == hashlib.sha256(content).hexdigest()
    assert facts.process.pid == facts.unit.main_pid
    assert list(facts.process.argv) == host.main_argv(UNIT)
    assert facts.process.environment["HF_TOKEN"] == "hush-hush-token"
    assert remote.redactor.text("hush-hush-token") == "***"
    assert facts.process.started_ticks > 0
    assert facts.serving is not None
    assert facts.serving.context_length == 32768
    assert {path.kind: path.exists for path in facts.paths} == {"binary": True, "model": True}
    assert next(path.path for path in facts.paths if path.kind == "model") == MODEL
    assert facts.load_times_s
    assert 1.0 < facts.load_times_s[0] < 60
    assert not facts.lock.held
    assert facts.ledger == ()


async def test_a_stranger_on_the_port_is_told(host: Host, remote: Remote) -> None:
    host.write_unit(UNIT, "[Service]\nExecStart=/usr/bin/sleep 1000\n")
    host.run("systemctl", "start", UNIT)
    host.write_unit("other.service", f"[Service]\nExecStart=/usr/bin/python3 -m http.server {PORT}\n", enable=False)
    host.run("systemctl", "start", "other.service")
    await asyncio.sleep(1)
    facts = await collect(remote, ENGINE)
    assert facts.process.pid == 0
    assert str(facts.process.foreign_pid) == host.show("other.service", "MainPID")
    assert facts.serving is None
    watch = await watch_once(remote, ENGINE, PORT)
    assert (watch.port_owner, watch.port_pid) == ("foreign", facts.process.foreign_pid)


async def test_every_file_that_decides_the_unit_is_read(host: Host, remote: Remote) -> None:
    host.write("/opt/run.sh", "#!/bin/sh\nexec sleep 1000\n", mode=0o755)
    host.write("/etc/default/k26", "A=1\n", mode=0o600)
    host.write(
        "/srv/real.service",
        "[Service]\nEnvironmentFile=/etc/default/k26\nEnvironmentFile=-/etc/default/none\nExecStart=/opt/run.sh\n",
    )
    host.run("ln", "-s", "/srv/real.service", UNIT_PATH)
    host.write(
        f"/etc/systemd/system/{UNIT}.d/10-more.conf", "[Service]\nExecStart=\nExecStart=/bin/bash /opt/run.sh --flag\n"
    )
    host.run("systemctl", "daemon-reload")
    facts = await collect(remote, ENGINE)
    assert [(file.kind, file.path, file.real_path, file.missing) for file in facts.files] == [
        ("fragment", UNIT_PATH, "/srv/real.service", False),
        ("dropin", f"/etc/systemd/system/{UNIT}.d/10-more.conf", f"/etc/systemd/system/{UNIT}.d/10-more.conf", False),
        ("environment", "/etc/default/k26", "/etc/default/k26", False),
        ("environment", "/etc/default/none", "/etc/default/none", True),
        ("wrapper", "/opt/run.sh", "/opt/run.sh", False),
    ]
    assert [oct(file.mode) for file in facts.files] == ["0o644", "0o644", "0o600", "0o0", "0o755"]


async def test_looked_at_again_a_process_of_the_same_start_is_not_asked_for(host: Host, remote: Remote) -> None:
    install_engine(host)
    before = await collect(remote, ENGINE)
    assert before.process.pid == before.unit.main_pid > 0
    host.write(UNIT_PATH, unit_text().replace("32768", "65536"))
    host.run("systemctl", "daemon-reload")
    again = await collect_again(remote, ENGINE, before)
    assert again.process == before.process, "of the same start"
    assert again.files[0].sha256 != before.files[0].sha256, "files are read all the same"
    host.run("systemctl", "restart", UNIT)
    await asyncio.sleep(1)
    after = await collect_again(remote, ENGINE, before)
    assert after.unit.invocation_id != before.unit.invocation_id
    assert after.process != before.process, "another start is asked for its own"


async def test_a_missing_unit_is_no_failure(remote: Remote) -> None:
    facts = await collect(remote, ENGINE)
    assert facts.unit.load_state == "not-found"
    assert facts.files == ()


async def test_edit_reload_restart_and_watch(host: Host, remote: Remote) -> None:
    install_engine(host)
    before = await collect(remote, ENGINE)
    old = before.files[0].content
    new = old.replace(b"32768", b"200000")
    hold = await remote.hold_lock("01RUN", {"operator": "kim"})
    done = await remote.act(
        "act_replace.sh", UNIT_PATH, before.files[0].sha256, hashlib.sha256(new).hexdigest(),
        base64.b64encode(new).decode(), "01RUN", lock="01RUN",
    )  # fmt: skip
    assert done.exit_status == 0, done.complaint
    assert (await unit_state(remote, UNIT)).need_daemon_reload
    assert (await remote.act("act_reload.sh", UNIT, lock="01RUN")).exit_status == 0
    state = await unit_state(remote, UNIT)
    assert not state.need_daemon_reload
    assert "200000" in state.exec_start[0]
    first = await watch_once(remote, ENGINE, PORT)
    assert (await remote.act("act_restart.sh", UNIT, "", "0" * 32, lock="01RUN")).exit_status == 76
    done = await remote.act("act_restart.sh", UNIT, "yes", state.invocation_id, lock="01RUN")
    assert done.exit_status == 0, done.complaint
    kinds, cursor = [], first.cursor
    async with asyncio.timeout(60):
        while "ready" not in kinds:
            watch = await watch_once(remote, ENGINE, PORT, cursor, not_of=state.invocation_id)
            cursor = watch.cursor
            kinds += [line.kind for line in watch.lines]
            await asyncio.sleep(0.1)
    assert kinds[0] == "args"
    assert "weights" in kinds
    assert watch.invocation != state.invocation_id
    assert watch.port_owner == "unit"
    assert {line.invocation for line in watch.journal} == {watch.invocation}
    reply = await remote.fetch(Request("GET", "/v1/models"))
    assert reply.status == 200
    assert b"200000" in reply.body
    after = await collect(remote, ENGINE)
    assert after.serving is not None
    assert after.serving.context_length == 200000
    assert after.lock.held
    assert after.lock.run == "01RUN"
    await hold.release()


async def test_a_killed_session_is_lost_and_the_lock_goes_with_it(host: Host, remote: Remote) -> None:
    hold = await remote.hold_lock("01RUN", {"operator": "kim"})
    acting = asyncio.create_task(remote.act("act_command.sh", base64.b64encode(b"sleep 20").decode(), ""))
    await asyncio.sleep(0.5)
    assert host.kill_sessions() > 0
    with pytest.raises(ConnectionLostError):
        await acting
    async with asyncio.timeout(10):
        await hold.lost.wait()
    await asyncio.sleep(1)
    await (await remote.hold_lock("01RUN", {"operator": "kim"})).release()


async def test_a_root_login_can_stop_what_takes_too_long(host: Host, remote: Remote) -> None:
    command = base64.b64encode(b"sleep 1111").decode()
    with pytest.raises(ConnectionLostError, match="stopped on the host"):
        await remote.act("act_command.sh", command, "", timeout_s=1.0)
    assert host.run("pgrep", "-f", "sleep 1111", check=False).returncode == 1


async def test_an_ordinary_user_with_sudo_sees_and_does_the_same(host: Host, tmp_path: Path) -> None:
    install_engine(host, unit_text(environment=["HF_TOKEN=hush-hush-token"]))
    host.write("/etc/default/secret", "A=1\n", mode=0o600)
    host.add_user("ops", sudo=True)
    connected = (
        await connect_reader(target_of(host, tmp_path, "ops"), redactor=Redactor(), clock=SystemClock(), environment={})
    ).writer()
    facts = await collect(connected, ENGINE)
    assert facts.host.login_user == "ops"
    assert facts.host.sudo == "passwordless"
    assert facts.process.pid == facts.unit.main_pid
    assert facts.process.environment["HF_TOKEN"] == "hush-hush-token"
    assert facts.load_times_s
    assert (await read_file(connected, "/etc/default/secret")).content == b"A=1\n"
    hold = await connected.hold_lock("01RUN", {"operator": "kim"})
    old = facts.files[0].content
    done = await connected.act(
        "act_replace.sh", UNIT_PATH, facts.files[0].sha256, hashlib.sha256(old + b"#\n").hexdigest(),
        base64.b64encode(old + b"#\n").decode(), "01RUN", lock="01RUN",
    )  # fmt: skip
    assert done.exit_status == 0, done.complaint
    assert host.read_bytes(UNIT_PATH) == old + b"#\n"
    assert host.out("stat", "-c", "%u %g %a", UNIT_PATH) == "0 0 644"
    table = base64.b64encode(b"").decode()
    done = await connected.act(
        "act_ledger.sh",
        "/var/lib/console",
        UNIT,
        "01RUN",
        base64.b64encode(b'{"state": "open"}').decode(),
        table,
        "",
        "",
        UNIT_PATH,
        "backup-1",
        lock="01RUN",
    )
    assert done.exit_status == 0, done.complaint
    assert host.out("stat", "-c", "%u %a", "/var/lib/console/" + UNIT) == "0 700"
    assert (await collect(connected, ENGINE)).ledger[0].run == "01RUN"
    await hold.release()
    await connected.aclose()


async def test_sudo_with_a_password_is_said(host: Host, tmp_path: Path) -> None:
    host.add_user("ops", sudo=True, password="something")
    connected = (
        await connect_reader(target_of(host, tmp_path, "ops"), redactor=Redactor(), clock=SystemClock(), environment={})
    ).writer()
    assert (await collect(connected, ENGINE)).host.sudo == "password"
    with pytest.raises(SudoError):
        await connected.act("act_reload.sh", UNIT)
    await connected.aclose()


@pytest.mark.parametrize(
    ("exec_start", "complaint"),
    [
        ("ExecStart=/usr/bin/sleep \\\n    1000\n", ""),
        ("ExecStart=/usr/bin/sleep\n    --context-length 200000 \\\n    1000\n", "Missing '='"),
        ("ExecStart=/usr/bin/no-such-engine\n", "no-such-engine"),
    ],
)
async def test_systemd_judges_a_unit_that_is_not_installed(
    host: Host, remote: Remote, exec_start: str, complaint: str
) -> None:
    host.write_unit(UNIT, "[Service]\nExecStart=/usr/bin/sleep 1000\n")
    candidate = base64.b64encode(f"[Service]\n{exec_start}".encode()).decode()
    dropin = base64.b64encode(b"[Service]\nNice=5\n").decode()
    output = await remote.act("act_verify.sh", "/tmp/entry", UNIT, UNIT, candidate, f"{UNIT}.d/10.conf", dropin)
    said = output.text("warnings")
    assert complaint in said if complaint else UNIT not in said, said
    assert host.read(UNIT_PATH) == "[Service]\nExecStart=/usr/bin/sleep 1000\n"
    assert not host.exists("/tmp/entry/verify")


async def test_a_change_leaves_a_line_in_the_hosts_own_log(host: Host, remote: Remote) -> None:
    await remote.act("act_log.sh", "kim: context_length 32768 -> 200000 (run 01RUN)")
    assert "kim: context_length 32768 -> 200000 (run 01RUN)" in host.out("journalctl", "-t", "console", "-o", "cat")


async def test_an_undo_by_hand_on_the_host(host: Host, remote: Remote) -> None:
    before, after = "[Service]\nExecStart=/usr/bin/sleep 1000\n", "[Service]\nExecStart=/usr/bin/sleep 2000\n"
    host.write_unit(UNIT, before)
    digests = [hashlib.sha256(text.encode()).hexdigest() for text in (before, after)]
    table = base64.b64encode(f"{UNIT_PATH}\t{digests[0]}\t{digests[1]}\tbackup-1\n".encode()).decode()
    document = base64.b64encode(b'{"state": "open"}').decode()
    done = await remote.act(
        "act_ledger.sh", "/var/lib/console", UNIT, "01RUN", document, table, "", "", UNIT_PATH, "backup-1"
    )
    assert done.exit_status == 0, done.complaint
    host.write_unit(UNIT, after)
    host.run("systemctl", "restart", UNIT)
    host.run("sh", f"/var/lib/console/{UNIT}/01RUN/undo.sh")
    assert host.read(UNIT_PATH) == before
    assert host.show(UNIT, "NeedDaemonReload") == "no"
    async with asyncio.timeout(20):
        while host.main_argv(UNIT) != ["/usr/bin/sleep", "1000"]:  # noqa: ASYNC110
            await asyncio.sleep(0.2)
