"""The link is down for 90 s while the service loads, and the run goes on."""

from __future__ import annotations

import time
from pathlib import Path

from tests.hosts.engine_unit import install_engine, set_simulator
from tests.hosts.fleet import Fleet
from tests.real.desk import EXTEND_CONTEXT, Desk
from tests.real.fire.said import Said
from tests.real.state_of import everywhere, starts

CUT_S = 90.0
SPEED = 20.0
LOADS = {"longer than the cut": 105.0, "shorter than the cut": 40.0}


def prove(said: Said, folder: Path) -> None:
    with Fleet(1) as fleet:
        host = fleet.hosts[0]
        for name, load_s in LOADS.items():
            install_engine(host, load_s=2.0)
            desk = Desk(folder / name, [host])
            first = starts(host)
            set_simulator(host, load_s=load_s * SPEED, speed=SPEED)
            going = desk.start("run", EXTEND_CONTEXT)
            going.wait_for_phase("weights")
            with host.cut_off():
                time.sleep(CUT_S)
                outlived = going.process.poll() is None
            done = going.end(timeout_s=180.0)
            restarts = starts(host) - first
            met = (outlived, done.code, done.outcome, restarts) == (True, 0, "verified", 1)
            met = met and everywhere(host) == ("200000",) * 4 and not desk.open_runs()
            said.line(
                met,
                f"link down for {CUT_S:.0f} s, a load {name}: {done.outcome}, exit {done.code}, "
                f"{restarts} restart in the journal",
            )
