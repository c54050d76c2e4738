"""`systemd.daemon_reload`: make systemd read the unit files again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from console.schema.change import ReloadChange
from console.schema.hosts import Target
from console.steps.base import Look, Proposal, Skip, Step


class SystemdDaemonReload(Step):
    """Reload when something needs it: a file of this run, or an edit that was there before."""

    uses: ClassVar[str] = "systemd.daemon_reload"
    changes: ClassVar[bool] = True
    summary: ClassVar[str] = "daemon-reload"

    def title(self, target: Target) -> str:
        return "daemon-reload"

    def plan(self, look: Look) -> Iterator[Proposal]:
        if look.reload_due:
            yield ReloadChange(id=look.change_id, step=look.step_id, unit=look.target.service.unit)
        else:
            yield Skip("systemd has read the files as they are")
