"""Taking a fleet away, from its folder's name alone: one that closes, and one whose process was killed.

Everything a fleet makes carries its id: a folder under STATE, control groups, network namespaces, links and mounts.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.hosts.commands import run
from tests.hosts.network import ip
from tests.hosts.tree import locked

STATE = Path("/run/console-test")
CGROUPS = Path("/sys/fs/cgroup")
POWER_OFF = signal.SIGRTMIN + 4  # systemd(1): starts poweroff.target


@contextlib.contextmanager
def machine_lock() -> Iterator[None]:
    """Held while a fleet is made or taken away, so that two test processes do not meet."""
    STATE.mkdir(mode=0o700, parents=True, exist_ok=True)
    with locked(STATE / ".lock"):
        yield


def start_time(pid: int) -> int | None:
    """When a process began, in clock ticks since boot; None when there is no such process (or only its zombie)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else int(fields[19])


def write_owner(folder: Path) -> None:
    (folder / "owner.json").write_text(json.dumps({"pid": os.getpid(), "started": start_time(os.getpid())}))


def owner_lives(folder: Path) -> bool:
    """Whether the process that made a fleet is still the one with that pid."""
    try:
        owner = json.loads((folder / "owner.json").read_text())
    except (OSError, ValueError):
        return False  # written right after the folder, under the lock: its process died between the two
    began = start_time(owner["pid"])
    return began is not None and began == owner["started"]


def reap() -> list[str]:
    """Take away every fleet whose process is gone. Returns their ids."""
    reaped = []
    with machine_lock():
        for folder in sorted(STATE.glob("ct*")):
            if not owner_lives(folder):
                remove(folder)
                reaped.append(folder.name)
    return reaped


def remove(folder: Path) -> None:
    """Hosts off, mounts, namespaces, links, control groups and the folder gone. Safe to call twice."""
    fleet = folder.name
    for group in groups(fleet)[:1]:  # the same processes are in each
        power_off(group)
    for group in groups(fleet):
        kill_group(group)
    for mount in mounts_under(folder):
        run(["umount", "--lazy", mount], check=False)
    for namespace in Path("/run/netns").glob(f"{fleet}-*"):
        ip("netns", "delete", namespace.name, check=False)
    for link in Path("/sys/class/net").glob(f"{fleet}*"):
        ip("link", "delete", link.name, check=False)
    for group in groups(fleet):
        remove_group(group)
    # systemd-nspawn cannot tidy these where /run is on a disk.
    for left in Path("/run/systemd/nspawn").glob(f"*/{fleet}-*"):
        shutil.rmtree(left, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)


def hierarchies() -> list[Path]:
    """The control group trees systemd keeps units in: version 2, systemd's own of version 1, or both."""
    candidates = [CGROUPS, CGROUPS / "unified", CGROUPS / "systemd"]
    return [folder for folder in candidates if (folder / "cgroup.procs").exists()]


def groups(fleet: str) -> list[Path]:
    return [folder / fleet for folder in hierarchies() if (folder / fleet).is_dir()]


def members(group: Path) -> list[int]:
    """Every process in a control group and below."""
    found: list[int] = []
    for folder, _, _ in os.walk(group):  # not rglob, which fails when a group vanishes under it
        with contextlib.suppress(OSError):
            found.extend(int(pid) for pid in (Path(folder) / "cgroup.procs").read_text().split())
    return found


def power_off(group: Path, *, patience_s: float = 2.0) -> None:
    """Ask each host's init to end; a unit that will not stop is not waited for."""
    for pid in supervisors(group):
        for init in children(pid):
            send(init, POWER_OFF)
    wait_until(lambda: not members(group), patience_s)


def kill_group(group: Path) -> None:
    """SIGKILL to all of it, again and again until it is empty: a process can fork while we read the list."""
    for _ in range(100):
        if not (pids := members(group)):
            return
        for pid in pids:
            send(pid, signal.SIGKILL)
        wait_until(lambda: not members(group), 0.1)


def supervisors(group: Path) -> list[int]:
    """The systemd-nspawn processes; it moves itself into a group of that name."""
    return [pid for host in group.iterdir() if host.is_dir() for pid in members(host / "supervisor")]


def children(pid: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def send(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def remove_group(group: Path) -> None:
    for folder, _, _ in os.walk(group, topdown=False):
        try:
            Path(folder).rmdir()
        except OSError as error:
            if error.errno != errno.ENOENT:
                # The kernel frees a group a moment after its last process is reaped.
                wait_until(lambda path=folder: removed(Path(path)), 1.0)  # type: ignore[misc]


def removed(folder: Path) -> bool:
    with contextlib.suppress(OSError):
        folder.rmdir()
    return not folder.exists()


def mounts_under(folder: Path) -> list[str]:
    """Mount points below a folder, deepest first."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    points = [line.split()[4] for line in lines]
    return [point for point in reversed(points) if point.startswith(f"{folder}/")]


def wait_until(reached: Callable[[], bool], patience_s: float, *, every_s: float = 0.01) -> bool:
    """Whether it was reached in time."""
    deadline = time.monotonic() + patience_s
    while not reached():
        if time.monotonic() > deadline:
            return False
        time.sleep(every_s)
    return True
