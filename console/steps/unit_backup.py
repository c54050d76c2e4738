"""`unit.backup`: keep the files that decide the unit in the ledger on the host."""

from __future__ import annotations

from typing import ClassVar

from console.schema.hosts import Target
from console.steps.base import Step


class UnitBackup(Step):
    """Say in the runbook where the backup happens.

    The runner writes a backup before any change, with or without this step; the step shows where it lies.
    """

    uses: ClassVar[str] = "unit.backup"
    summary: ClassVar[str] = "back up the files that decide the unit"

    def title(self, target: Target) -> str:
        return f"back up {target.service.unit} into {target.host.state_folder}"
