"""The lab's service manager, with real processes."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from console.lab.properties import show, span
from console.lab.service import Service
from console.lab.supervisor import Supervisor
from console.lab.unit_state import seconds

NAME = "a.service"


class Host:
    """A supervisor over one folder, with the means to write units and wait."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.supervisor = Supervisor(folder, "/usr/bin:/bin")

    def write(self, *lines: str, name: str = NAME) -> Path:
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(("[Unit]", "Description=A thing", "[Service]", *lines)) + "\n", encoding="utf-8")
        return path

    @property
    def service(self) -> Service:
        return self.supervisor.service(NAME)

    def shown(self, *names: str) -> list[str]:
        known = show(self.supervisor, self.service)
        return [known[name] for name in names]

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(10):
            while not condition():  # noqa: ASYNC110 - a process has no event
                await asyncio.sleep(0.005)

    async def running_argv(self) -> list[str]:
        path = Path(f"/proc/{self.shown('MainPID')[0]}/cmdline")
        await self.until(lambda: path.read_bytes() != b"")  # empty for an instant within exec
        return path.read_text().split("\0")[:-1]

    def said(self, **match: str) -> list[str]:
        groups = [{name: [value] for name, value in match.items()}] if match else []
        return [record.message.decode() for record in self.supervisor.journal.select(groups)]


@pytest.fixture
async def host(tmp_path: Path) -> AsyncIterator[Host]:
    running = Host(tmp_path / "units")
    running.folder.mkdir()
    yield running
    for service in running.supervisor.services.values():
        await service.request("stop")


async def test_a_start_runs_the_command_in_a_session_of_its_own(host: Host) -> None:
    host.write("Environment=A=1 B=two", 'ExecStart=/bin/sh -c "echo $A ${B}; echo bad >&2; exec sleep 60"')
    await host.service.request("start")
    assert host.shown("ActiveState", "SubState", "Result", "NRestarts") == ["active", "running", "success", "0"]
    pid = int(host.shown("MainPID")[0])
    assert os.getsid(pid) == pid
    invocation = host.shown("InvocationID")[0]
    await host.until(lambda: len(host.said(_SYSTEMD_INVOCATION_ID=invocation)) == 2)
    assert host.said(_SYSTEMD_INVOCATION_ID=invocation) == ["1 two", "bad"]
    assert host.said(INVOCATION_ID=invocation) == ["Started a.service - A thing."]


async def test_a_restart_is_a_new_invocation_and_waits_for_the_old_process(host: Host) -> None:
    host.write("ExecStart=/bin/sleep 60")
    await host.service.request("start")
    before = host.shown("InvocationID", "MainPID")
    job = host.service.request("restart")
    assert host.shown("Job") != [""]
    await job
    after = host.shown("InvocationID", "MainPID")
    assert before[0] != after[0]
    assert before[1] != after[1]
    assert not Path(f"/proc/{before[1]}").exists()
    assert host.shown("Job", "ActiveState") == ["", "active"]


async def test_a_crash_is_restarted_and_counted_and_stays_in_the_journal(host: Host) -> None:
    host.write("ExecStart=/bin/sh -c 'echo boom; exit 3'", "Restart=on-failure", "RestartSec=20ms")
    await host.service.request("start")
    first = host.shown("InvocationID")[0]
    await host.until(lambda: host.shown("NRestarts") == ["2"])
    assert host.said(_SYSTEMD_INVOCATION_ID=first) == ["boom"]
    manager = host.said(UNIT=NAME)
    assert "a.service: Main process exited, code=exited, status=3/NOTIMPLEMENTED" in manager
    assert "a.service: Scheduled restart job, restart counter is at 1." in manager


async def test_too_many_starts_end_it_until_reset(host: Host) -> None:
    host.write("ExecStart=/bin/false", "Restart=always", "RestartSec=5ms", "StartLimitBurst=3")
    await host.service.request("start")
    await host.until(lambda: host.shown("ActiveState") == ["failed"])
    assert host.shown("Result", "NRestarts") == ["start-limit-hit", "3"]
    await host.service.request("start")
    assert host.shown("ActiveState") == ["failed"]
    host.service.reset_failed()
    assert host.shown("ActiveState", "Result", "NRestarts") == ["inactive", "success", "0"]


