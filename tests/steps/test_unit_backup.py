"""The step that only says where the backup lies."""

from __future__ import annotations

from console.steps.base import Look
from console.steps.unit_backup import UnitBackup
from tests.fakes import SGLANG, effective, facts, target


def test_it_proposes_nothing_and_names_the_folder() -> None:
    assert list(UnitBackup().plan(Look(target(), facts(), SGLANG, effective(""), "backup", "c1"))) == []
    here = target(state_folder="/srv/console/")
    assert UnitBackup().title(here) == "back up chat.service into /srv/console"
