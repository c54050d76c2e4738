"""`service.restart`: let a new process run what is on disk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from console.schema.change import RestartChange
from console.schema.facts import UnitState
from console.schema.hosts import Target
from console.steps.base import Look, Proposal, Skip, Step


class ServiceRestart(Step):
    """Restart when what runs differs from what will be on disk; `always` restarts in any case."""

    uses: ClassVar[str] = "service.restart"
    changes: ClassVar[bool] = True
    summary: ClassVar[str] = "restart the service"

    always: bool = False

    def title(self, target: Target) -> str:
        return target.restart_words

    def plan(self, look: Look) -> Iterator[Proposal]:
        unit = look.facts.unit
        if not (self.always or look.restart_due):
            yield Skip("what runs is what the files say")
            return
        yield RestartChange(
            id=look.change_id,
            step=look.step_id,
            unit=look.target.service.unit,
            invocation_before=unit.invocation_id,
            n_restarts_before=unit.n_restarts,
            job_before=unit.job,
            reset_failed=may_hit_start_limit(unit),
            summary=f"restart {look.target.service.unit}",
        )


def may_hit_start_limit(unit: UnitState) -> bool:
    """Whether earlier starts may have used up the limit: then systemd refuses ours, too (systemd#10529).

    In a crash loop the unit is `activating` or even `active` between two crashes, not `failed`.
    """
    return (
        unit.active_state == "failed"
        or unit.result == "start-limit-hit"
        or unit.sub_state.startswith("auto-restart")
        or unit.n_restarts > 0
    )
