"""The other parts of a prefill/decode pair: each has a unit, a log and an endpoint of its own, and is looked at so."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from console.errors import ConsoleError
from console.schema.events import Event, LogLine, ServiceTroubled, StepProgress
from console.steps.base import StepIO, StepResult


def parts_of(io: StepIO) -> list[StepIO]:
    """What the same step is given for each other part; what it says there is said of the target, the part's name first.

    A load of the whole is predicted for the target alone, so no part has a prediction to be compared with.
    """
    found = []
    for reader, before in zip(io.reader.nodes, io.before.nodes, strict=False):
        if not reader.target.part:
            continue
        found.append(
            replace(
                io,
                reader=reader,
                plan=io.plan.model_copy(update={"target": reader.target, "load_estimate_s": None, "capacity": None}),
                emit=_said_of(io, reader.target.name),
                before=before,
                invocation_before=io.nodes_before.get(reader.target.node, before.unit.invocation_id),
                seen=None,
                invocation=io.kept.get(_kept(reader.target.name, io), ""),
                regained=None,  # the lock is one of all parts, and the target's own wait takes it again
                kept={},
            )
        )
    return found


async def everywhere(io: StepIO, look: Callable[[StepIO], Awaitable[StepResult]]) -> StepResult:
    """Look at all parts at once; the first that fails, or does not end well, ends the others' look."""
    parts = parts_of(io)
    if not parts:
        return await look(io)
    looks = [asyncio.ensure_future(look(io)), *(asyncio.ensure_future(_named(part, io, look)) for part in parts)]
    try:
        for next_one in asyncio.as_completed(looks):
            result = await next_one
            if result.outcome != "ok":
                return result
    finally:
        for each in looks:
            each.cancel()
        await asyncio.gather(*looks, return_exceptions=True)
    own, *others = (each.result().message for each in looks)
    return StepResult("ok", "; ".join((f"{io.plan.target.name} {own}", *others)))


async def _named(part: StepIO, io: StepIO, look: Callable[[StepIO], Awaitable[StepResult]]) -> StepResult:
    with named(part, io):
        result = await look(part)
    io.kept[_kept(part.plan.target.name, io)] = part.invocation
    return replace(result, message=f"{part.plan.target.name} {result.message}")


def _kept(name: str, io: StepIO) -> str:
    """Where the start of a part that a wait followed is kept for the proof; of another restart it is another one."""
    return f"start of {name} after {io.invocation_before}"


@contextmanager
def named(part: StepIO, io: StepIO) -> Iterator[None]:
    """What goes wrong in a part is told of the target, and says in which: the record keeps the message alone."""
    try:
        yield
    except ConsoleError as error:
        name = part.plan.target.name
        error.message = f"{name}: {error.message}"
        error.where = io.plan.target.name if error.where == name else error.where
        raise


def _said_of(io: StepIO, name: str) -> Callable[[Event], object]:
    """Failures, troubles and progress; figures are those of the target alone."""
    target = io.plan.target.name

    def emit(event: Event) -> object:
        if isinstance(event, LogLine) and event.kind == "failure":
            return io.emit(event.model_copy(update={"target": target, "text": f"{name}: {event.text}"}))
        if isinstance(event, StepProgress | ServiceTroubled):
            return io.emit(event.model_copy(update={"target": target, "message": f"{name}: {event.message}"}))
        return None

    return emit
