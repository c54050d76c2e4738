"""A simulated GPU host on loopback: start it, use it over SSH, break it, end it."""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import asyncssh

from .answers import Answer
from .control import ask
from .furnish import build, environment, write_access
from .layout import LabService, Layout, Shape, read_services
from .simulator.faults import write_fault
from .sweep import sweep

DAEMON = "console.lab.daemon"
START_S = 20.0


class LabError(Exception):
    """The lab did not start, or is not there."""


@dataclass
class Lab:
    """A running lab. An async context manager that ends every process it started.

    Attached (`Lab.start`) it also ends when the process that started it does, killed or not.
    """

    folder: Path
    services: Sequence[LabService]
    ssh_port: int
    pid: int
    guard: int
    user: str
    process: subprocess.Popen[bytes] | None = None

    @classmethod
    async def start(
        cls, folder: Path, shape: Shape | None = None, *, ready: bool = True, timeout_s: float = 120.0, **changes: Any
    ) -> Lab:
        """Build a lab in `folder` and start its services; `changes` are fields of Shape. Raises LabError.

        With `ready` it returns once every service serves (LabError after `timeout_s`); without, once they are asked to
        start.
        """
        chosen = replace(shape or Shape(), **changes)
        lab = await asyncio.to_thread(launch, folder, chosen, detached=False)
        try:
            await lab.start_services(ready=ready, timeout_s=timeout_s)
            lab.set_fault(chosen.fault, chosen.above_context)
        except BaseException:
            await lab.stop()
            raise
        return lab

    async def start_services(self, *, ready: bool, timeout_s: float = 120.0) -> None:
        for service in self.services:
            self.ask("systemctl", "start", "--no-block", service.unit)
        if ready:
            for service in self.services:
                await self.wait_ready(service.name, timeout_s)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    @property
    def layout(self) -> Layout:
        return Layout(self.folder)

    @property
    def hosts_toml(self) -> Path:
        return self.layout.hosts_toml

    @property
    def host(self) -> str:
        return "127.0.0.1"

    def connect(self, **options: Any) -> Any:
        """An SSH connection as an async context manager; `options` are asyncssh's."""
        known: dict[str, Any] = {
            "username": self.user,
            "known_hosts": str(self.layout.known_hosts),
            "client_keys": [str(self.layout.identity)],
            "config": None,
            "agent_path": None,
        }
        return asyncssh.connect(self.host, self.ssh_port, **{**known, **options})

    def service(self, name: str = "") -> LabService:
        """A service by name; the first one without."""
        return next(each for each in self.services if not name or each.name == name)

    def ask(self, *words: str) -> Answer:
        """What a command of the host answers, without SSH: `ask("systemctl", "show", …)`."""
        return ask(self.layout.state, words)

    def show(self, unit: str, *names: str) -> dict[str, str]:
        """Properties of a unit."""
        answer = self.ask("systemctl", "show", f"--property={','.join(names)}", "--", unit)
        if answer.status:
            raise LabError(answer.err)
        return dict(line.split("=", 1) for line in answer.out.splitlines())

    def journal(self, unit: str = "") -> list[str]:
        """All lines so far, of one unit or of the host."""
        return self.ask("lab", "journal", *([unit] if unit else [])).out.splitlines()

    def is_ready(self, service: str = "") -> bool:
        return self.ask("lab", "ready", self.service(service).unit).status == 0

    async def wait_ready(self, service: str = "", timeout_s: float = 120.0) -> None:
        """Until the present start of a service has said that it serves. Raises LabError with its last lines."""
        end = time.monotonic() + timeout_s
        while not await asyncio.to_thread(self.is_ready, service):
            if time.monotonic() > end:
                lines = "\n".join(self.journal(self.service(service).unit)[-20:])
                raise LabError(f"{self.service(service).unit} did not get ready in {timeout_s:.0f} s:\n{lines}")
            await asyncio.sleep(0.05)

    async def wait_ready_after(self, invocation: str, service: str = "", timeout_s: float = 120.0) -> None:
        """Until a start other than this one serves."""
        unit = self.service(service).unit
        end = time.monotonic() + timeout_s
        while (await asyncio.to_thread(self.show, unit, "InvocationID"))["InvocationID"] == invocation:
            if time.monotonic() > end:
                raise LabError(f"{unit} is still at the invocation {invocation}")
            await asyncio.sleep(0.02)
        await self.wait_ready(service, end - time.monotonic())

    def known_hosts_line(self) -> str:
        return self.layout.known_hosts.read_text(encoding="utf-8")

    def set_fault(self, name: str | None, above_context: int = 0) -> None:
        """From the next start on; None clears it. With `above_context` only starts with a longer context have it."""
        write_fault(self.layout.fault_file, name, above_context)

    def ssh_fault(self, **values: object) -> None:
        """Fields of `sshd.SshFaults`: `ssh_fault(refuse_forwarding=True)`. Raises LabError for one that is none."""
        answer = self.ask("lab", "ssh", *(f"{name}={value}" for name, value in values.items()))
        if answer.status:
            raise LabError(answer.err)

    def drop_connections(self) -> None:
        """Every SSH connection dies now; new ones are welcome."""
        self.ask("lab", "drop")

    def deaf(self) -> None:
        """New SSH connections are refused until `listen`."""
        self.ask("lab", "deaf")

    def listen(self) -> None:
        self.ask("lab", "listen")

    def freeze(self) -> None:
        """The host hangs: connections stay open and nothing answers, until `thaw`."""
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def kernel_line(self, text: str) -> None:
        """A line of the kernel's log, such as an Xid."""
        with (self.layout.state / "kernel.log").open("a", encoding="utf-8") as file:
            file.write(text + "\n")

    def want_sudo_password(self, wanted: bool) -> None:
        path = self.layout.state / "sudo-password"
        if wanted:
            path.touch()
        else:
            path.unlink(missing_ok=True)

    async def stop(self) -> None:
        """End everything of this lab. Its folder stays."""
        await asyncio.to_thread(self.stop_now)

    def stop_now(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.thaw()
            os.kill(self.pid, signal.SIGTERM)
        if self.process is not None:
            if self.process.stdin is not None:
                self.process.stdin.close()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        elif not gone(self.pid, 10.0):
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
        sweep(self.folder)
        gone(self.guard, 5.0)


def gone(pid: int, patience_s: float) -> bool:
    """Whether a process that is no child of ours has ended within the time."""
    end = time.monotonic() + patience_s
    while alive(pid):
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def alive(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] not in ("Z", "X")


def launch(folder: Path, shape: Shape, *, detached: bool) -> Lab:
    """Build the folder and start the daemon; no service yet."""
    folder = folder.resolve()
    told = Layout(folder).state / "daemon.json"
    if told.exists() and is_daemon(opened(folder).pid, folder):
        raise LabError(f"a lab runs in {folder} already")
    services = build(folder, shape)
    layout = Layout(folder)
    argv = [sys.executable, "-m", DAEMON, str(folder), *([] if detached else ["--watched"])]
    with (layout.state / "daemon.log").open("wb") as output:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL if detached else subprocess.PIPE,
            stdout=output,
            stderr=output,
            env=environment(),
            cwd="/",
            start_new_session=True,
        )
    end = time.monotonic() + START_S
    while not told.exists():
        if process.poll() is not None or time.monotonic() > end:
            process.kill()
            process.wait()
            if process.stdin is not None:
                process.stdin.close()
            raise LabError("the lab did not start: " + (layout.state / "daemon.log").read_text(errors="replace"))
        time.sleep(0.01)
    lab = opened(folder)
    lab.process = process
    write_access(layout, shape, services, lab.ssh_port, lab.user)
    return lab


