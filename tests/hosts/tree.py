"""The file tree every host is an overlay of: a minimal Debian, made once by mmdebstrap and kept in a cache.

Three releases have three systemds: bullseye 247, bookworm 252, trixie 257. The mirror is the one apt is set up with on
this machine; it is asked for at run time and stands nowhere else.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.hosts.commands import run, text

SUITE = "bookworm"
PACKAGES = (
    "acl",
    "attr",
    "curl",
    "dbus",
    "iproute2",
    "openssh-server",
    "procps",
    "python3",
    "sudo",
    "systemd",
    "systemd-sysv",
)
# Nothing a test looks at; without them a host is up in half the time and its journal is its own.
MASKED = (
    "apt-daily.timer",
    "apt-daily-upgrade.timer",
    "console-getty.service",
    "dpkg-db-backup.timer",
    "e2scrub_all.timer",
    "e2scrub_reap.service",
    "systemd-tmpfiles-clean.timer",
    "systemd-update-utmp.service",
    "systemd-update-utmp-runlevel.service",
    "dev-hugepages.mount",
    "sys-fs-fuse-connections.mount",
)
RECIPE = 1  # raise when what `finish` does changes


def cache_folder() -> Path:
    return Path(os.environ.get("CONSOLE_TEST_CACHE") or "/var/cache/console-test")


def tree_key(suite: str = SUITE) -> str:
    recipe = "\n".join([str(RECIPE), suite, *PACKAGES, *MASKED])
    return f"{suite}-{hashlib.sha256(recipe.encode()).hexdigest()[:12]}"


def ready_tree(suite: str = SUITE) -> Path:
    """The tree's folder, made first where the cache has none (about 40 s). Raises CommandError."""
    cache = cache_folder()
    tree = cache / tree_key(suite)
    if tree.is_dir():
        return tree
    cache.mkdir(parents=True, exist_ok=True)
    with locked(cache / f".{tree.name}.lock"):
        if tree.is_dir():
            return tree
        draft = cache / f".{tree.name}.draft"
        shutil.rmtree(draft, ignore_errors=True)  # of a build that was killed: we hold the lock, so nobody is at it
        bootstrap(draft, suite)
        finish(draft)
        draft.rename(tree)
    return tree


def bootstrap(folder: Path, suite: str) -> None:
    # A third of debootstrap's time. What it mounts inside the tree dies with a mount namespace of its own.
    mmdebstrap = ["mmdebstrap", "--quiet", "--mode=root", "--variant=minbase", f"--include={','.join(PACKAGES)}"]
    mirror = apt_mirror(suite)
    isolated = ["unshare", "--mount", "--propagation=private"]
    environment = ["env", *(f"{name}={value}" for name, value in apt_proxies())]
    run([*isolated, *environment, *mmdebstrap, suite, str(folder), *([mirror] if mirror else [])], timeout_s=900)


def finish(folder: Path) -> None:
    """What must be each host's own goes, what only costs time is masked."""
    for name in MASKED:
        link = folder / "etc/systemd/system" / name
        link.unlink(missing_ok=True)
        link.symlink_to("/dev/null")
    for key in (folder / "etc/ssh").glob("ssh_host_*"):
        key.unlink()
    for name in ("etc/resolv.conf", "etc/hostname", "etc/machine-id", "var/lib/dbus/machine-id"):
        (folder / name).unlink(missing_ok=True)
    for name in ("var/cache/apt", "var/lib/apt/lists"):
        shutil.rmtree(folder / name)
        (folder / name).mkdir()


def apt_mirror(suite: str) -> str | None:
    """The address apt takes this suite's main packages from; None leaves it to mmdebstrap."""
    wanted = "$(REPO_URI)\t$(RELEASE)\t$(COMPONENT)"
    found = run(["apt-get", "indextargets", "--format", wanted, "Created-By: Packages"], check=False)
    rows = [line.split("\t") for line in text(found.stdout).splitlines()]
    usable = [row for row in rows if len(row) == 3 and row[2] == "main" and row[0].startswith(("http", "file:"))]
    for address, release, _ in usable:
        if release == suite:
            return address
    # The machine has another release: a Debian mirror holds all of them; elsewhere mmdebstrap knows better.
    debian = [address for address, _, _ in usable if address.rstrip("/").endswith("/debian")]
    return debian[0] if debian else None


def apt_proxies() -> Iterator[tuple[str, str]]:
    """The proxies apt is set up with, under the names that debootstrap's download tool reads."""
    for scheme in ("http", "https"):
        asked = run(["apt-config", "dump", "--format", "%v", f"Acquire::{scheme}::Proxy"], check=False)
        if proxy := text(asked.stdout).strip():
            yield f"{scheme}_proxy", proxy


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a file's lock; the kernel gives it back when we die."""
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    for wanted in sys.argv[1:] or [SUITE]:
        sys.stdout.write(f"{ready_tree(wanted)}\n")
