"""A runbook's variables and the names of its steps."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.schema.runbook import Runbook, Value, Variable, load_runbook

CASE = Path(__file__).parent.parent / "cases" / "schema" / "runbook.toml"


@pytest.fixture
def runbook() -> Runbook:
    return load_runbook(CASE)


def test_what_it_says(runbook: Runbook) -> None:
    assert (runbook.name, runbook.on_failure, runbook.unattended) == ("raise-window", "stop", "refuse")
    assert [step.uses for step in runbook.step] == ["unit.set", "unit.set", "service.restart"]
    assert runbook.step[0].own == {"setting": "context_length", "to": "{{ to }}"}
    assert runbook.step[2].timeout == 300.0
    assert runbook.path == str(CASE)


def test_its_digest_is_of_its_bytes(runbook: Runbook, tmp_path: Path) -> None:
    other = tmp_path / "r.toml"
    other.write_text(CASE.read_text() + "# a comment\n")
    assert len(runbook.sha256) == 64
    assert load_runbook(other).sha256 != runbook.sha256


def test_steps_without_an_id_are_named_after_their_kind() -> None:
    kinds = ["unit.set", "service.restart", "unit.set", "unit.set", "host.preflight"]
    runbook = Runbook.model_validate({"schema": 1, "name": "x", "step": [{"uses": kind} for kind in kinds]})
    assert runbook.step_ids() == ["set", "restart", "set-2", "set-3", "preflight"]


def test_a_step_keeps_its_own_id_and_no_two_have_one_name() -> None:
    steps = [
        {"uses": "unit.set"},
        {"uses": "unit.set", "id": "set-2"},
        {"uses": "unit.set"},
        {"uses": "x.set", "id": "set"},
    ]
    ids = Runbook.model_validate({"schema": 1, "name": "x", "step": steps}).step_ids()
    assert ids == ["set-3", "set-2", "set-4", "set"]


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("int", "200000", 200000),
        ("int", "-1", -1),
        ("float", "0.92", 0.92),
        ("float", "1", 1.0),
        ("str", "", ""),
        ("str", "fp8_e4m3", "fp8_e4m3"),
        ("bool", "true", True),
        ("bool", "False", False),
    ],
)
def test_a_word_of_the_command_line_as_a_value(kind: str, text: str, value: Value) -> None:
    parsed = Variable.model_validate({"type": kind}).parse(text)
    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize(
    ("kind", "text"), [("int", "1.5"), ("int", "many"), ("int", ""), ("float", "x"), ("bool", "yes"), ("bool", "1")]
)
def test_a_word_of_another_type(kind: str, text: str) -> None:
    with pytest.raises(ValueError, match=r"is not (of type|true or false)"):
        Variable.model_validate({"type": kind}).parse(text)


def test_a_word_that_is_no_choice() -> None:
    with pytest.raises(ValueError, match="'run' is not one of serve, start"):
        Variable(type="str", choices=("serve", "start")).parse("run")