async def test_a_process_that_kills_itself_leaves_a_failed_unit_after_a_plain_stop(host: Host) -> None:
    host.write(
        "ExecStart=/bin/sh -c 'trap \"kill -9 $$$$\" TERM; echo up; while :; do sleep 0.02; done'", "KillMode=mixed"
    )
    await host.service.request("start")
    await host.until(lambda: "up" in host.said())
    await host.service.request("stop")
    assert host.shown("ActiveState", "Result", "ExecMainCode", "ExecMainStatus") == ["failed", "signal", "2", "9"]
    assert "code=killed ; status=9/KILL }" in host.shown("ExecStart")[0]


async def test_a_stop_by_sigterm_is_clean_and_is_not_restarted(host: Host) -> None:
    host.write("ExecStart=/bin/sleep 60", "Restart=always", "RestartSec=1ms")
    await host.service.request("start")
    await host.service.request("stop")
    assert host.shown("ActiveState", "SubState", "Result", "MainPID") == ["inactive", "dead", "success", "0"]


async def test_what_does_not_stop_is_killed(host: Host) -> None:
    host.write("ExecStart=/bin/sh -c 'trap : TERM; echo up; while :; do sleep 0.02; done'", "TimeoutStopSec=50ms")
    await host.service.request("start")
    await host.until(lambda: "up" in host.said())
    await host.service.request("stop")
    assert host.shown("ActiveState", "Result") == ["failed", "timeout"]


async def test_a_binary_that_is_not_there(host: Host) -> None:
    host.write("ExecStart=/no/such/binary --x")
    await host.service.request("start")
    assert host.shown("ActiveState", "Result", "ExecMainStatus") == ["failed", "exit-code", "203"]


async def test_a_missing_environment_file_fails_the_start_unless_marked(host: Host, tmp_path: Path) -> None:
    host.write(f"EnvironmentFile={tmp_path}/none", "ExecStart=/bin/sleep 60")
    await host.service.request("start")
    assert host.shown("ActiveState") == ["failed"]
    host.write(f"EnvironmentFile=-{tmp_path}/none", "ExecStart=/bin/sleep 60")
    host.supervisor.daemon_reload()
    await host.service.request("start")
    assert host.shown("ActiveState", "EnvironmentFiles") == ["active", f"{tmp_path}/none (ignore_errors=yes)"]


async def test_an_edit_counts_after_a_reload_and_runs_after_a_restart(host: Host) -> None:
    host.write("ExecStart=/bin/sleep 61")
    await host.service.request("start")
    host.write("ExecStart=/bin/sleep 62")
    assert host.shown("NeedDaemonReload") == ["yes"]
    assert "sleep 61" in host.shown("ExecStart")[0]
    host.supervisor.daemon_reload()
    assert host.shown("NeedDaemonReload") == ["no"]
    assert "argv[]=/bin/sleep 62 ;" in host.shown("ExecStart")[0]
    assert await host.running_argv() == ["/bin/sleep", "61"]
    await host.service.request("restart")
    assert await host.running_argv() == ["/bin/sleep", "62"]


async def test_a_kill_from_outside_ends_the_invocation(host: Host) -> None:
    host.write("ExecStart=/bin/sleep 60", "Restart=on-failure", "RestartSec=10ms")
    await host.service.request("start")
    before = host.shown("InvocationID")
    os.kill(int(host.shown("MainPID")[0]), signal.SIGKILL)
    await host.until(lambda: host.shown("InvocationID") != before and host.shown("ActiveState") == ["active"])
    assert host.shown("NRestarts") == ["1"]


async def test_unit_file_states(host: Host) -> None:
    host.write("ExecStart=/bin/true", "[Install]", "WantedBy=multi-user.target")
    assert host.shown("UnitFileState") == ["disabled"]
    (host.folder / "multi-user.target.wants").mkdir()
    (host.folder / "multi-user.target.wants" / NAME).symlink_to(f"../{NAME}")
    assert host.shown("UnitFileState") == ["enabled"]


def test_time_spans_both_ways() -> None:
    assert [seconds(text, 0.0) for text in ("5", "100ms", "1min 30s", "2h")] == [5.0, 0.1, 90.0, 7200.0]
    assert [span(value) for value in (0.1, 90.0, 1.0, 1e9)] == ["100ms", "1min 30s", "1s", "infinity"]