def opened(folder: Path) -> Lab:
    """The handle of a lab that runs already. Raises LabError when there is none."""
    folder = folder.resolve()
    try:
        told = json.loads((Layout(folder).state / "daemon.json").read_text(encoding="utf-8"))
        services = read_services(folder)
    except FileNotFoundError:
        raise LabError(f"no lab in {folder}") from None
    return Lab(folder, services, told["ssh_port"], told["pid"], told["guard"], getpass.getuser())


def start_detached(folder: Path, shape: Shape | None = None, **changes: Any) -> Lab:
    """A lab that outlives this process; returns when its services serve. End it with `stop_detached`."""
    chosen = replace(shape or Shape(), **changes)
    lab = launch(folder, chosen, detached=True)
    try:
        asyncio.run(lab.start_services(ready=True))
        lab.set_fault(chosen.fault, chosen.above_context)
    except BaseException:
        lab.stop_now()
        raise
    return lab


def is_daemon(pid: int, folder: Path) -> bool:
    """Whether this process is that lab's: ids are used again."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return DAEMON.encode() in words and os.fsencode(folder.resolve()) in words


def stop_detached(folder: Path) -> bool:
    """End a detached lab; False when none ran there."""
    try:
        lab = opened(folder)
    except LabError:
        return False
    was_there = is_daemon(lab.pid, folder)
    if was_there:
        lab.stop_now()
    sweep(lab.folder)
    (lab.layout.state / "daemon.json").unlink(missing_ok=True)
    return was_there
