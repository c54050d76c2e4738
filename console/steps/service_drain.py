"""`service.drain`: wait until the requests that run now have ended, as far as the engine tells and time allows."""

from __future__ import annotations

from typing import ClassVar, Literal

from console.engines.base import Reply
from console.schema.events import StepProgress
from console.schema.hosts import Target
from console.schema.names import Seconds
from console.schema.plan import OnAbort
from console.steps.base import Step, StepIO, StepResult
from console.steps.parts import parts_of

POLL_S = 1.0


class ServiceDrain(Step):
    """Wait for running and queued requests to end, for at most `deadline`; then go on, stop the run, or ask a person.

    Nothing is taken out of a balancer by it, that is `lb.out`: while clients send more, a live service never drains.
    """

    uses: ClassVar[str] = "service.drain"
    looks: ClassVar[bool] = True
    on_abort: ClassVar[OnAbort] = "stops now"
    summary: ClassVar[str] = "wait until running requests have ended"

    deadline: Seconds = 120.0
    then: Literal["proceed", "stop", "ask"] = "proceed"

    def title(self, target: Target) -> str:
        return f"wait up to {self.deadline:g} s for running requests, then {self.then}"

    async def run(self, io: StepIO) -> StepResult:
        begun = io.clock.monotonic()
        while True:
            counts = [await requests(each) for each in (io, *parts_of(io))]
            left = None if None in counts else sum(count or 0 for count in counts)
            waited_s = io.clock.monotonic() - begun
            if left is None:
                return StepResult("ok", "how many requests run cannot be seen: nothing was waited for")
            if left == 0:
                return StepResult("ok", f"no request runs, after {waited_s:.0f} s")
            if waited_s >= self.deadline:
                said = f"{left} requests still run after {waited_s:.0f} s"
                return await self.decided(io, said)
            io.emit(
                StepProgress(
                    target=io.plan.target.name, step=io.step.id, phase="draining", message=f"{left} requests run"
                )
            )
            await io.clock.sleep(min(POLL_S, self.deadline - waited_s))

    async def decided(self, io: StepIO, said: str) -> StepResult:
        """What follows while requests still run; where nobody answers, nobody's request is cut off."""
        then = self.then
        if then == "ask":
            answer = await io.ask(f"{said}. Restart all the same?", ("proceed", "stop"), "stop") if io.ask else "stop"
            then = "proceed" if answer == "proceed" else "stop"
            said = f"{said}; the answer was {answer}"
        return StepResult("ok" if then == "proceed" else "refused", said)


async def requests(io: StepIO) -> int | None:
    """How many requests run or wait now; None where the engine does not say. Raises ConnectError."""
    replies: dict[str, Reply] = {}
    for request in io.engine.status_requests():
        if request.unless and replies.get(request.unless, Reply(0)).status == 200:
            continue
        replies[request.path] = await io.reader.fetch(request)
        if replies[request.path].status == 0:
            break  # nothing answers, so nothing runs that could be waited for
    serving = io.engine.read_serving(replies)
    if serving.running_requests is None:
        return None
    return serving.running_requests + (serving.queued_requests or 0)
