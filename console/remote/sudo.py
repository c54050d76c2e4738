"""sudo on hosts: the password a person gave once for all of them, and which commands a limited one must allow."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from console.schema.hosts import Target

RUN = "*"  # stands for a run's id in a sudoers line
PROBED = "01JZ0000000000000000000000"
# How sudo complains.
SUDO_WANTS = re.compile(
    r"^sudo: (?!unable to resolve host).*|^.*: (?:a password is required|a terminal is required)"
    r"|^Sorry, user \S+ (?:is not allowed|may not)|^\S+ is not in the sudoers file",
    re.MULTILINE,
)


@dataclass
class SudoWord:
    """The password, and the hosts whose sudo asked for it: no other one is ever sent it."""

    password: str = field(default="", repr=False)
    hosts: set[str] = field(default_factory=set)

    def of(self, host_name: str) -> str:
        return self.password if host_name in self.hosts else ""


def commands(
    target: Target, files: Sequence[str], run: str = RUN, *, new: Sequence[str] = ()
) -> Iterator[tuple[str, ...]]:
    """Every command that a run on this target sends through sudo, as words; `files` are those it may edit.

    `new`: files that it may make. With `run` a wildcard these are the patterns of sudoers(5), else commands to ask for
    with `sudo -l`.
    """
    host, unit = target.host, target.service.unit
    pattern = run == RUN
    ledger, entry = f"{host.state_folder}/{unit}", f"{host.state_folder}/{unit}/{run}"
    yield ("true",)
    yield from _looks(target, [*files, *new], pattern=pattern)
    yield ("mkdir", "-p", "-m", "0755", "--", host.runtime_folder)
    for lock in (f"{host.runtime_folder}/{unit}.lock", f"{host.runtime_folder}/host.lock"):
        yield ("touch", "--", lock)
        yield ("chmod", "0644", "--", lock)
        yield ("tee", "--", lock)
    yield ("mkdir", "-p", "-m", "0700", "--", host.state_folder, ledger, entry)
    yield ("mkdir", "-p", "--", f"{entry}/{'*' if pattern else 'candidate'}")
    yield ("tee", "--", f"{entry}/{'*' if pattern else 'change.json'}")
    yield ("test", "-f", f"{entry}/{'*' if pattern else 'undo.sh'}")
    for mode in ("0600", "0700"):
        yield ("chmod", mode, "--", f"{entry}/{'*' if pattern else 'undo.sh'}")
    yield ("find", entry, "-type", "f", "-exec", "sync", "--", "{}", "+")
    yield ("mv", "-f", "-T", "--", f"{entry}/.change.json.new", f"{entry}/change.json")
    yield ("sed", "*" if pattern else "s/a/b/", f"{entry}/change.json")
    yield ("sync", "--", f"{entry}{'*' if pattern else ''}")
    yield ("rm", "-rf", "--", f"{entry}{'*' if pattern else '/candidate'}")
    yield ("systemd-analyze", "verify", "--man=no", *(("*",) if pattern else (f"{entry}/candidate/{unit}",)))
    for path in dict.fromkeys((*files, *new)):
        yield from _edit(path, entry, run)
    for path in new:
        yield from _made(path, run)
    yield from _guard(target, entry, run)
    yield ("systemctl", "daemon-reload")
    yield ("systemctl", "reset-failed", "--", unit)
    yield ("systemctl", "restart", "--no-block", "--", unit)
    if target.rank or target.nodes:
        yield ("systemctl", "stop", "--no-block", "--", unit)


def _looks(target: Target, files: Sequence[str], *, pattern: bool) -> Iterator[tuple[str, ...]]:
    """What only reads: the engine's sockets and environment, the ledger, the journal, files not for everybody."""
    ledger = f"{target.host.state_folder}/{target.service.unit}"
    yield ("ls", "-l", "/dev/null", "/proc/*" if pattern else "/proc/1/fd")
    yield ("cat", "--", "/proc/*" if pattern else "/proc/1/environ")
    yield ("find", "/proc/*" if pattern else "/proc/1/fd", *(() if pattern else ("-maxdepth", "1")))
    yield ("find", ledger, "*" if pattern else "-mindepth")
    yield ("journalctl", "*" if pattern else "--sync")
    for path in files:
        for tool in ("cat", "sha256sum"):
            yield (tool, "--", path)


