"""One unit at work: its process, states, restarts and what of it is shown."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import time
import uuid
from collections.abc import Mapping
from pathlib import Path

from .journal import Journal, Stream
from .unit_files import Unit, UnitError, expand, read_environment_file
from .unit_state import Main, State, moment, seconds

CLEAN_SIGNALS = {signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGPIPE}
EXEC_FAILED = 203
EXIT_NAMES = {
    0: "SUCCESS",
    1: "FAILURE",
    2: "INVALIDARGUMENT",
    3: "NOTIMPLEMENTED",
    4: "NOPERMISSION",
    5: "NOTINSTALLED",
    6: "NOTCONFIGURED",
    7: "NOTRUNNING",
}


class Service:
    """Starts and stops the process of a unit. Jobs run one after the other; a new one replaces the waiting one."""

    def __init__(self, unit: Unit, journal: Journal, path: str) -> None:
        self.unit = unit
        self.journal = journal
        self.path = path  # PATH of the processes
        self.state = State()
        self.process: subprocess.Popen[bytes] | None = None
        self.gone = asyncio.Event()
        self.gone.set()
        self.stopping = False
        self.forgotten = False  # by a reload: how the command of ExecStart went
        self.starts: list[float] = []
        self.work: asyncio.Task[None] | None = None
        self.again: asyncio.TimerHandle | None = None
        self.jobs = 0

    def request(self, kind: str) -> asyncio.Task[None]:
        """Queue `start`, `stop` or `restart`; returns at once."""
        before = self.work
        self.jobs += 1
        self.state.job = self.jobs
        self.work = asyncio.get_running_loop().create_task(self.run_job(kind, before, self.jobs))
        return self.work

    async def run_job(self, kind: str, before: asyncio.Task[None] | None, number: int) -> None:
        if before is not None and not before.done():
            if kind != "start":
                before.cancel()
            await asyncio.gather(before, return_exceptions=True)
        self.cancel_again()
        try:
            if kind != "start":
                await self.stop()
            if kind != "stop" and self.state.active != "active":
                self.state.restarts = 0
                self.start()
        finally:
            if self.state.job == number:
                self.state.job = 0

    def cancel_again(self) -> None:
        if self.again is not None:
            self.again.cancel()
            self.again = None
            self.enter("inactive", "dead")

    def enter(self, active: str, sub: str) -> None:
        now = moment()
        if active != self.state.active:
            if active == "active":
                self.state.active_since = now
            elif active in ("inactive", "failed"):
                self.state.inactive_since = now
        self.state.active, self.state.sub, self.state.changed = active, sub, now

    def say(self, text: str, priority: int = 6) -> None:
        """A line of the manager itself: found by UNIT and INVOCATION_ID, not by the fields of the unit's process."""
        fields = {
            "UNIT": self.unit.name,
            "INVOCATION_ID": self.state.invocation,
            "PRIORITY": str(priority),
            "SYSLOG_IDENTIFIER": "systemd",
            "_PID": "1",
            "_TRANSPORT": "journal",
            "_SYSTEMD_UNIT": "init.scope",
        }
        self.journal.add(text.encode(), fields)

    @property
    def title(self) -> str:
        about = self.unit.get("Description")
        return f"{self.unit.name} - {about}" if about else self.unit.name

    def start(self) -> None:
        if self.unit.load_state != "loaded" or not self.may_start():
            return
        state = self.state
        state.invocation = uuid.uuid4().hex
        state.result = "success"
        state.main = Main(started=moment())
        self.forgotten = False
        command = self.unit.commands[0]
        try:
            environ = self.environment()
            argv = expand(command.argv, environ) if command.expand else list(command.argv)
            process, stream_fd = self.spawn(command.path, argv, environ)
        except (OSError, UnitError) as error:
            self.say(f"{self.unit.name}: Failed at step EXEC spawning {command.path}: {error}", 3)
            state.main.code, state.main.status, state.main.ended = 1, EXEC_FAILED, moment()
            self.say(f"{self.unit.name}: Main process exited, code=exited, status=203/EXEC", 5)
            self.after_end(clean=False, result="exit-code")
            return
        self.process = process
        self.gone.clear()
        state.main_pid = state.main.pid = process.pid
        self.watch(process, stream_fd)
        self.enter("active", "running")
        self.say(f"Started {self.title}.")

    def may_start(self) -> bool:
        """StartLimitBurst starts within StartLimitIntervalSec, not more."""
        interval = seconds(self.unit.get("StartLimitIntervalSec"), 10.0)
        burst = int(self.unit.get("StartLimitBurst", "5"))
        now = time.monotonic()
        self.starts = [start for start in self.starts if now - start < interval]
        if interval > 0 and len(self.starts) >= burst:
            self.say(f"{self.unit.name}: Start request repeated too quickly.", 4)
            self.state.result = "start-limit-hit"
            self.say(f"{self.unit.name}: Failed with result 'start-limit-hit'.", 4)
            self.enter("failed", "failed")
            return False
        self.starts.append(now)
        return True

    def environment(self) -> dict[str, str]:
        environ = {
            "LANG": "C.UTF-8",
            "PATH": self.path,
            "INVOCATION_ID": self.state.invocation,
            "JOURNAL_STREAM": "8:24601",
        }
        for variable in self.unit.environment:
            name, _, value = variable.partition("=")
            environ[name] = value
        for path, optional in self.unit.environment_files:
            try:
                environ.update(read_environment_file(Path(path).read_text(encoding="utf-8")))
            except FileNotFoundError:
                if not optional:
                    raise
        return environ

    def spawn(self, path: str, argv: list[str], environ: Mapping[str, str]) -> tuple[subprocess.Popen[bytes], int]:
        reading, writing = os.pipe()
        try:
            process = subprocess.Popen(
                argv,
                executable=path,
                stdin=subprocess.DEVNULL,
                stdout=writing,
                stderr=writing,
                env=dict(environ),
                cwd=self.unit.get("WorkingDirectory") or "/",
                start_new_session=True,
            )
        except OSError:
            os.close(reading)
            raise
        finally:
            os.close(writing)
        return process, reading

    def watch(self, process: subprocess.Popen[bytes], stream_fd: int) -> None:
        """Follow output and end apart: a child that outlives the main process may keep the pipe open."""
        loop = asyncio.get_running_loop()
        fields = {
            "_SYSTEMD_UNIT": self.unit.name,
            "_SYSTEMD_INVOCATION_ID": self.state.invocation,
            "_PID": str(process.pid),
            "_TRANSPORT": "stdout",
            "SYSLOG_IDENTIFIER": self.unit.get("SyslogIdentifier") or Path(self.unit.commands[0].path).name,
        }
        stream = Stream(self.journal, fields)
        os.set_blocking(stream_fd, False)
        open_fds = {stream_fd}

        def readable() -> None:
            try:
                data = os.read(stream_fd, 65536)
            except BlockingIOError:
                return
            if data:
                stream.feed(data)
                return
            stream.close()
            loop.remove_reader(stream_fd)
            os.close(stream_fd)
            open_fds.clear()

        pid_fd = os.pidfd_open(process.pid)

        def ended() -> None:
            loop.remove_reader(pid_fd)
            os.close(pid_fd)
            with contextlib.suppress(BlockingIOError):
                # Its last words come before the news of its end. A closed pipe's number may be another's.
                while open_fds and (data := os.read(stream_fd, 65536)):
                    stream.feed(data)
            self.main_ended(process)

        loop.add_reader(stream_fd, readable)
        loop.add_reader(pid_fd, ended)

    def main_ended(self, process: subprocess.Popen[bytes]) -> None:
        status = process.wait()
        state = self.state
        state.main.ended = moment()
        state.main_pid = 0
        self.process = None
        with contextlib.suppress(ProcessLookupError):
            if self.unit.get("KillMode", "control-group") != "process":
                os.killpg(process.pid, signal.SIGKILL)
        if status < 0:
            state.main.code, state.main.status = 2, -status
            name = signal.Signals(-status).name.removeprefix("SIG")
            clean = -status in CLEAN_SIGNALS
            told = f"code=killed, status={-status}/{name}"
        else:
            state.main.code, state.main.status = 1, status
            clean = status == 0 or str(status) in self.unit.get("SuccessExitStatus").split()
            told = f"code=exited, status={status}/{EXIT_NAMES.get(status, 'n/a')}"
        if not clean:
            self.say(f"{self.unit.name}: Main process exited, {told}", 5)
        self.after_end(clean, "success" if clean else "exit-code" if status >= 0 else "signal")
        self.gone.set()

    def after_end(self, clean: bool, result: str) -> None:
        if self.state.result == "success":
            self.state.result = result
        if self.state.result != "success":
            self.say(f"{self.unit.name}: Failed with result '{self.state.result}'.", 4)
        policy = self.unit.get("Restart", "no")
        wanted = policy == "always" or policy == ("on-success" if clean else "on-failure")
        if policy in ("on-abnormal", "on-abort"):
            wanted = self.state.main.code == 2 and not clean
        if wanted and not self.stopping:
            self.enter("activating", "auto-restart")
            delay = seconds(self.unit.get("RestartSec"), 0.1)
            self.again = asyncio.get_running_loop().call_later(delay, self.restart_by_itself)
        elif self.state.result != "success":
            self.enter("failed", "failed")
        else:
            self.enter("inactive", "dead")

    def restart_by_itself(self) -> None:
        self.again = None
        self.state.restarts += 1
        self.say(f"{self.unit.name}: Scheduled restart job, restart counter is at {self.state.restarts}.")
        self.start()

    async def stop(self) -> None:
        process = self.process
        if process is None:
            return
        self.stopping = True
        try:
            self.enter("deactivating", "stop-sigterm")
            self.say(f"Stopping {self.title}...")
            number = signal.Signals[self.unit.get("KillSignal", "SIGTERM")]
            if self.unit.get("KillMode", "control-group") == "control-group":
                os.killpg(process.pid, number)
            else:
                process.send_signal(number)
            try:
                await asyncio.wait_for(self.gone.wait(), seconds(self.unit.get("TimeoutStopSec"), 90.0))
            except TimeoutError:
                self.state.result = "timeout"
                self.enter("deactivating", "stop-sigkill")
                self.say(f"{self.unit.name}: State 'stop-sigterm' timed out. Killing.", 4)
                os.killpg(process.pid, signal.SIGKILL)
                await self.gone.wait()
            self.say(f"Stopped {self.title}.")
        finally:
            self.stopping = False

    def reset_failed(self) -> None:
        self.starts.clear()
        self.state.restarts = 0
        self.state.result = "success"
        if self.state.active == "failed":
            self.enter("inactive", "dead")
