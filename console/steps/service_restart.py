"""`service.restart`: let a new process run what is on disk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from console.schema.change import RestartChange
from console.schema.hosts import Target
from console.steps.base import Look, Proposal, Skip, Step


class ServiceRestart(Step):
    """Restart when what runs differs from what will be on disk; `always` restarts in any case."""

    uses: ClassVar[str] = "service.restart"
    changes: ClassVar[bool] = True
    summary: ClassVar[str] = "restart the service"

    always: bool = False

    def title(self, target: Target) -> str:
        return f"restart {target.service.unit}"

    def plan(self, look: Look) -> Iterator[Proposal]:
        unit = look.facts.unit
        if not (self.always or look.restart_due):
            yield Skip("what runs is what the files say")
            return
        # A unit in start-limit-hit refuses a manual restart until its counter is reset (systemd#10529).
        yield RestartChange(
            id=look.change_id,
            step=look.step_id,
            unit=look.target.service.unit,
            invocation_before=unit.invocation_id,
            n_restarts_before=unit.n_restarts,
            reset_failed=unit.active_state == "failed" or unit.result == "start-limit-hit",
            summary=f"restart {look.target.service.unit}",
        )
