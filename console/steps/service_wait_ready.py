"""`service.wait_ready`: follow the new process until it serves, or say why it never will."""

from __future__ import annotations

from typing import ClassVar

from console.engines.base import LogLine as EngineLine
from console.errors import NotReadyError, RestartedByOthersError
from console.facts.readiness import Readiness, Verdict, ask
from console.facts.watch import in_log, log_cursor, watch_once
from console.schema.events import FindingMade, LogLine, StepProgress
from console.schema.hosts import Target
from console.schema.names import Seconds
from console.schema.plan import OnAbort
from console.steps import parts, ranks
from console.steps.base import Step, StepIO, StepResult
from console.untrusted import one_line

# Looks are cheap but not free: often while things change quickly, rarely in a long load.
FIRST_POLL_S = 0.2
# What was just started has nothing to tell yet.
FIRST_LOOK_S = 0.5
SLOWEST_POLL_S = 2.0
# Kinds of lines worth keeping in the run's log; batches and access lines only matter when measuring.
KEPT_KINDS = frozenset({"args", "weights", "pool", "limits", "graphs", "ready", "failure", "pressure", "stopping"})


class ServiceWaitReady(Step):
    """Wait until the restarted service serves.

    `timeout` (the common key) is when a wait that no longer moves is given up; while the load still progresses it
    goes on up to `hard_timeout`. The connection may be lost and found again meanwhile.
    """

    uses: ClassVar[str] = "service.wait_ready"
    looks: ClassVar[bool] = True
    on_abort: ClassVar[OnAbort] = "stops now"
    summary: ClassVar[str] = "wait until it serves"

    hard_timeout: Seconds = 3600.0

    def title(self, target: Target) -> str:
        return "wait until the new process serves"

    async def run(self, io: StepIO) -> StepResult:
        return await parts.everywhere(io, self._follow)

    async def _follow(self, io: StepIO) -> StepResult:
        timeout_s = io.step.timeout_s or 1800.0
        started = io.clock.monotonic()
        readiness = Readiness(
            engine=io.engine,
            invocation_before=io.invocation_before,
            restarted=io.restarted,
            started_at=started,
            phase_started_at=started,
            boot_id=io.before.host.boot_id,
            load_estimate_s=io.plan.load_estimate_s,
            pid_before=io.before.process.pid if io.restarted else 0,
            expected_context=window(io),
        )
        log = io.before.log
        cursor = unread(io) if log.path and io.restarted else ""
        shown: tuple[object, ...] = ()
        polls = 0
        if io.restarted:
            await io.clock.sleep(FIRST_LOOK_S)
        while True:
            asked_at = io.clock.monotonic()
            waited_s = asked_at - started
            limit_s = max(self.hard_timeout, timeout_s) + io.extended_s()
            patience_s = max(5.0, limit_s - waited_s)
            watch = await watch_once(
                io.reader,
                io.engine,
                io.plan.target.service.port,
                cursor,
                patience_s=patience_s,
                # Not only the current start's: the last lines of a start that crashed say why.
                not_of=io.invocation_before if io.restarted else "",
                log=log.path,
            )
            # Also without a reconnect: after some silence the host lets go of a lock whose connection still stands.
            if io.regained is not None:
                await io.regained()
            cursor = watch.cursor
            io.seen = watch
            verdict = readiness.observe(watch, io.clock.monotonic(), lambda line: keep(io, line))
            io.invocation = verdict.invocation or io.invocation
            if verdict.ask:
                answer = await ask(io.reader, io.engine, patience_s=patience_s)
                if io.regained is not None:
                    await io.regained()
                verdict = readiness.heard(answer, io.clock.monotonic())
            if verdict.state == "ready" or polls % ranks.EVERY_LOOKS == ranks.EVERY_LOOKS - 1:
                await ranks.still_start(io)
            if verdict.state == "ready":
                took = io.clock.monotonic() - started
                # Of a start that was under way already the wait saw only the end.
                if io.restarted and not io.step.id.startswith("undo-"):
                    io.emit(load_time(io, took))
                note = "" if verdict.message == "ready" else f": {verdict.message}"
                return StepResult("ok", f"ready after {took:.1f} s{note}, invocation {verdict.invocation[:8]}")
            judge(verdict, io)
            now = io.clock.monotonic()
            if (verdict.phase, verdict.done, verdict.message) != shown or polls % 5 == 0:
                shown = (verdict.phase, verdict.done, verdict.message)
                io.emit(progress(io, verdict))
            waited_s = now - started
            if waited_s >= timeout_s + io.extended_s() and (waited_s >= limit_s or not readiness.moving(now)):
                why = "nothing moves any more" if waited_s < limit_s else "the hard limit is reached"
                raise NotReadyError(
                    f"not ready after {waited_s:.0f} s ({verdict.phase}): {why}",
                    where=io.plan.target.name,
                    hint=f"journalctl -u {io.plan.target.service.unit} -n 200 on the host",
                )
            polls += 1
            # A host that is slow to answer has better things to do: two thirds of its time are its own.
            own_s = min(SLOWEST_POLL_S, 2 * (io.clock.monotonic() - asked_at))
            await io.clock.sleep(max(own_s, pause_s(polls, waited_s, io.plan.load_estimate_s)))


