"""The lab's own process: supervisor, SSH server and their control socket, until told to stop or left alone."""

from __future__ import annotations

import asyncio
import ctypes
import getpass
import json
import os
import signal
import sys
from pathlib import Path

import asyncssh

from .answers import Answer, Answers
from .control import serve
from .sshd import SshServer, read_faults
from .supervisor import Supervisor
from .sweep import bin_folder, stand_guard, sweep

# By the beginning of the unit's name; what one engine says at its end another says half-way.
READY_LINES = {"vllm": b"INFO:     Application startup complete.", "llamacpp": b"listening on http"}
READY_LINE = b"The server is fired up and ready to roll!"
PR_SET_CHILD_SUBREAPER = 36
USAGE = 64


class Daemon:
    """Everything of one lab folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = folder / "state"
        path = f"{bin_folder(folder)}:/usr/local/bin:/usr/bin:/bin"
        self.supervisor = Supervisor(folder / "units", path)
        self.answers = Answers(self.supervisor, self.state)
        home = folder / "home"
        user = getpass.getuser()
        environ = {
            "PATH": path,
            "HOME": str(home),
            "USER": user,
            "LOGNAME": user,
            "SHELL": "/bin/sh",
            "LANG": "C.UTF-8",
            "CONSOLE_LAB_SIMULATED": "yes",
        }
        self.ssh = SshServer(self.state / "host_key", self.state / "client_keys", environ, home)
        self.ended = asyncio.Event()

    async def run(self, guard: int, watched: bool) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.ended.set)
        if watched:
            loop.add_reader(0, self.ended.set)  # only its end is ever read: whoever started this is gone
        await self.ssh.listen()
        server = await serve(self.state, self.answer)
        draft = self.state / "daemon.json.new"
        draft.write_text(json.dumps({"pid": os.getpid(), "guard": guard, "ssh_port": self.ssh.port}), encoding="utf-8")
        draft.replace(self.state / "daemon.json")
        await self.ended.wait()
        server.close()
        await self.ssh.deaf()
        self.ssh.drop()
        await asyncio.to_thread(sweep, self.folder)

    async def answer(self, words: list[str]) -> Answer:
        if words[0] != "lab":
            return self.answers.answer(words)
        try:
            return await self.control(words[1], words[2:])
        except (ValueError, IndexError) as error:
            return Answer(USAGE, err=f"lab: {error}\n")

    async def control(self, verb: str, rest: list[str]) -> Answer:
        """What only the lab's owner asks for."""
        if verb == "ready":
            return Answer(0 if self.ready(rest[0]) else 1)
        if verb == "journal":
            return Answer(out=self.lines(rest[0] if rest else ""))
        if verb == "ssh":
            self.ssh.faults = read_faults(self.ssh.faults, rest)
        elif verb == "drop":
            self.ssh.drop()
        elif verb == "deaf":
            await self.ssh.deaf()
        elif verb == "listen":
            await self.ssh.listen()
        elif verb == "stop":
            self.ended.set()
        else:
            raise ValueError(f"no such request: {verb}")
        return Answer()

    def ready(self, name: str) -> bool:
        """Whether the unit's present start has said that it serves."""
        service = self.supervisor.service(name)
        start = [{"_SYSTEMD_INVOCATION_ID": [service.state.invocation]}]
        said = READY_LINES.get(name.partition("-")[0], READY_LINE)
        return service.state.active == "active" and any(
            said in record.message for record in self.supervisor.journal.select(start)
        )

    def lines(self, name: str) -> str:
        groups = [{"_SYSTEMD_UNIT": [name]}, {"UNIT": [name]}] if name else []
        records = self.supervisor.journal.select(groups)
        return "".join(record.message.decode("utf-8", "replace") + "\n" for record in records)


def adopt_orphans() -> None:
    """Processes whose parent ends become ours, not init's: seen in /proc below this one as on a host of its own."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def main() -> None:
    folder = Path(sys.argv[1]).resolve()
    watched = "--watched" in sys.argv[2:]
    guard = stand_guard(folder)
    adopt_orphans()
    asyncssh.set_log_level("ERROR")
    daemon = Daemon(folder)
    asyncio.run(daemon.run(guard, watched))


if __name__ == "__main__":
    main()
