"""The laptop's state folder is gone after the edit: the host alone tells what is open, and leads back."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path

from tests.hosts import remains
from tests.hosts.commands import CommandError
from tests.hosts.engine_unit import UNIT, install_engine
from tests.hosts.fleet import Fleet
from tests.hosts.host import Host
from tests.real.desk import EXTEND_CONTEXT, Desk
from tests.real.fire.said import Said
from tests.real.state_of import LEDGER, UNIT_FILE, everywhere

MOMENTS = ("file", "reload", "restart")


def prove(said: Said, folder: Path) -> None:
    with Fleet(1) as fleet:
        for moment in MOMENTS:
            for by_hand in (False, True):
                one(said, fleet.hosts[0], folder / f"{moment}-{by_hand}", moment, by_hand=by_hand)


def one(said: Said, host: Host, folder: Path, moment: str, *, by_hand: bool) -> None:
    install_engine(host, load_s=10.0)
    before = host.read_bytes(UNIT_FILE)
    laptop, other = Desk(folder / "laptop", [host]), Desk(folder / "other", [host])
    going = laptop.start("run", EXTEND_CONTEXT)
    going.wait_for(lambda event: event["type"] == "change.made" and event["kind"] == moment)
    going.stop(signal.SIGKILL)
    run = going.end().run_id
    shutil.rmtree(laptop.folder / "state")
    shown = run in other.console("runs", "--everywhere").out and run in other.console("facts").out
    if by_hand:
        done = host.run("sh", f"{LEDGER}/{UNIT}/{run}/undo.sh", check=False)
        code, said_by = done.returncode, "undo.sh by hand"
    else:
        code, said_by = other.console("rollback", f"{host.name}/k26", "--yes").code, "rollback TARGET"
    back = remains.wait_until(lambda: is_old(host), 30.0, every_s=0.2) and host.read_bytes(UNIT_FILE) == before
    host.run("sh", "-c", "systemctl stop 'console-guard-*'; rm -f /etc/systemd/system/console-guard-*", check=False)
    if by_hand:
        # What a person did by hand is seen and closed by the next rollback, which finds nothing to put back.
        other.console("rollback", f"{host.name}/k26", "--yes")
    text = f"gone after the {moment}: shown as open: {shown}; {said_by} (exit {code}) restores it: {back}"
    said.line(shown and back and code == 0, text)


def is_old(host: Host) -> bool:
    """A script that a person ran asks for a restart and does not wait: a process may be gone or only just begin."""
    try:
        return everywhere(host) == ("32768",) * 4
    except (CommandError, ValueError):
        return False
