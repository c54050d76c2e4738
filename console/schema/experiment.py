"""The `[experiment]` table of a runbook: what is wanted, and the arms that are tried for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from console.schema.names import Frozen, Name, Seconds

Value = str | int | float | bool


class ExperimentTable(Frozen):
    """`arms`: name → variables that it sets, one change each. The base arm is the variables as given.

    `restarts` of each side of a comparison; `most_restarts` and `budget` end the experiment, 0 never does.
    `inconclusive`: what becomes of an arm of which nothing can be told; `stop` ends the experiment there.
    """

    objective: str = Field(min_length=1)
    restarts: int = Field(default=3, ge=2, le=50)
    most_restarts: int = Field(default=0, ge=0)
    budget: Seconds = Field(default=0.0, ge=0)
    until_met: bool = False
    inconclusive: Literal["roll back", "keep", "stop"] = "roll back"
    arms: Mapping[Name, Mapping[Name, Value]] = Field(min_length=1)
