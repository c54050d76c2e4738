"""Is the service up? A state machine over what the host shows and what the engine answers, not a URL alone.

A restart asked for with `--no-block` goes through: the old process stops, a new invocation starts, the engine loads,
the port opens, the engine says it is ready. At each point it can die, be replaced by somebody else's start, or be
answered for by a stale process that still owns the port.

Ready is: the port belongs to a process of the new start, that process answers a status request with 200 and serves the
window the unit gives, and it has said so in its log. A journal may drop that one line, and some log nothing: then it
must have gone on answering, with no further line of a load, for `UNSAID_S`; the verdict says that the log did not.
An open port alone is never ready: engines answer status requests while they still warm up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

from console.engines.base import Engine, LineKind, LogLine, Reply
from console.engines.progress import LoadProgress, eta_s
from console.facts.watch import Watch
from console.remote.session import Reader

State = Literal["waiting", "ready", "failed", "replaced"]

# A foreign process may own the port for as long as the old one needs to let go of it.
STALE_PORT_S = 5.0
# Nothing has moved for this long: the load has stalled.
STALL_S = 120.0
# Restarts by systemd after which a start without a known cause counts as a crash loop.
CRASH_LOOP_RESTARTS = 2
# Without its word in the log, it must have answered for this long, and shown no line of a load meanwhile.
UNSAID_S = 30.0
# An engine that answers is asked again this often: each question is a line in its log.
ASK_AGAIN_S = 2.0
ASK_TIMEOUT_S = 5.0
# Lines of a load. A service that has served for long shows others; then the line that said ready is long gone.
LOADING: frozenset[LineKind] = frozenset({"args", "weights", "pool", "limits", "graphs", "listening"})
SERVING: frozenset[LineKind] = frozenset({"decode", "prefill", "access"})


@dataclass(frozen=True)
class Answer:
    """What the engine says when it is asked for its model; `error` says why it does not."""

    up: bool
    context_length: int | None = None
    error: str = ""
    slots: int = 1


async def ask(reader: Reader, engine: Engine, *, patience_s: float = 0.0) -> Answer:
    """Send the first of the engine's status requests, which generate nothing. Raises ConnectError.

    A refused key is an answer, too: what is served then is for the proof to say.
    """
    replies: dict[str, Reply] = {}
    for request in engine.status_requests():
        asked = replace(request, timeout_s=min(request.timeout_s, ASK_TIMEOUT_S))
        reply = await reader.fetch(asked, patience_s=patience_s)
        replies[request.path] = reply
        if reply.status != 404:
            break
    reply = list(replies.values())[-1] if replies else Reply(0, error="the engine has nothing to ask")
    if reply.status in (200, 401, 403):
        serving = engine.read_serving(replies)
        return Answer(up=True, context_length=serving.context_length, slots=serving.slots)
    return Answer(up=False, error=reply.error or f"HTTP {reply.status}")


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
    ask: bool = False  # the port is ours: what `ask` answers decides, by way of `heard`


@dataclass
class Readiness:
    """Folds what `watch_once` sees since a restart, and what `ask` is answered, into a verdict.

    `invocation_before` is the start that must be gone, `pid_before` its engine's process; both empty when nothing was
    restarted and any start will do. `expected_context` is the window the unit gives, where it is known.
    Times are monotonic seconds of the caller's clock.
    """

    engine: Engine
    invocation_before: str
    restarted: bool
    started_at: float
    boot_id: str = ""
    invocation: str = ""
    load_estimate_s: float | None = None
    pid_before: int = 0
    expected_context: int | None = None
    progress: LoadProgress = field(default_factory=LoadProgress)
    failures: list[LogLine] = field(default_factory=list)
    last_lines: list[str] = field(default_factory=list)
    last_moved_at: float = 0.0
    phase_started_at: float = 0.0
    restarts_seen: int = 0
    foreign_since: float | None = None
    load_seen: bool = False
    load_line_at: float | None = None
    serving_seen: bool = False
    not_started_looks: int = 0
    asked_at: float | None = None
    answering_since: float | None = None
    other_context_since: float | None = None
    said: str = "port open"
    _marks: tuple[object, ...] = ()

    def moving(self, now: float, stall_s: float = STALL_S) -> bool:
        """Whether journal, GPU memory or bytes read moved lately: slow is not broken."""
        return now - max(self.last_moved_at, self.started_at) < stall_s

    def observe(self, watch: Watch, now: float, on_line: Callable[[LogLine], None] = lambda _line: None) -> Verdict:
        """The verdict after one more look. `on_line` gets each classified line of this start, once."""
        if self.boot_id and watch.boot_id and watch.boot_id != self.boot_id:
            # Whatever runs now was not started by us, and the one who rebooted is at work here.
            return self._verdict("replaced", "the host was rebooted meanwhile", cause="reboot")
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
            self._forget_answers()
            return None
        return self._verdict(
            "replaced", f"invocation {current} is not ours: somebody restarted the service", invocation=current
        )

    def _read_lines(self, watch: Watch, now: float, on_line: Callable[[LogLine], None]) -> None:
        before = self.progress.phase
        for line in watch.lines:
            self.serving_seen = self.serving_seen or line.kind in SERVING
            if line.kind in LOADING:
                self.load_seen = True
                self.load_line_at = now
            on_line(line)
            self.progress = self.progress.after(line)
            if line.kind == "failure":
                self.failures.append(line)
        self.last_lines = [*self.last_lines, *watch.raw_lines][-30:]
        if self.progress.phase != before:
            self.phase_started_at = now

    def _death(self, watch: Watch) -> Verdict | None:
        unit = watch.unit
        if self._never_started(watch):
            self.last_lines = [*watch.raw_lines][-30:]
            why = unit.result if unit.result not in ("", "success") else "a condition or a dependency"
            return self._verdict("failed", f"systemd started nothing: the unit is {unit.active_state} ({why})")
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

    def _never_started(self, watch: Watch) -> bool:
        """No start came of the restart, and no job is left that could bring one: twice, for the job may lag behind."""
        over = self.restarted and not self.invocation and not watch.unit.job
        over = over and watch.unit.active_state in ("inactive", "failed")
        self.not_started_looks = self.not_started_looks + 1 if over else 0
        return self.not_started_looks >= 2

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
        stale = self.restarted and self.pid_before > 0 and watch.port_pid == self.pid_before
        if watch.port_owner == "foreign" or stale:
            self.foreign_since = self.foreign_since if self.foreign_since is not None else now
            whose = "from before the restart" if stale else "not of this unit"
            if now - self.foreign_since >= STALE_PORT_S:
                text = f"port held by process {watch.port_pid}, which is {whose}"
                return self._verdict("failed", text, cause="stale-port")
            return self._waiting(f"port still held by process {watch.port_pid}", now)
        self.foreign_since = None
        if watch.port_owner != "unit":
            self._forget_answers()
        if watch.unit.active_state not in ("active", "activating", "deactivating", "reloading"):
            return self._verdict("waiting", f"unit is {watch.unit.active_state}", phase="starting")
        if watch.port_owner != "unit":
            return self._waiting("", now)
        due = self.asked_at is None or now - self.asked_at >= ASK_AGAIN_S or self.progress.ready
        return replace(self._waiting(self.said, now), ask=due)

    def _forget_answers(self) -> None:
        self.asked_at = self.answering_since = self.other_context_since = None
        self.said = "port open"

    def heard(self, answer: Answer, now: float) -> Verdict:
        """The verdict after the engine was asked, which it is when the last look's verdict says `ask`."""
        self.asked_at = now
        served, wanted = answer.context_length, self.expected_context
        if not answer.up:
            self.answering_since = None
            self.said = f"port open, no answer yet: {answer.error}"
        elif served is not None and wanted is not None and not self._agrees(served, wanted, answer.slots):
            # Not at once: what a stopped service left running may own the port for a moment.
            self.answering_since = None
            self.other_context_since = self.other_context_since if self.other_context_since is not None else now
            self.said = f"a context of {served} is served, and {wanted} is in the unit"
            if now - self.other_context_since >= STALE_PORT_S:
                return self._verdict("failed", self.said, cause="other-context")
        else:
            self.other_context_since = None
            self.answering_since = self.answering_since if self.answering_since is not None else now
            return self._answering(now)
        return self._waiting(self.said, now)

    def _agrees(self, served: int, wanted: int, slots: int) -> bool:
        return served == wanted or self.engine.agrees("context_length", str(wanted), str(served), slots)

    def _answering(self, now: float) -> Verdict:
        served_for_long = not self.restarted and self.serving_seen and not self.load_seen
        if self.progress.ready or served_for_long:
            return self._verdict("ready", "ready", phase="ready")
        silent_s = now - max(self.answering_since or now, self.load_line_at or 0.0)
        if silent_s >= UNSAID_S:
            text = f"it answered for {silent_s:.0f} s, its log does not say that it is ready"
            return self._verdict("ready", text, phase="ready")
        self.said = "it answers, its log does not say yet that it is ready"
        return self._waiting(self.said, now)

    def _waiting(self, message: str, now: float) -> Verdict:
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
