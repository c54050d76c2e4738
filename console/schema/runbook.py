"""A runbook file: variables and an ordered list of steps. What a step's own keys mean is the step kind's business."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict, Field, model_validator

from console.errors import InvalidFileError
from console.schema.experiment import ExperimentTable
from console.schema.names import Frozen, Name, Seconds
from console.schema.toml_file import check_schema, line_of, read_toml, validate

OnFailure = Literal["stop", "rollback"]
VarType = Literal["int", "float", "str", "bool"]
Value = str | int | float | bool


class Variable(Frozen):
    """A value the operator may set with --set."""

    type: VarType
    default: Value | None = None
    choices: tuple[Value, ...] = ()
    help: str = ""

    @model_validator(mode="after")
    def _default_fits(self) -> Variable:
        if self.default is not None:
            self.check(self.default)
        return self

    def check(self, value: Value) -> Value:
        """`value` as this variable's type. Raises ValueError saying what would fit."""
        kinds: Mapping[str, type | tuple[type, ...]] = {"int": int, "float": (int, float), "str": str, "bool": bool}
        if not isinstance(value, kinds[self.type]) or (isinstance(value, bool) and self.type != "bool"):
            raise ValueError(f"{value!r} is not of type {self.type}")
        if self.choices and value not in self.choices:
            raise ValueError(f"{value!r} is not one of {', '.join(map(str, self.choices))}")
        return value

    def parse(self, text: str) -> Value:
        """The value a word of the command line means. Raises ValueError."""
        if self.type == "bool":
            if text.lower() not in ("true", "false"):
                raise ValueError(f"{text!r} is not true or false")
            return self.check(text.lower() == "true")
        try:
            value: Value = {"int": int, "float": float, "str": str}[self.type](text)
        except ValueError:
            raise ValueError(f"{text!r} is not of type {self.type}") from None
        return self.check(value)


class StepTable(Frozen):
    """One [[step]] as written: the common keys, and the rest for its kind to judge."""

    model_config = ConfigDict(frozen=True, extra="allow")

    uses: str
    id: Name | None = None
    when: str | None = None
    timeout: Seconds | None = None
    on_failure: OnFailure | None = None

    @property
    def own(self) -> dict[str, Any]:
        """The keys that belong to the step kind."""
        return dict(self.model_extra or {})


class Runbook(Frozen):
    """The whole file. `text` and `sha256` are of its bytes, for the record."""

    schema_: Literal[1] = Field(alias="schema")
    name: Name
    title: str = ""
    targets: tuple[str, ...] = ()
    waves: tuple[int | str, ...] = ()
    stop_after: int = Field(default=1, ge=1)
    between_waves: Literal["go on", "ask"] = "go on"
    on_failure: OnFailure = "stop"
    confirm: str = ""
    guard: Seconds | None = None
    guard_if: Literal["not-serving", "unconfirmed"] = "not-serving"
    unattended: Literal["refuse", "proceed"] = "refuse"
    vars: Mapping[Name, Variable] = Field(default_factory=dict)
    experiment: ExperimentTable | None = None
    step: tuple[StepTable, ...]
    text: str = Field(default="", exclude=True)
    path: str = Field(default="", exclude=True)

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    def step_ids(self) -> list[str]:
        """The id of each step: its own, or its kind with a number where the kind repeats."""
        own = {step.id for step in self.step if step.id}
        ids: list[str] = []
        for step in self.step:
            base = step.id or step.uses.partition(".")[2] or step.uses
            name, number = base, 1
            while not step.id and (name in own or name in ids):
                number += 1
                name = f"{base}-{number}"
            ids.append(name)
        return ids


def parse_runbook(text: str, table: Mapping[str, Any], path: str) -> Runbook:
    """A runbook from its text and parsed table. Raises InvalidFileError."""
    check_schema(table, path=path)
    runbook = validate(Runbook, table, path=path, text=text)
    if not runbook.step:
        raise InvalidFileError("a runbook needs at least one [[step]]", where=path)
    seen: set[str] = set()
    for index, step in enumerate(runbook.step):
        if step.id in seen:
            line = line_of(text, ("step", index, "id"))
            raise InvalidFileError(f"two steps have the id {step.id!r}", where=f"{path}:{line}" if line else path)
        seen |= {step.id} if step.id else set()
    return runbook.model_copy(update={"text": text, "path": path})


def load_runbook(path: Path) -> Runbook:
    text, table = read_toml(path)
    return parse_runbook(text, table, str(path))
