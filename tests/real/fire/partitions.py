"""A holder of the lock who is cut off, whose lock another one takes, and who then comes back: it writes nothing.

Cut off in two ways: its process stands still; or the link does, with what it has sent still on the way.
"""

from __future__ import annotations

import signal
import time
from pathlib import Path

from tests.hosts import remains
from tests.hosts.engine_unit import install_engine, set_simulator
from tests.hosts.fleet import Fleet
from tests.hosts.host import Host
from tests.real.desk import EXTEND_CONTEXT, Desk, Event
from tests.real.fire.said import Said
from tests.real.state_of import everywhere, lock_is_free, snapshot, tree

# When it is cut off: the first event that fits; what the other one does then.
MOMENTS = {
    "with the lock, before the ledger": (("lock.changed", ""), "run"),
    "before the file is written": (("change.intended", "file"), "takeover"),
    "after the file": (("change.made", "file"), "takeover"),
    "after the reload": (("change.made", "reload"), "takeover"),
    "after the restart": (("change.made", "restart"), "takeover"),
}
SSHD = r"^sshd(-session|-auth)?: [^/]"


def prove(said: Said, folder: Path) -> None:
    with Fleet(1) as fleet:
        host = fleet.hosts[0]
        for link in (False, True):
            for number, (name, (moment, verb)) in enumerate(MOMENTS.items()):
                what = f"{'the link' if link else 'the process'} stands still {name}"
                try:
                    met, text = one(host, folder / f"{number}-{link}", moment, verb, link=link)
                except AssertionError as error:
                    met, text = False, str(error).strip().splitlines()[0]
                said.line(met, f"{what}: {text}")


def one(host: Host, folder: Path, moment: tuple[str, str], verb: str, *, link: bool) -> tuple[bool, str]:
    host.run("sh", "-c", "systemctl stop 'console-guard-*'; rm -f /etc/systemd/system/console-guard-*", check=False)
    install_engine(host, load_s=2.0)
    set_simulator(host, load_s=60.0)
    first, second = Desk(folder / "first", [host]), Desk(folder / "second", [host])
    going = first.start("run", EXTEND_CONTEXT)

    def now(event: Event) -> bool:
        return (event["type"], event.get("kind", "")) == moment

    try:
        going.wait_for(now)
        if link:
            # What it sends from now on is on the way until the link is back.
            host.run("pkill", "-STOP", "--full", SSHD)
            time.sleep(0.5)
        going.stop(signal.SIGSTOP)
        folder_of_run = going.folder
        assert folder_of_run is not None
        assert remains.wait_until(lambda: lock_is_free(host), 30.0, every_s=0.2), "the host did not let the lock go"
        words = ["run", EXTEND_CONTEXT] if verb == "run" else ["takeover", folder_of_run.name, "--yes", "--rollback"]
        other = second.console(*words)
        if other.code == 6 and "guard" in other.err:
            # Nothing was written yet that could be taken over: only the guard of the first one stands there.
            other = second.console("takeover", folder_of_run.name, "--yes", "--rollback")
        stands = standing(host)
        if link:
            host.run("pkill", "-CONT", "--full", SSHD)
        going.stop(signal.SIGCONT)
        done = going.end(timeout_s=180.0)
        time.sleep(1.0)
        same = standing(host) == stands
        text = (
            f"the other one ends with {other.code}, it with {done.code} and wrote {'nothing' if same else 'SOMETHING'}"
        )
        return same and other.code in (0, 1) and done.code in (
            3,
            4,
            6,
            7,
            8,
            9,
        ), f"{text}; {everywhere(host)[0]} serves"
    finally:
        going.stop(signal.SIGCONT)
        first.close()
        second.close()


def standing(host: Host) -> tuple[str, str, int]:
    """What decides the service: its files and its starts. A ledger may still be told how a run ended."""
    seen = snapshot(host)
    return tree(host, "/etc"), seen.invocation, seen.starts