def unread(io: StepIO) -> str:
    """Where the log goes on that is not in the journal: what stood in it before the restart is not this start's."""
    read_to = in_log(io.seen.cursor)[2] if io.seen is not None else ""
    return log_cursor("", io.invocation_before, read_to or io.before.log.position)


def load_time(io: StepIO, took_s: float, method: str = "restart to ready") -> FindingMade:
    """How long it took to be ready, beside what the plan expected."""
    expected = io.plan.load_estimate_s
    return FindingMade(
        target=io.plan.target.name,
        name="load_time",
        value=round(took_s, 1),
        unit="s",
        method=method,
        figures={"predicted_s": round(expected, 1)} if expected else {},
    )


def window(io: StepIO) -> int | None:
    """The context the unit gives, as far as this run knows it."""
    try:
        return int(io.engine.parse_value("context_length", io.expected["context_length"]))
    except (KeyError, ValueError):
        return None


def pause_s(polls: int, waited_s: float, load_estimate_s: float | None) -> float:
    """Until the next look: in a load whose length is known a third of what is left, as far as that is not too long."""
    usual_s = min(SLOWEST_POLL_S, FIRST_POLL_S * (1 + polls / 25))
    left_s = (load_estimate_s or 0.0) - waited_s
    return max(usual_s, min(SLOWEST_POLL_S, left_s / 3))


def judge(verdict: Verdict, io: StepIO) -> None:
    """Raise for a verdict that ends the wait badly."""
    where = io.plan.target.name
    unit = io.plan.target.service.unit
    if verdict.state == "replaced":
        raise RestartedByOthersError(
            verdict.message, where=where, hint=f"systemctl status {unit}; nothing was rolled back over that start"
        )
    if verdict.state == "failed":
        for line in verdict.lines:
            io.emit(LogLine(target=where, kind="failure", text=one_line(line, 400)))
        error = NotReadyError(one_line(verdict.message, 400), where=where, hint=f"journalctl -u {unit} -n 200")
        error.cause = verdict.cause
        raise error


def progress(io: StepIO, verdict: Verdict) -> StepProgress:
    return StepProgress(
        target=io.plan.target.name,
        step=io.step.id,
        phase=verdict.phase,
        done=verdict.done,
        total=verdict.total,
        eta_s=None if verdict.eta_s is None else round(verdict.eta_s, 1),
        message=verdict.message,
    )


def keep(io: StepIO, line: EngineLine) -> None:
    """Put a classified line into the run's log: no progress bars, and of the ranks that all say the same the first."""
    if line.kind not in KEPT_KINDS or line.done is not None or int(line.values.get("tp_rank", 0)) > 0:
        return
    value = line.values.get("tokens")
    io.emit(LogLine(target=io.plan.target.name, kind=line.kind, value=value, text=one_line(line.text, 400)))
