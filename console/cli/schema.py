"""`console schema`: JSON schemas, so that an editor completes and checks our files."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from console.cli.output import Output

if TYPE_CHECKING:
    from pydantic import BaseModel


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", choices=["runbook", "hosts", "record", "plan", "tui"], help="which file's schema")


def run(arguments: argparse.Namespace, output: Output) -> int:
    output.data(json.dumps(schema_of(arguments.file), indent=2, ensure_ascii=False))
    return 0


def schema_of(file: str) -> dict[str, Any]:
    """The JSON schema of one of our files."""
    from console.schema.hosts import Inventory
    from console.schema.plan import PlanFile
    from console.schema.record import Record

    if file == "runbook":
        return runbook_schema()
    if file == "tui":
        from console.tui.preferences_file import PreferencesFile

        return PreferencesFile.model_json_schema(by_alias=True)
    models: dict[str, type[BaseModel]] = {"hosts": Inventory, "record": Record, "plan": PlanFile}
    return without_excluded(models[file], models[file].model_json_schema(by_alias=True))


def without_excluded(model: type[BaseModel], schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without the fields that we fill in ourselves."""
    for name, field in model.model_fields.items():
        if field.exclude:
            schema["properties"].pop(name)
    return schema


def runbook_schema() -> dict[str, Any]:
    """The runbook's schema with every step kind's own keys; a reference may stand for any value."""
    from console.schema.runbook import Runbook, StepTable
    from console.steps.registry import STEP_KINDS

    schema = without_excluded(Runbook, Runbook.model_json_schema(by_alias=True))
    common = StepTable.model_json_schema()["properties"]
    kinds = []
    for uses, kind in sorted(STEP_KINDS.items()):
        own = kind.model_json_schema()
        properties = {
            name: {"anyOf": [body, {"type": "string", "pattern": "\\{\\{.*\\}\\}"}]}
            for name, body in own.get("properties", {}).items()
        }
        kinds.append(
            {
                "title": uses,
                "description": kind.summary,
                "type": "object",
                "properties": common | properties | {"uses": {"const": uses}},
                "required": ["uses", *own.get("required", [])],
                "additionalProperties": False,
            }
        )
        schema["$defs"] |= own.get("$defs", {})
    schema["properties"]["step"]["items"] = {"oneOf": kinds}
    schema["$defs"].pop("StepTable", None)
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return schema
