"""Real hosts on this machine, for as long as a `with` block lasts."""

from __future__ import annotations

import os
import random
import secrets
import shutil
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.hosts import remains
from tests.hosts.commands import run
from tests.hosts.host import Host
from tests.hosts.network import Cable, add_bridge, free_subnet
from tests.hosts.tree import SUITE, ready_tree

PROJECT = Path(__file__).resolve().parents[2]
TOOLS = ("mmdebstrap", "systemd-nspawn", "ip", "nsenter", "unshare", "mount", "ssh", "ssh-keygen", "apt-get", "tar")


def why_not() -> str:
    """The reason why real hosts cannot be had here; empty when they can."""
    if os.geteuid() != 0:
        return "real hosts need root"
    if missing := [tool for tool in TOOLS if shutil.which(tool) is None]:
        return f"real hosts need {', '.join(missing)}"
    if not remains.hierarchies():
        return "real hosts need systemd's control groups under /sys/fs/cgroup"
    if run(["unshare", "--net", "--mount", "true"], check=False).returncode != 0:
        return "real hosts need leave to make namespaces"
    return ""


class Fleet:
    """N hosts `gpu1` … `gpuN` on a bridge of their own. Nothing of it outlives the block, nor the process.

    The name is unique to the process and stands in everything that is made. A second process waits for the end of this
    one and then takes away what is left: a process that is killed tidies nothing up itself.
    """

    def __init__(self, size: int = 0, *, suite: str = SUITE) -> None:
        self.size = size
        self.suite = suite
        self.hosts: list[Host] = []

    def __enter__(self) -> Self:
        self.tree = ready_tree(self.suite)
        remains.reap()
        self.folder = remains.STATE / f"ct{secrets.token_hex(3)}"
        with remains.machine_lock():
            self.folder.mkdir(mode=0o700)
            remains.write_owner(self.folder)
            self.watcher = self._watch()
        try:
            self.bridge = f"{self.folder.name}b"
            with remains.machine_lock():
                self.subnet = free_subnet(random.Random())
                add_bridge(self.bridge, self.subnet)
            self.identity = self._new_key("identity")
            self.known_hosts = self.folder / "known_hosts"
            self.known_hosts.touch()
            self.grow(self.size)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        with remains.machine_lock():
            remains.remove(self.folder)
        for host in self.hosts:
            if host.supervisor is not None:
                host.supervisor.wait(timeout=10)
        self.hosts = []
        # Outside the lock, which it takes too before it finds that nothing is left to do.
        self.watcher.communicate(timeout=30)

    def _watch(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "tests.hosts.reap", "--watch", str(self.folder)],
            cwd=PROJECT,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def _new_key(self, name: str) -> Path:
        path = self.folder / name
        run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(path)])
        return path

    def grow(self, size: int) -> None:
        """At least so many hosts, all of them up."""
        new = [self._add(number) for number in range(len(self.hosts) + 1, size + 1)]
        for host in new:
            host.start()
        for host in new:
            host.wait_up()

    def _add(self, number: int) -> Host:
        name = f"gpu{number}"
        cable = Cable(
            namespace=f"{self.folder.name}-{name}",
            outer=f"{self.folder.name}v{number}",
            bridge=self.bridge,
            address=str(self.subnet[10 + number]),
        )
        host = Host(
            name=name,
            fleet=self.folder,
            tree=self.tree,
            cable=cable,
            identity=self.identity,
            host_key=self._new_key(f"{name}-host-key"),
            known_hosts=self.known_hosts,
        )
        public = host.host_key.with_suffix(".pub").read_text().split()
        with self.known_hosts.open("a") as handle:
            handle.write(f"{name},{host.address} {public[0]} {public[1]}\n")
        self.hosts.append(host)
        return host

    def fresh(self, count: int) -> list[Host]:
        """So many hosts that nobody has touched: one that was handed out before begins again on an empty overlay."""
        chosen = self.hosts[:count]
        used = [host for host in chosen if host.used]
        for host in used:
            host.renew()
        self.grow(count)
        for host in used:
            host.wait_up()
        chosen = self.hosts[:count]
        for host in chosen:
            host.used = True
        return chosen
