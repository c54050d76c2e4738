"""Restart an engine that runs in several places: stop it in all, the one that serves first, then start it in all.

A rank that is started while an old one still runs may join the old group, so nothing is started before all are down.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from console.changes import restart
from console.changes.base import Made, Seen
from console.errors import RestartedByOthersError, StepFailedError
from console.planning.nodes import restart_on
from console.remote.session import Reader, Remote
from console.remote.systemd import unit_state
from console.schema.change import RestartChange
from console.schema.facts import UnitState
from console.untrusted import one_line

# Longer than a unit's TimeoutStopSec is meant to be; systemd itself ends what does not stop by then.
STOP_PATIENCE_S = 900.0
POLL_S = 0.5
DOWN = ("inactive", "failed")


def parts(change: RestartChange) -> dict[str, RestartChange]:
    """Host → the restart as that host alone would see it, the serving one first and named by ""."""
    return {"": restart_on(change, None)} | {start.node: restart_on(change, start) for start in change.nodes}


async def look(change: RestartChange, reader: Reader) -> Seen:
    """Whether every rank is another start than before the change; unknown where some are, or some are down."""
    seen = set()
    for node, part in parts(change).items():
        state = await unit_state(reader.at(node), part.unit)
        seen.add("unknown" if state.active_state in (*DOWN, "deactivating") else restart.seen(state, part))
    return seen.pop() if len(seen) == 1 else "unknown"


async def make(change: RestartChange, remote: Remote, run: str) -> Made:
    """Stop all and start all. Raises RestartedByOthersError when somebody started a rank since the plan.

    It may be made again where it was made by half: then whatever runs is stopped once more.
    """
    alone = parts(change)
    hosts = {node: remote.at(node) for node in alone}
    states = {node: await unit_state(host, alone[node].unit) for node, host in hosts.items()}
    if not _by_half(alone, states):
        _as_planned(alone, states, hosts)
    ended = {node: (await unit_state(host, alone[node].unit)).invocation_id for node, host in hosts.items()}
    await _stop([(change.unit, remote)], run)
    await _stop([(alone[node].unit, host) for node, host in hosts.items() if node], run)
    for node, host in hosts.items():
        state = await unit_state(host, alone[node].unit)
        await restart.make(restart.from_now(alone[node], state), host, run)
    before = {"invocation": ended.pop(""), "nodes": ended}
    return Made(before, message=f"stopped in {len(hosts)} places, starts in all")


def _by_half(alone: dict[str, RestartChange], states: dict[str, UnitState]) -> bool:
    """Whether the ranks stand as a restart of ours leaves them: what serves ends first, and starts with all down."""
    down = {node for node, state in states.items() if state.active_state in (*DOWN, "deactivating")}
    if "" in down:
        return True
    seen = {node: restart.seen(states[node], part) for node, part in alone.items() if node not in down}
    return bool(down) and seen[""] == "after" and "before" not in seen.values()


def _as_planned(alone: dict[str, RestartChange], states: dict[str, UnitState], hosts: dict[str, Remote]) -> None:
    for node, part in alone.items():
        state = states[node]
        if state.invocation_id != part.invocation_before and state.n_restarts <= part.n_restarts_before:
            raise RestartedByOthersError(
                f"{part.unit} was started by somebody else: invocation {state.invocation_id or 'none'}, "
                f"planned {part.invocation_before or 'none'}",
                where=hosts[node].target.name,
            )


async def _stop(units: Sequence[tuple[str, Remote]], run: str) -> None:
    """Stopped, and seen to be down."""
    for unit, host in units:
        output = await host.act("act_halt.sh", unit, lock=run)
        if output.exit_status != 0:
            said = one_line(output.stderr.decode("utf-8", "replace"), 300)
            raise StepFailedError(f"stop was refused: {said or output.exit_status}", where=host.target.name)
    await asyncio.gather(*(_until_down(unit, host) for unit, host in units))


async def _until_down(unit: str, host: Remote) -> UnitState:
    deadline = host.clock.monotonic() + STOP_PATIENCE_S
    while True:
        state = await unit_state(host, unit)
        if state.active_state in DOWN and not state.job:
            return state
        if host.clock.monotonic() >= deadline:
            raise StepFailedError(
                f"{unit} did not stop within {STOP_PATIENCE_S:.0f} s ({state.active_state})",
                where=host.target.name,
                hint=f"systemctl status {unit} there; no other rank was started",
            )
        await host.clock.sleep(POLL_S)
