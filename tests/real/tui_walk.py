"""The main job by keys only, in tmux, on a real host: `python -m tests.real.tui_walk [PART…]` (root). Prints each part.

Plan, typed confirmation, restart, proof, a live sweep with its chart, found in History; stopped in the wait with each
choice; the window killed in the wait and opened again; a host that asks for passwords at login and for sudo.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import time
from pathlib import Path

from tests.hosts.engine_unit import install_engine, serving, set_simulator
from tests.hosts.fleet import Fleet
from tests.hosts.host import Host
from tests.real.desk import Desk
from tests.real.test_logins import PASSWORD, asking
from tests.tui.tmux import READING_S, Tmux, wait_for

CHOICE = "Press l, b or w"
SLOW = {"load_s": 900.0}  # of the simulator, twenty times as fast: 45 s


class Walk:
    """One host and one terminal."""

    def __init__(self, host: Host, folder: Path) -> None:
        self.host = host
        self.desk = Desk(folder / "desk", [host])
        self.target = f"{host.name}/k26"
        self.terminal = Tmux(f"walk-{os.getpid()}", folder / "desk" / "state", self.desk.environment)

    def open(self) -> None:
        self.terminal.open(self.desk.inventory, 120, 36)

    def close(self) -> None:
        self.terminal.close()
        time.sleep(1.0)

    def in_the_wait(self) -> None:
        self.terminal.start_the_main_job(self.host.name, self.target)
        self.terminal.until("> running  [11/16]")

    def choose(self, key: str) -> None:
        self.terminal.press("x")
        self.terminal.until(CHOICE)
        time.sleep(READING_S)  # what is typed before a person could have read it is no answer
        self.terminal.press(key)
        wait_for(lambda: CHOICE not in self.terminal.screen())

    def verified(self) -> None:
        self.open()
        self.terminal.start_the_main_job(self.host.name, self.target)
        shown = self.terminal.until("VERIFIED EXIT 0")
        self.terminal.until("next:")
        self.terminal.press("Escape")
        self.terminal.until("Runs of this machine")
        self.terminal.press("1")
        self.terminal.until("200000  200000  200000   200000")
        assert serving(self.host) == 200000, shown

    def swept(self) -> None:
        self.terminal.press("m")
        self.terminal.until("s sweep")
        self.terminal.press("s")
        self.terminal.until(f"Type {self.target} to start it")
        time.sleep(READING_S)
        self.terminal.press(self.target, "Enter")
        self.terminal.until("MEASURED EXIT 0")
        self.terminal.press("3")
        self.terminal.until("runs with findings")
        time.sleep(READING_S)
        self.terminal.press("Enter")
        shown = self.terminal.until("tokens of context")
        assert "-- fit" in shown, shown
        say(shown)
        self.terminal.press("4")
        shown = self.terminal.until("context_length 32768 -> 200000")
        assert "measured" in shown, shown
        self.close()

    def stopped_and_left(self) -> None:
        self.open()
        self.in_the_wait()
        self.choose("w")
        self.terminal.until("> running  [11/16]")
        self.choose("l")
        self.terminal.until("APPLIED-UNVERIFIED EXIT 3")
        self.terminal.until("next:")
        self.terminal.press("s")
        self.terminal.until("Go on with")
        self.terminal.press("r")
        self.terminal.until(f"Type {self.host.name}")
        time.sleep(READING_S)
        self.terminal.press(self.host.name, "Enter")
        self.terminal.until("VERIFIED EXIT 0")
        self.close()

    def stopped_and_rolled_back(self) -> None:
        self.open()
        self.in_the_wait()
        self.choose("b")
        self.terminal.until("ROLLED-BACK EXIT 4")
        assert serving(self.host) == 32768
        self.close()

    def window_killed(self) -> None:
        self.open()
        self.in_the_wait()
        self.close()
        self.open()
        self.terminal.until("RUNNING")
        self.terminal.until("VERIFIED EXIT 0")
        self.close()

    def asked_first(self) -> None:
        """Passwords are asked for before the screen opens; of the run that is started nobody can read them."""
        asking(self.host)
        told = self.desk.inventory.read_text("utf-8")
        marked = told.replace('[defaults]\nuser = "root"', '[defaults]\nasks = ["login", "sudo"]\nuser = "careful"')
        assert marked != told
        self.desk.inventory.write_text(marked, "utf-8")
        self.open()
        for question in ("sudo password", f"{self.host.name} asks: Password:"):
            self.terminal.until(question)
            self.terminal.press("-l", PASSWORD)
            self.terminal.press("Enter")
        self.terminal.start_the_main_job(self.host.name, self.target)
        self.terminal.until("> running  [11/16]")
        assert readable_by_others(PASSWORD) == []
        self.terminal.until("VERIFIED EXIT 0")
        assert serving(self.host) == 200000
        assert PASSWORD not in self.desk.everything()
        self.close()


def readable_by_others(text: str) -> list[str]:
    """Where the text stands in the arguments or the environment of a process."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        for name in ("cmdline", "environ"):
            with contextlib.suppress(OSError):
                found += [f"{process}/{name}"] if text.encode() in (process / name).read_bytes() else []
    return found


PARTS = (
    ("verified", "swept"),
    ("stopped_and_left",),
    ("stopped_and_rolled_back",),
    ("window_killed",),
    ("asked_first",),
)


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="walk-") as name, Fleet(1) as fleet:
        host = fleet.hosts[0]
        host.wait_up()
        wanted = [part for part in PARTS if not sys.argv[1:] or part[-1] in sys.argv[1:]]
        for number, part in enumerate(wanted):
            install_engine(host, load_s=20.0)
            set_simulator(host, **({"load_s": 20.0} if "verified" in part else SLOW))
            walk = Walk(host, Path(name) / str(number))
            began = time.monotonic()
            try:
                for step in part:
                    getattr(walk, step)()
            finally:
                walk.terminal.close()
                walk.desk.close()
            say(f"{', '.join(part)}: well, {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
