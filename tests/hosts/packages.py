"""More programs on one host than its tree has: packages of this machine's release, unpacked, not installed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.hosts.commands import run, text
from tests.hosts.host import Host
from tests.hosts.tree import cache_folder, locked


def unpack(host: Host, *names: str) -> None:
    """Downloaded once into the cache, by apt; what they depend on is to be named, too. Raises CommandError."""
    for package in downloaded(names):
        files = run(["dpkg-deb", "--fsys-tarfile", str(package)]).stdout
        host.run("tar", "--extract", "--directory=/", "--keep-directory-symlink", input_bytes=files)


def downloaded(names: Sequence[str]) -> list[Path]:
    folder = cache_folder() / "packages"
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / ".lock"):
        missing = [name for name in names if not list(folder.glob(f"{name}_*.deb"))]
        if missing:
            # Whole or not at all: what was torn would be taken for the package next time.
            draft = Path(text(run(["mktemp", "--directory", str(folder / ".draft.XXXXXX")]).stdout).strip())
            run(["env", f"--chdir={draft}", "apt-get", "download", "-qq", *missing], timeout_s=300)
            for package in draft.iterdir():
                package.rename(folder / package.name)
            draft.rmdir()
    return [next(iter(sorted(folder.glob(f"{name}_*.deb")))) for name in names]
