"""How a unit is doing, as its service manager tells."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field


@dataclass
class Main:
    """The unit's main process, running or the last one. Times: wall and monotonic microseconds, 0 = never."""

    pid: int = 0
    started: tuple[int, int] = (0, 0)
    ended: tuple[int, int] = (0, 0)
    code: int = 0  # 1 exited, 2 killed, as CLD_EXITED and CLD_KILLED
    status: int = 0


@dataclass
class State:
    active: str = "inactive"
    sub: str = "dead"
    result: str = "success"
    main_pid: int = 0
    invocation: str = ""
    restarts: int = 0
    job: int = 0
    active_since: tuple[int, int] = (0, 0)
    inactive_since: tuple[int, int] = (0, 0)
    changed: tuple[int, int] = (0, 0)
    main: Main = field(default_factory=Main)


def moment() -> tuple[int, int]:
    return time.time_ns() // 1000, time.monotonic_ns() // 1000


def seconds(text: str, default: float) -> float:
    """A systemd time span; `infinity` is a long time."""
    if not text:
        return default
    if text == "infinity":
        return 1e9
    units = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "": 1.0}
    return sum(float(number) * units.get(unit, 1.0) for number, unit in re.findall(r"([\d.]+)\s*([a-z]*)", text))
