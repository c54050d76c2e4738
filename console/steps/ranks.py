"""The ranks of an engine that serve nothing themselves: whether they start, and run what their files say."""

from __future__ import annotations

from console.errors import NotReadyError, NotServedError
from console.remote.systemd import unit_state
from console.schema.facts import Facts
from console.steps.base import StepIO
from console.steps.levels import levels_of, same

# Looks between two of them: what serves cannot be ready before they are, so they matter where one never will be.
EVERY_LOOKS = 5


async def still_start(io: StepIO) -> None:
    """Raises NotReadyError for a rank that is down or starts again and again: what serves would wait for it."""
    for reader in (each for each in io.reader.nodes if not each.target.part):
        unit = reader.target.service.unit
        state = await unit_state(reader, unit, patience_s=5.0)
        if state.active_state in ("failed", "inactive") or (io.restarted and state.n_restarts > 0):
            raise NotReadyError(
                f"rank {reader.target.rank} does not run: {unit} is {state.active_state}/{state.sub_state}, "
                f"restarted {state.n_restarts} times",
                where=reader.target.name,
                hint=f"journalctl -u {unit} -n 200 there",
            )


def run_it(io: StepIO, facts: Facts) -> None:
    """Raises NotServedError where a rank is not up, or runs something else than was asked for."""
    for seen in (each for each in facts.nodes if not each.part):
        unit, restarts = seen.unit, seen.unit.n_restarts if io.restarted else 0
        if unit.active_state != "active" or restarts:
            said = f"{unit.id} is {unit.active_state}, restarted {restarts} times by systemd"
            raise NotServedError(said, where=seen.target, hint=f"journalctl -u {unit.id} -n 200 there")
        if not seen.process.pid:
            raise NotServedError(f"no rank runs in {unit.id}: {seen.process.reason}", where=seen.target)
        for name, wanted in io.expected.items():
            level = levels_of(seen, io.engine, name)
            for place, there in (("on disk", level.disk), ("in the running process", level.running)):
                if there.value is not None and not same(io.engine, name, there.value, wanted):
                    raise NotServedError(f"{name} is {wanted} at rank 0 and {there.value} {place}", where=seen.target)
