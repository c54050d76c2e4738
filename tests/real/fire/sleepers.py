"""A command that a step started on a host and that is stopped: how soon everything of it is gone there."""

from __future__ import annotations

import time
from pathlib import Path

from tests.hosts import remains
from tests.hosts.engine_unit import install_engine
from tests.hosts.fleet import Fleet
from tests.hosts.host import Host
from tests.real.desk import Desk
from tests.real.fire.said import Said

LIMIT_S = 2.0
TRIES = 5
BOOK = """\
schema = 1
name = "long-command"
unattended = "proceed"

[[step]]
uses = "host.command"
command = "setsid sleep 1001 & sleep 1000"
undo = "true"
sudo = true
timeout = "20m"
"""


def prove(said: Said, folder: Path) -> None:
    with Fleet(1) as fleet:
        host = fleet.hosts[0]
        install_engine(host, load_s=2.0)
        host.add_user("ops", sudo=True)
        for user in ("root", "ops"):
            took = [one(host, Desk(folder / f"{user}{number}", [host], user=user)) for number in range(TRIES)]
            text = f"sleep 1000 and its child are gone {max(took):.2f} s after the stop (worst of {TRIES}), as {user}"
            said.line(max(took) < LIMIT_S, text)


def one(host: Host, desk: Desk) -> float:
    going = desk.start("run", desk.runbook(BOOK))
    assert remains.wait_until(lambda: len(there(host)) >= 2, 60.0, every_s=0.05)
    stopped_at = going.stop()
    assert remains.wait_until(lambda: not there(host), 30.0, every_s=0.02)
    took_s = time.time() - stopped_at
    done = going.end()
    assert done.code == 130, done.err
    return took_s


def there(host: Host) -> list[str]:
    return host.run("pgrep", "--exact", "--full", "sleep 100[01]", check=False).stdout.decode().split()
