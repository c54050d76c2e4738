"""Is the service up? A state machine over what the host shows, not a URL that answers.

A restart asked for with `--no-block` goes through: the old process stops, a new invocation starts, the engine loads,
the port opens, the engine says it is ready. At each point it can die, be replaced by somebody else's start, or be
answered for by a stale process that still owns the port.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from console.engines.base import Engine, LineKind, LogLine
from console.engines.progress import LoadProgress, eta_s
from console.facts.watch import Watch

State = Literal["waiting", "ready", "failed", "replaced"]

# A foreign process may own the port for as long as the old one needs to let go of it.
STALE_PORT_S = 5.0
# Nothing has moved for this long: the load has stalled.
STALL_S = 120.0
# Restarts by systemd after which a start without a known cause counts as a crash loop.
CRASH_LOOP_RESTARTS = 2
# Lines of a load. A service that has served for long shows others; then the line that said ready is long gone.
LOADING: frozenset[LineKind] = frozenset({"args", "weights", "pool", "limits", "graphs", "listening"})


@dataclass(frozen=True)
class Verdict:
    """Where the start stands. `fraction` of the current phase, `eta_s` to its end; both only where known."""

    state: State
    phase: str
    message: str = ""
    done: int | None = None
    total: int | None = None
    eta_s: float | None = None
    lines: tuple[str, ...] = ()
    cause: str = ""
    invocation: str = ""


@dataclass
class Readiness:
    """Folds what `watch_once` sees since a restart into a verdict.

    `invocation_before` is the start that must be gone; empty when nothing was restarted and any start will do.
    Times are monotonic seconds of the caller's clock.
    """

    engine: Engine
    invocation_before: str
    restarted: bool
    started_at: float
    boot_id: str = ""
    invocation: str = ""
    load_estimate_s: float | None = None
    progress: LoadProgress = field(default_factory=LoadProgress)
    failures: list[LogLine] = field(default_factory=list)
    last_lines: list[str] = field(default_factory=list)
    last_moved_at: float = 0.0
    phase_started_at: float = 0.0
    restarts_seen: int = 0
    foreign_since: float | None = None
    load_seen: bool = False
    _marks: tuple[object, ...] = ()

    def moving(self, now: float, stall_s: float = STALL_S) -> bool:
        """Whether journal, GPU memory or bytes read moved lately: slow is not broken."""
        return now - max(self.last_moved_at, self.started_at) < stall_s

    def observe(self, watch: Watch, now: float, on_line: Callable[[LogLine], None] = lambda _line: None) -> Verdict:
        """The verdict after one more look. `on_line` gets each classified line of this start, once."""
        if self.boot_id and watch.boot_id and watch.boot_id != self.boot_id:
            return self._verdict("failed", "the host was rebooted meanwhile", cause="reboot")
        self.boot_id = self.boot_id or watch.boot_id
        new_start = self._follow_invocation(watch)
        if new_start is not None:
            return new_start
        if self.invocation and watch.invocation == self.invocation:
            self._read_lines(watch, now, on_line)
        marks = (watch.cursor, watch.gpu_used_mib, watch.read_bytes, watch.unit.sub_state, watch.invocation)
        if marks != self._marks:
            self._marks = marks
            self.last_moved_at = now
        dead = self._death(watch)
        return dead if dead is not None else self._standing(watch, now)

    def _follow_invocation(self, watch: Watch) -> Verdict | None:
        """Note the start we follow; a start that is neither ours nor systemd's own retry ends the wait."""
        current = watch.invocation
        if not self.invocation:
            if current and (current != self.invocation_before or not self.restarted):
                self.invocation = current
                self.restarts_seen = watch.unit.n_restarts
            return None
        if not current or current == self.invocation:
            return None
        if watch.unit.n_restarts > self.restarts_seen:
            # systemd started it again after a crash: the lines of the dead start say why, the new one may say it again.
            self.invocation = current
            self.progress = LoadProgress()
            return None
        return self._verdict(
            "replaced", f"invocation {current} is not ours: somebody restarted the service", invocation=current
        )

    def _read_lines(self, watch: Watch, now: float, on_line: Callable[[LogLine], None]) -> None:
        before = self.progress.phase
        for line in watch.lines:
            self.load_seen = self.load_seen or line.kind in LOADING
            on_line(line)
            self.progress = self.progress.after(line)
            if line.kind == "failure":
                self.failures.append(line)
        self.last_lines = [*self.last_lines, *watch.raw_lines][-30:]
        if self.progress.phase != before:
            self.phase_started_at = now

    def _death(self, watch: Watch) -> Verdict | None:
        unit = watch.unit
        cause = self.engine.failure_cause(self.failures)
        crashes = unit.n_restarts - self.restarts_seen if self.invocation else 0
        if unit.active_state == "failed" and (self.invocation or self._is_new(watch)):
            return self._dead(
                cause, f"the unit failed ({unit.result or unit.exec_main_code}, status {unit.exec_main_status})"
            )
        if unit.active_state == "inactive" and self.invocation and not unit.job:
            return self._dead(cause, "the service stopped")
        if crashes >= CRASH_LOOP_RESTARTS:
            return self._dead(cause, f"crash loop: systemd started it again {crashes} times")
        if crashes >= 1 and cause is not None:
            return self._dead(cause, f"the start failed and systemd started it again {crashes}×")
        return None

    def _is_new(self, watch: Watch) -> bool:
        return not self.restarted or watch.invocation != self.invocation_before

    def _dead(self, cause: LogLine | None, what: str) -> Verdict:
        why = f": {cause.text}" if cause else ""
        lines = tuple(line.text for line in self.failures[-6:]) or tuple(self.last_lines[-6:])
        return Verdict(
            "failed", "failed", what + why, lines=lines, cause=cause.cause if cause else "", invocation=self.invocation
        )

    def _standing(self, watch: Watch, now: float) -> Verdict:
        if not self.invocation:
            return self._verdict("waiting", "the old process is stopping", phase="stopping")
        if watch.port_owner == "foreign":
            self.foreign_since = self.foreign_since if self.foreign_since is not None else now
            if now - self.foreign_since >= STALE_PORT_S:
                text = f"port held by process {watch.port_pid}, which is not of this unit"
                return self._verdict("failed", text, cause="stale-port")
        else:
            self.foreign_since = None
        port_is_ours = watch.port_owner == "unit"
        if port_is_ours and (self.progress.ready or not self.load_seen):
            return self._verdict("ready", "ready", phase="ready")
        if watch.unit.active_state not in ("active", "activating", "deactivating", "reloading"):
            return self._verdict("waiting", f"unit is {watch.unit.active_state}", phase="starting")
        message = {"unit": "port open", "foreign": f"port still held by process {watch.port_pid}"}.get(
            watch.port_owner, ""
        )
        eta = eta_s(now - self.started_at, self.progress.fraction)
        if eta is None and self.load_estimate_s is not None:
            eta = max(0.0, self.load_estimate_s - (now - self.started_at))
        return Verdict(
            "waiting",
            self.progress.phase,
            message,
            done=self.progress.done,
            total=self.progress.total,
            eta_s=eta,
            invocation=self.invocation,
        )

    def _verdict(
        self, state: State, message: str, *, phase: str = "", cause: str = "", invocation: str = ""
    ) -> Verdict:
        lines = tuple(self.last_lines[-6:]) if state == "failed" else ()
        return Verdict(
            state, phase or state, message, lines=lines, cause=cause, invocation=invocation or self.invocation
        )
