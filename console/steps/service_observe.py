"""`service.observe`: stay and look for a while, because what is proven once may still fall over under real requests."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from pydantic import Field

from console.facts.collect import collect
from console.facts.watch import Watch, watch_once
from console.schema.events import LogLine, ServiceTroubled, StepProgress
from console.schema.hosts import Target
from console.schema.names import Seconds
from console.schema.plan import OnAbort
from console.steps import parts
from console.steps.base import Step, StepIO, StepResult
from console.untrusted import one_line

# The kernel's messages are asked for with a whole look, so not each time.
WHOLE_LOOK_S = 60.0
OOM_WORDS = ("killed by the OOM killer", "Out of memory: Killed process", "oom-kill")


class ServiceObserve(Step):
    """Watch the proven service for a time: another start, a crash, OOM, a new Xid, requests that were retracted.

    Trouble takes the proof back: the run ends applied-unverified, and the webhook of `[notify]` hears of it.
    """

    uses: ClassVar[str] = "service.observe"
    looks: ClassVar[bool] = True
    on_abort: ClassVar[OnAbort] = "stops now"
    summary: ClassVar[str] = "watch the service for a while"

    duration: Seconds = Field(default=900.0, gt=0)
    every: Seconds = Field(default=15.0, gt=0)

    def title(self, target: Target) -> str:
        return f"watch {target.service.unit} for {self.duration / 60:g} min"

    async def run(self, io: StepIO) -> StepResult:
        return await parts.everywhere(io, self._watch)

    async def _watch(self, io: StepIO) -> StepResult:
        begun = io.clock.monotonic()
        first = await watch_once(io.reader, io.engine, io.plan.target.service.port, patience_s=self.duration)
        proven, known = io.invocation or first.invocation, set(io.before.host.xid_lines)
        # What the start said before it was proven is no news.
        seen, restarts, whole_at = replace(first, lines=(), raw_lines=()), first.unit.n_restarts, begun
        while True:
            passed_s = io.clock.monotonic() - begun
            last = passed_s >= self.duration
            said = troubles(seen, proven, restarts)
            if last or io.clock.monotonic() - whole_at >= WHOLE_LOOK_S:
                whole_at = io.clock.monotonic()
                facts = await collect(io.reader, io.engine, patience_s=60.0)
                said += [line for line in facts.host.xid_lines if line not in known]
            if said:
                return trouble(io, said, passed_s)
            if last:
                return StepResult("ok", f"nothing happened in {passed_s / 60:.0f} min, invocation {proven[:8]}")
            io.emit(
                StepProgress(
                    target=io.plan.target.name,
                    step=io.step.id,
                    phase="observing",
                    done=round(passed_s),
                    total=round(self.duration),
                    message="no trouble so far",
                )
            )
            await io.clock.sleep(min(self.every, self.duration - passed_s))
            seen = await watch_once(
                io.reader, io.engine, io.plan.target.service.port, seen.cursor, patience_s=self.duration, not_of="-"
            )


def troubles(seen: Watch, proven: str, restarts: int) -> list[str]:
    """What a look shows that a healthy service would not."""
    said = []
    unit = seen.unit
    if seen.invocation != proven:
        said.append(
            f"the proven process is gone: the unit was started again (invocation {seen.invocation[:8] or 'none'})"
        )
    elif unit.active_state != "active":
        said.append(f"the unit is {unit.active_state}/{unit.sub_state}")
    if unit.n_restarts > restarts:
        said.append(f"systemd restarted it {unit.n_restarts - restarts} times")
    if unit.result == "oom-kill":
        said.append("the unit ended by the OOM killer")
    said += [text for text in seen.raw_lines if any(words in text for words in OOM_WORDS)]
    said += [line.text for line in seen.lines if line.kind == "failure" or line.cause == "retracted"]
    return said


def trouble(io: StepIO, said: list[str], passed_s: float) -> StepResult:
    """The proof no longer holds; the first thing seen is the message, the others go to the log."""
    target = io.plan.target.name
    shown = [one_line(text, 300) for text in dict.fromkeys(said)]
    for text in shown:
        io.emit(LogLine(target=target, source="observe", kind="failure", text=text))
    message = f"after {passed_s:.0f} s: {shown[0]}"
    io.emit(ServiceTroubled(target=target, message=message))
    return StepResult("failed", message)
