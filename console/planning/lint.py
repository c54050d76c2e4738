"""Everything that can be said of a runbook without asking a host."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from console.errors import InvalidFileError, UsageError
from console.planning import references, waves
from console.schema.names import nearest
from console.schema.runbook import Runbook, StepTable, Value, Variable, load_runbook
from console.schema.toml_file import line_of, validate
from console.steps.base import Step
from console.steps.registry import STEP_KINDS


def load(path: Path) -> Runbook:
    """A runbook that passed every check of `lint`. Raises InvalidFileError."""
    runbook = load_runbook(path)
    lint(runbook)
    return runbook


def lint(runbook: Runbook) -> None:
    """Check step kinds, their keys, references and conditions."""
    known = references.known_names(runbook.vars)
    references.check(runbook.confirm, known, where=f"{runbook.path}: confirm")
    defaults = {name: default_of(variable) for name, variable in runbook.vars.items()}
    for index, step in enumerate(runbook.step):
        where = location(runbook, index)
        kind = kind_of(step, where)
        references.check(step.own, known, where=where)
        if step.when is not None:
            name, _ = references.condition(step.when)
            if name not in known:
                raise InvalidFileError(f"when = {step.when!r}: unknown name{nearest(name, known)}", where=where)
        _check_keys(runbook, index, step, kind, defaults)
    waves.check(runbook.waves, runbook.path)


def kind_of(step: StepTable, where: str) -> type[Step]:
    kind = STEP_KINDS.get(step.uses)
    if kind is None:
        raise InvalidFileError(
            f"unknown step {step.uses!r}{nearest(step.uses, STEP_KINDS)}",
            where=where,
            hint=f"steps there are: {', '.join(sorted(STEP_KINDS))}",
        )
    return kind


def location(runbook: Runbook, index: int, *keys: str) -> str:
    line = line_of(runbook.text, ("step", index, *keys))
    return f"{runbook.path}:{line}" if line else f"{runbook.path}: step {index + 1}"


def default_of(variable: Variable) -> Value:
    """A variable's default, or an empty value of its type where it has none (checked at --set)."""
    if variable.default is not None:
        return variable.default
    empty: Mapping[str, Value] = {"int": 0, "float": 0.0, "str": "", "bool": False}
    return empty[variable.type]


def _check_keys(runbook: Runbook, index: int, step: StepTable, kind: type[Step], defaults: Mapping[str, Value]) -> None:
    """Keys and the types of literal values; what is a reference is checked once its value is known."""
    literal = {}
    for key, value in step.own.items():
        if key not in kind.model_fields:
            word = nearest(key, [*kind.model_fields, "when", "timeout", "id", "on_failure"])
            raise InvalidFileError(f"step {step.uses}: unknown key {key!r}{word}", where=location(runbook, index, key))
        has_reference = isinstance(value, str) and references.names_in(value)
        literal[key] = _stand_in(value, defaults) if has_reference else value
    try:
        kind.model_validate(literal)
    except ValidationError:
        if any(isinstance(value, str) and "{{" in value for value in step.own.values()):
            fields = {key: value for key, value in step.own.items() if not (isinstance(value, str) and "{{" in value)}
            _validate_fields(runbook, index, step, kind, fields)
            return
        validate(kind, literal, path=runbook.path, text=runbook.text, at=("step", index))


def _stand_in(value: str, defaults: Mapping[str, Value]) -> Any:
    names = references.names_in(value)
    values: dict[str, Any] = {name: defaults.get(name, 1) for name in names}
    return references.render(value, values)


def _validate_fields(
    runbook: Runbook, index: int, step: StepTable, kind: type[Step], fields: Mapping[str, Any]
) -> None:
    """Only the literal keys: errors of the others depend on values that are not known yet."""
    try:
        kind.model_validate(fields)
    except ValidationError as problem:
        for error in problem.errors(include_url=False):
            if error["loc"] and error["loc"][0] in fields and error["type"] != "missing":
                message = error["msg"].removeprefix("Value error, ")
                raise InvalidFileError(
                    f"step {step.uses}: {error['loc'][0]}: {message}",
                    where=location(runbook, index, str(error["loc"][0])),
                ) from None


def variables(runbook: Runbook, given: Mapping[str, str]) -> dict[str, Value]:
    """The runbook's variables with what --set gave. Raises UsageError naming the variable and the nearest spelling."""
    values: dict[str, Value] = {}
    for name, text in given.items():
        if name not in runbook.vars:
            listed = ", ".join(runbook.vars) or "none"
            raise UsageError(
                f"--set {name}: {runbook.name} has no such variable{nearest(name, runbook.vars)}",
                hint=f"variables: {listed}",
            )
        try:
            values[name] = runbook.vars[name].parse(text)
        except ValueError as error:
            raise UsageError(f"--set {name}: {error}") from None
    for name, variable in runbook.vars.items():
        if name not in values:
            if variable.default is None:
                raise UsageError(f"variable {name} has no default", hint=f"--set {name}={variable.type}")
            values[name] = variable.default
    return values