def _edit(path: str, entry: str, run: str) -> Iterator[tuple[str, ...]]:
    folder, name = str(PurePosixPath(path).parent), PurePosixPath(path).name
    temporary = f"{folder}/.{name}.console-{run}"
    backup = f"{entry}/backup-{'*' if run == RUN else '1'}"
    yield ("cp", "--preserve=all", "-T", "--", path, backup)
    yield ("cp", "--preserve=all", "-T", "--", path, temporary)
    yield ("dd", f"of={temporary}", "conv=fsync", "status=none")
    yield ("sha256sum", "--", temporary)
    if run == RUN:  # of few files, and known only when they are replaced
        for name in ("files.tsv", "change.json"):
            yield ("cat", "--", f"{entry}/{name}")
        yield ("lsattr", "-d", "--", path)
        yield ("chattr", "*", "--", temporary)
    yield ("mv", "-f", "-T", "--", temporary, path)
    yield ("rm", "-f", "--", temporary)
    yield ("sync", "--", folder)


def _made(path: str, run: str) -> Iterator[tuple[str, ...]]:
    """A drop-in that is made, and taken away with its folder."""
    folder, name = PurePosixPath(path).parent, PurePosixPath(path).name
    temporary = f"{folder}/.{name}.console-{run}"
    yield ("mkdir", "-m", "0755", "--", str(folder))
    yield ("sync", "--", str(folder.parent))
    for mode in ("0644", "0600"):
        yield ("chmod", mode, "--", temporary)
    yield ("ln", "-T", "--", temporary, path)
    yield ("sync", "--", path, str(folder))
    yield ("rm", "-f", "--", path)
    yield ("rmdir", "--", str(folder))


def _guard(target: Target, entry: str, run: str) -> Iterator[tuple[str, ...]]:
    """The timer that puts a change back by itself, armed and called off."""
    units = "/etc/systemd/system"
    wants = f"{units}/timers.target.wants"
    name = f"console-guard-{target.service.unit.removesuffix('.service')}-{run}"
    timer, service = f"{units}/{name}.timer", f"{units}/{name}.service"
    yield ("tee", "--", timer)
    yield ("tee", "--", service)
    yield ("chmod", "0644", "--", service, timer)
    yield ("mkdir", "-m", "0755", "--", wants)
    yield ("ln", "-s", "-f", "--", f"../{name}.timer", f"{wants}/{name}.timer")
    yield ("sync", "--", service, timer, wants, units, f"{entry}/guard.sh", f"{entry}/guard.args")
    yield ("systemctl", "restart", "--", f"{name}.timer")
    yield ("systemctl", "stop", "--", f"{name}.timer")
    yield ("rm", "-f", "--", f"{wants}/{name}.timer")
    yield ("rm", "-f", "--", timer, service)


def sudoers(target: Target, files: Sequence[str], user: str, *, new: Sequence[str] = ()) -> str:
    """The lines for sudoers(5) that let `user` carry out runs on this target, without a password."""
    allowed = commands(target, files, new=new)
    found = [" ".join([f"/usr/bin/{words[0]}", *map(_escaped, words[1:])]) for words in allowed]
    alias = f"CONSOLE_{''.join(c if c.isalnum() else '_' for c in target.service.unit.upper())}"
    listed = ", \\\n    ".join(dict.fromkeys(found))
    # A wildcard of sudoers spans words: this keeps a console to what it needs, and is no wall against a person.
    return f"Cmnd_Alias {alias} = {listed}\n{user} ALL=(root) NOPASSWD: {alias}"


def _escaped(word: str) -> str:
    """Of sudoers, where these characters end a command; the wildcard stays one."""
    return "".join(f"\\{char}" if char in ",:=\\" else char for char in word)


def encoded(words: Sequence[str]) -> str:
    return base64.b64encode("\n".join(words).encode()).decode()


def decoded(text: str) -> str:
    """A command of look_sudo.sh's answer, as one line."""
    return " ".join(base64.b64decode(text).decode("utf-8", "replace").split("\n"))
