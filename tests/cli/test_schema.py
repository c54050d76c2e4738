"""The JSON schemas editors are given: they say what the program says, and the shipped one is current."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from console.cli.main import run
from console.cli.schema import schema_of
from console.planning import lint
from console.steps.registry import STEP_KINDS

RUNBOOKS = Path(__file__).parents[2] / "runbooks"
SHIPPED = RUNBOOKS / "runbook.schema.json"
TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "null": type(None),
    "integer": int,
    "number": (int, float),
}


def fits(value: Any, schema: Any, root: dict[str, Any]) -> bool:
    """Whether a value is as a JSON schema says, as far as ours go."""
    if schema is True:
        return True
    if "$ref" in schema:
        return fits(value, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root)
    kind = schema.get("type")
    if kind and (not isinstance(value, TYPES[kind]) or (isinstance(value, bool) and kind != "boolean")):
        return False
    if "const" in schema and value != schema["const"]:
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    if "anyOf" in schema and not any(fits(value, each, root) for each in schema["anyOf"]):
        return False
    if "oneOf" in schema and sum(fits(value, each, root) for each in schema["oneOf"]) != 1:
        return False
    if isinstance(value, str) and "pattern" in schema and not re.search(schema["pattern"], value):
        return False
    if isinstance(value, list) and "items" in schema:
        return all(fits(item, schema["items"], root) for item in value)
    return not isinstance(value, dict) or _object_fits(value, schema, root)


def _object_fits(value: dict[str, Any], schema: Any, root: dict[str, Any]) -> bool:
    properties = schema.get("properties", {})
    others = schema.get("additionalProperties", True)
    return all(name in value for name in schema.get("required", [])) and all(
        fits(item, properties[name], root) if name in properties else others and fits(item, others, root)
        for name, item in value.items()
    )


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    return schema_of("runbook")


def test_the_shipped_schema_is_current() -> None:
    """Write it anew with `console schema runbook > runbooks/runbook.schema.json`."""
    expected = json.dumps(schema_of("runbook"), indent=2, ensure_ascii=False) + "\n"
    assert SHIPPED.read_text() == expected, "console schema runbook > runbooks/runbook.schema.json"


def test_the_command_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schema", "runbook"]) == 0
    assert capsys.readouterr().out == SHIPPED.read_text()


@pytest.mark.parametrize("path", sorted(RUNBOOKS.glob("*.toml")), ids=lambda path: path.name)
def test_every_shipped_runbook_names_it_and_is_as_it_says(path: Path, schema: dict[str, Any]) -> None:
    assert path.read_text().splitlines()[0] == "#:schema runbook.schema.json"
    assert fits(tomllib.loads(path.read_text()), schema, schema)


HEAD = 'schema = 1\nname = "x"\n'


@pytest.mark.parametrize(
    "text",
    [
        '[[step]]\nuses = "host.preflight"\n',
        '[[step]]\nuses = "service.wait_ready"\ntimeout = "1h30m"\nhard_timeout = 7200\n',
        '[vars]\nto = { type = "int", default = 7 }\n[[step]]\nuses = "unit.set"\nsetting = "port"\nto = "{{ to }}"\n',
        '[[step]]\nuses = "unit.set"\nflag = "--x"\nto = 0.5\nid = "a"\non_failure = "rollback"\n',
        '[[step]]\nuses = "host.command"\ncommand = "true"\nmutates = false\n',
    ],
)
def test_what_lint_accepts_the_schema_accepts(text: str, schema: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "book.toml"
    path.write_text(HEAD + text)
    lint.load(path)
    assert fits(tomllib.loads(HEAD + text), schema, schema)


@pytest.mark.parametrize(
    "text",
    [
        HEAD + '[[step]]\nuses = "unit.sett"\n',
        HEAD + '[[step]]\nuses = "service.restart"\nalways = 3\n',
        HEAD + '[[step]]\nuses = "service.restart"\nallways = true\n',
        HEAD + '[[step]]\nuses = "unit.set"\nsetting = "port"\n',
        HEAD + '[[step]]\nuses = "service.wait_ready"\ntimeout = "soon"\n',
        HEAD + 'text = "ours"\n[[step]]\nuses = "unit.backup"\n',
        HEAD + 'path = "ours"\n[[step]]\nuses = "unit.backup"\n',
        'name = "x"\n[[step]]\nuses = "unit.backup"\n',
        HEAD + '[vars]\na = { type = "number" }\n[[step]]\nuses = "unit.backup"\n',
    ],
)
def test_what_the_schema_refuses_lint_refuses(text: str, schema: dict[str, Any], tmp_path: Path) -> None:
    from console.errors import InvalidFileError

    path = tmp_path / "book.toml"
    path.write_text(text)
    with pytest.raises(InvalidFileError):
        lint.load(path)
    assert not fits(tomllib.loads(text), schema, schema)


def test_every_step_kind_is_there_with_its_summary(schema: dict[str, Any]) -> None:
    kinds = {each["title"]: each for each in schema["properties"]["step"]["items"]["oneOf"]}
    assert kinds.keys() == STEP_KINDS.keys()
    for name, kind in STEP_KINDS.items():
        assert kinds[name]["description"] == kind.summary
        assert kinds[name]["properties"].keys() >= set(kind.model_fields)


@pytest.mark.parametrize("file", ["runbook", "hosts", "record", "plan"])
def test_every_reference_inside_a_schema_leads_somewhere(file: str) -> None:
    whole = schema_of(file)
    for name in re.findall(r'"#/\$defs/([^"]+)"', json.dumps(whole)):
        assert name in whole["$defs"]


def test_an_inventory_is_as_its_schema_says() -> None:
    whole = schema_of("hosts")
    text = (Path(__file__).parents[2] / "hosts.toml").read_text()
    assert fits(tomllib.loads(text), whole, whole)
    assert not fits(tomllib.loads(text) | {"path": "/x"}, whole, whole)


RECORD = Path(__file__).parents[2] / "console" / "schema" / "record.schema.json"


def test_the_shipped_schema_of_a_record_is_current() -> None:
    """console schema record > console/schema/record.schema.json"""
    assert json.loads(RECORD.read_text()) == schema_of("record")


def test_a_record_is_as_its_schema_says() -> None:
    from tests.results.conftest import record_of
    from tests.runs import stories

    schema = json.loads(RECORD.read_text())
    for make in stories.ALL.values():
        assert fits(record_of(make()).model_dump(mode="json", by_alias=True), schema, schema)
