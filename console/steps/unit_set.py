"""`unit.set`: change one setting in the file that decides it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

from pydantic import model_validator

from console.engines.registry import is_known_setting, known_settings
from console.schema.hosts import Target
from console.schema.names import nearest
from console.schema.runbook import Value
from console.settings.edit import plan_edit
from console.steps.base import Look, Proposal, Step


class UnitSet(Step):
    """Set a setting of the engine to a value.

    The edit goes to the file that decides it: unit, drop-in, environment file, wrapper or file of options
    (`settings.locate`); where that is a package's or also decides other units, to a drop-in of
    this unit alone. A value already at `to` is fine, whatever `expect` says.
    """

    uses: ClassVar[str] = "unit.set"
    changes: ClassVar[bool] = True
    summary: ClassVar[str] = "set a setting in the unit"

    setting: str | None = None  # engine-neutral; the engine spells it
    flag: str | None = None  # or a flag, verbatim
    to: Value  # as the file is to have it
    expect: Value | None = None  # refuse when the unit says something else
    when_absent: Literal["error", "add"] = "error"
    when_generated: Literal["error", "source"] = "error"  # source: edit the quadlet a unit is made from

    @model_validator(mode="after")
    def _one_of(self) -> UnitSet:
        if (self.setting is None) == (self.flag is None):
            raise ValueError("unit.set needs either setting = NAME or flag = WORD")
        if self.setting is not None and not is_known_setting(self.setting):
            raise ValueError(f"no engine has a setting {self.setting!r}{nearest(self.setting, known_settings())}")
        return self

    def title(self, target: Target) -> str:
        return f"set {self.setting or self.flag} to {word(self.to)}"

    def plan(self, look: Look) -> Iterator[Proposal]:
        yield plan_edit(
            look.unit,
            look.engine,
            setting=self.setting,
            flag=self.flag,
            to=word(self.to),
            expect=None if self.expect is None else word(self.expect),
            when_absent=self.when_absent,
            edit_source=self.when_generated == "source",
            own_file=True,
        )


def word(value: Value) -> str:
    """A TOML value as the word a command line has."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
