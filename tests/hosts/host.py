"""One real host: systemd as PID 1 and OpenSSH, in namespaces on an overlay of the cached tree."""

from __future__ import annotations

import contextlib
import io
import json
import secrets
import shlex
import socket
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.hosts import remains
from tests.hosts.commands import CommandError, run, text
from tests.hosts.network import Cable

PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# Enter control groups first, then become the program: what it starts is in them from the beginning.
JOIN_GROUPS = 'while [ "$1" != -- ]; do echo $$ >"$1/cgroup.procs" || exit 1; shift; done; shift; exec "$@"'


class Host:
    """`run` and the rest look from inside, without the network; `ssh` goes the way the console goes."""

    def __init__(
        self, *, name: str, fleet: Path, tree: Path, cable: Cable, identity: Path, host_key: Path, known_hosts: Path
    ) -> None:
        self.name = name
        self.fleet = fleet
        self.tree = tree
        self.cable = cable
        self.identity = identity
        self.host_key = host_key
        self.known_hosts = known_hosts
        self.folder = fleet / name
        self.root = self.folder / "root"
        self.used = True  # until it has come up untouched
        self.supervisor: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return self.cable.address

    @property
    def machine(self) -> str:
        return f"{self.fleet.name}-{self.name}"

    # --- power

    def start(self) -> None:
        """Put a fresh overlay on the tree and switch on; `wait_up` tells when it answers."""
        self.cable.lay()
        layers = self.folder / "layers"
        for folder in (self.root, layers):
            folder.mkdir(parents=True, exist_ok=True)
        # A file system of its own, in memory: quick, gone with its mount, and its size is this host's free disk.
        run(["mount", "-t", "tmpfs", "-o", "size=512m,mode=0755", "console-test", str(layers)])
        (layers / "upper").mkdir()
        (layers / "work").mkdir()
        options = f"lowerdir={self.tree},upperdir={layers}/upper,workdir={layers}/work"
        run(["mount", "-t", "overlay", "-o", options, "console-test", str(self.root)])
        self._furnish()
        self._switch_on()
        self.used = False

    def _furnish(self) -> None:
        """What makes it this host and no other, before systemd looks."""
        etc = self.root / "etc"
        (etc / "hostname").write_text(f"{self.name}\n")
        (etc / "hosts").write_text(f"127.0.0.1 localhost\n127.0.1.1 {self.name}\n")
        (etc / "machine-id").write_text(f"{secrets.token_hex(16)}\n")
        key = etc / "ssh" / "ssh_host_ed25519_key"
        key.write_bytes(self.host_key.read_bytes())
        key.chmod(0o600)
        key.with_suffix(".pub").write_bytes(self.host_key.with_suffix(".pub").read_bytes())
        login = self.root / "root" / ".ssh"
        login.mkdir(exist_ok=True)
        login.chmod(0o700)
        (login / "authorized_keys").write_bytes(self.identity.with_suffix(".pub").read_bytes())

    def _switch_on(self) -> None:
        nspawn = [
            "systemd-nspawn", "--quiet", "--boot", "--register=no", "--keep-unit", f"--machine={self.machine}",
            f"--hostname={self.name}", f"--directory={self.root}",
            f"--network-namespace-path=/run/netns/{self.cable.namespace}",
            "--resolv-conf=off", "--timezone=off", "--link-journal=no",
            "--rlimit=RLIMIT_NOFILE=1024:524288", "--rlimit=RLIMIT_CORE=0",
        ]  # fmt: skip
        # Without a control group of its own each host would manage the same one as its neighbours, and their units'.
        own = [folder / self.fleet.name / self.name for folder in remains.hierarchies()]
        for group in own:
            group.mkdir(parents=True, exist_ok=True)
        with (self.folder / "console.log").open("ab") as log:
            self.supervisor = subprocess.Popen(
                ["sh", "-c", JOIN_GROUPS, "sh", *map(str, own), "--", *nspawn],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def wait_up(self, patience_s: float = 30.0) -> None:
        """Until sshd answers and systemd has started everything. Raises RuntimeError with the console's last lines."""
        up = remains.wait_until(lambda: self.answers() or self._died(), patience_s, every_s=0.02)
        if not up or self._died():
            log = (self.folder / "console.log").read_text(errors="replace")
            raise RuntimeError(f"{self.name} did not come up in {patience_s} s:\n{log[-2000:]}")
        self.run("systemctl", "is-system-running", "--wait", check=False)

    def _died(self) -> bool:
        return self.supervisor is None or self.supervisor.poll() is not None

    def answers(self) -> bool:
        """Whether an SSH server greets on port 22."""
        with contextlib.suppress(OSError), socket.create_connection((self.address, 22), timeout=1.0) as connection:
            return connection.recv(4) == b"SSH-"
        return False

    def stop(self) -> None:
        """Switch off at once, without asking, and take overlay, cable and control groups away."""
        mine = [group / self.name for group in remains.groups(self.fleet.name)]
        for group in mine:
            remains.kill_group(group)
        if self.supervisor is not None:
            self.supervisor.wait(timeout=10)
            self.supervisor = None
        for mount in remains.mounts_under(self.folder):
            run(["umount", "--lazy", mount], check=False)
        self.cable.remove()
        for group in mine:
            remains.remove_group(group)

    def renew(self) -> None:
        """The same name, address and keys on an untouched file tree; follow with `wait_up`."""
        self.stop()
        self.start()

    def reboot(self) -> None:
        """A real reboot: another boot id, the same disk."""
        self.run("systemctl", "reboot", check=False)
        if self.supervisor is not None:
            # With --keep-unit a reboot ends systemd-nspawn, whose caller is to start it again.
            self.supervisor.wait(timeout=30)
        self._switch_on()
        self.wait_up()

    def boot_id(self) -> str:
        return text(self.run("cat", "/proc/sys/kernel/random/boot_id", check=False).stdout).strip()

    def init(self) -> int | None:
        """The pid of its systemd as this machine sees it; it changes at a reboot."""
        found = remains.children(self.supervisor.pid) if self.supervisor else []
        return found[0] if found else None

    # --- looking and touching from inside

    def run(
        self, *argv: str, input_bytes: bytes | None = None, check: bool = True, timeout_s: float = 60.0
    ) -> subprocess.CompletedProcess[bytes]:
        """A program run as root in the host, not through its sshd: works while the network is cut."""
        init = self.init()
        if init is None:
            raise RuntimeError(f"{self.name} is switched off")
        enter = [
            "nsenter",
            f"--target={init}",
            "--all",
            "--root",
            "--wd",
            "env",
            "-i",
            PATH,
            "HOME=/root",
            "LC_ALL=C.UTF-8",
        ]
        return run([*enter, *argv], input_bytes=input_bytes, check=check, timeout_s=timeout_s)

    def out(self, *argv: str) -> str:
        """What a program printed, without the last newline."""
        return text(self.run(*argv).stdout).rstrip("\n")

    def read_bytes(self, path: str) -> bytes:
        return self.run("cat", "--", path).stdout

    def read(self, path: str) -> str:
        return text(self.read_bytes(path))

    def exists(self, path: str) -> bool:
        return self.run("test", "-e", path, check=False).returncode == 0

    def seen(self, path: str) -> Path:
        """The same file as this machine sees it: to look at it takes no process. Not through links of the host."""
        return Path(f"/proc/{self.init() or 0}/root{path}")

    def write(self, path: str, content: str | bytes, *, mode: int = 0o644) -> None:
        """A file with its folders; it keeps its inode when it is there already, as `cat >` does."""
        data = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content
        script = 'mkdir -p -- "$(dirname -- "$1")" && cat >"$1" && chmod "$2" "$1"'
        self.run("sh", "-c", script, "sh", path, f"{mode:o}", input_bytes=data)

    def copy(self, folder: Path, path: str, files: str = "*.py") -> None:
        """The files of a local folder, those of Python unless said otherwise, as a folder of the host."""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            for file in sorted(folder.rglob(files)):
                archive.add(file, str(file.relative_to(folder)), recursive=False, filter=owned_by_root)
        self.run("mkdir", "-p", path)
        self.run("tar", "--extract", "--directory", path, input_bytes=packed.getvalue())

    # --- systemd

    def show(self, unit: str, name: str) -> str:
        """One property of a unit."""
        return self.out("systemctl", "show", "--value", f"--property={name}", unit)

    def main_argv(self, unit: str) -> list[str]:
        """The running main process' own words; empty when it does not run."""
        found = self.run("cat", f"/proc/{self.show(unit, 'MainPID')}/cmdline", check=False).stdout
        return [text(word) for word in found.split(b"\0")[:-1]]

    def write_unit(self, name: str, content: str, *, enable: bool = True) -> None:
        """A unit file under /etc/systemd/system, loaded and, unless said otherwise, enabled."""
        self.write(f"/etc/systemd/system/{name}", content)
        self.run("systemctl", "daemon-reload")
        if enable:
            self.run("systemctl", "enable", "--quiet", name)

    def journal(self, unit: str) -> list[str]:
        return self.out("journalctl", "--quiet", "--all", "--output=cat", f"--unit={unit}").splitlines()

    def get_json(self, url: str, *, api_key: str = "") -> Any:
        """A GET from inside the host. Raises CommandError when nothing answers with a success."""
        bearer = ["--header", f"Authorization: Bearer {api_key}"] if api_key else []
        return json.loads(self.run("curl", "-sS", "--fail", "--max-time", "20", *bearer, url).stdout)

    # --- the way the console comes in

    def ssh_words(self, user: str = "root") -> list[str]:
        """The SSH client's command line up to the host, with strict host keys and no configuration of this machine."""
        options = {
            "UserKnownHostsFile": self.known_hosts,
            "GlobalKnownHostsFile": "/dev/null",
            "StrictHostKeyChecking": "yes",
            "IdentitiesOnly": "yes",
            "BatchMode": "yes",
            "ConnectTimeout": 5,
            "LogLevel": "ERROR",
        }
        words = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
        return ["ssh", "-F", "/dev/null", "-i", str(self.identity), *words, f"{user}@{self.address}"]

    def ssh(
        self, *argv: str, user: str = "root", check: bool = True, timeout_s: float = 30.0
    ) -> subprocess.CompletedProcess[bytes]:
        return run([*self.ssh_words(user), shlex.join(argv)], check=check, timeout_s=timeout_s)

    def add_user(self, name: str, *, sudo: bool = False, password: str | None = None) -> None:
        """Someone who may log in with the fleet's key. With `sudo` and a password, sudo asks for that password."""
        self.run("useradd", "--create-home", "--shell=/bin/bash", name)
        self.write(f"/home/{name}/.ssh/authorized_keys", self.identity.with_suffix(".pub").read_text(), mode=0o600)
        self.run("chown", "-R", f"{name}:{name}", f"/home/{name}/.ssh")
        # useradd leaves the account locked, and sshd refuses a locked account even with a key when PAM says so.
        # A quick hash: the usual one takes longer for each sudo by password than all else of it.
        quick = ("--crypt-method=SHA256", "--sha-rounds=1000")
        self.run("chpasswd", *quick, input_bytes=f"{name}:{password or secrets.token_hex(16)}\n".encode())
        if sudo:
            free = "" if password else "NOPASSWD:"
            self.write(f"/etc/sudoers.d/{name}", f"{name} ALL=(ALL) {free}ALL\n", mode=0o440)

    # --- trouble

    def cut(self) -> None:
        """Off the network until `heal`; connections hang, as when a switch dies."""
        self.cable.unplug()

    def heal(self) -> None:
        self.cable.plug()

    @contextlib.contextmanager
    def cut_off(self) -> Iterator[None]:
        self.cut()
        try:
            yield
        finally:
            self.heal()

    def kill_sessions(self) -> int:
        """SIGKILL to every process of sshd that serves a connection. Returns how many; the listener stays."""
        # The listener's title goes on with its path: `sshd: /usr/sbin/sshd -D [listener]`.
        ended = self.run("pkill", "-KILL", "--echo", "--full", r"^sshd(-session|-auth)?: [^/]", check=False)
        return len(ended.stdout.splitlines())

    @contextlib.contextmanager
    def disk_left(self, mebibytes: int) -> Iterator[None]:
        """Only so much free space, for a while."""
        layers = str(self.folder / "layers")
        usage = run(["df", "--block-size=1M", "--output=used", layers])
        used = int(text(usage.stdout).split()[-1])
        run(["mount", "-o", f"remount,size={used + mebibytes}m", layers])
        try:
            yield
        finally:
            run(["mount", "-o", "remount,size=512m", layers])


def owned_by_root(item: tarfile.TarInfo) -> tarfile.TarInfo:
    item.uid = item.gid = 0
    item.uname = item.gname = "root"
    return item


__all__ = ["CommandError", "Host"]
