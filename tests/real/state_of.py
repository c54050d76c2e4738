"""What stands on a host, to be compared: files, starts, what is served."""

from __future__ import annotations

import json
from dataclasses import dataclass

from tests.hosts import remains
from tests.hosts.engine_unit import UNIT, serving
from tests.hosts.host import Host

UNIT_FILE = f"/etc/systemd/system/{UNIT}"
LEDGER = "/var/lib/console"
LOCK = f"/run/console/{UNIT}.lock"


@dataclass(frozen=True)
class Snapshot:
    """All that a run could change. Two of them are equal when nothing did."""

    files: str  # every file, with what it is and its digest
    invocation: str
    restarts: str
    starts: int


def snapshot(host: Host) -> Snapshot:
    return Snapshot(
        files=tree(host, "/etc", LEDGER, "/run/console"),
        invocation=host.show(UNIT, "InvocationID"),
        restarts=host.show(UNIT, "NRestarts"),
        starts=starts(host),
    )


def tree(host: Host, *folders: str) -> str:
    """Every path below, with type, mode, owner, change time and digest."""
    script = (
        'for folder; do [ -e "$folder" ] || continue; find "$folder" -printf "%p %y %m %u:%g %C@\\n"; '
        'find "$folder" -type f -exec sha256sum {} +; done | LC_ALL=C sort'
    )
    return host.out("sh", "-c", script, "sh", *folders)


def starts(host: Host) -> int:
    """How often the unit was started in this boot."""
    lines = host.out(
        "journalctl", "--quiet", "--boot", "--all", "--output=json", "--output-fields=INVOCATION_ID", f"UNIT={UNIT}"
    )
    return len({found for line in lines.splitlines() if (found := json.loads(line).get("INVOCATION_ID"))})


def engine_lines(host: Host, invocation: str = "") -> list[str]:
    """What the unit's own process wrote."""
    chosen = f"_SYSTEMD_INVOCATION_ID={invocation or host.show(UNIT, 'InvocationID')}"
    return host.out("journalctl", "--quiet", "--all", "--output=cat", chosen).splitlines()


def digest(host: Host, path: str = UNIT_FILE) -> str:
    return host.out("sha256sum", path).split()[0]


def flag(argv: list[str], name: str = "--context-length") -> str:
    """The value of a flag in a command line."""
    return argv[argv.index(name) + 1]


def everywhere(host: Host, *, api_key: str = "") -> tuple[str, str, str, str]:
    """The context length on disk, as systemd loaded it, in the running process, and as served."""
    disk = next(
        line.split()[1].rstrip("\\") for line in host.read(UNIT_FILE).splitlines() if "--context-length" in line
    )
    loaded = flag(host.show(UNIT, "ExecStart").split())
    return disk, loaded, flag(host.main_argv(UNIT)), str(serving(host, api_key=api_key))


def comes_to_serve(host: Host, context: int, patience_s: float = 20.0) -> bool:
    return remains.wait_until(lambda: serving(host) == context, patience_s, every_s=0.1)


def lock_is_free(host: Host) -> bool:
    """Whether nobody holds the unit's lock; true as well when there is none.

    Whoever looks, or asks in vain for it again, has it for a moment: the console itself waits two seconds for those.
    """
    if not host.exists(LOCK):
        return True
    return host.run("flock", "--wait", "2", LOCK, "true", check=False).returncode == 0
