"""Are calls of tools and JSON still what a program can read? Their form is judged, never whether they are wise."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

WEATHER: Mapping[str, Any] = {
    "name": "get_weather",
    "description": "Current weather of a city.",
    "parameters": {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
        },
        "required": ["city", "unit"],
    },
}
BOOKING: Mapping[str, Any] = {
    "name": "book_table",
    "description": "Book a table in a restaurant.",
    "parameters": {
        "type": "object",
        "properties": {
            "restaurant": {"type": "string"},
            "people": {"type": "integer"},
            "outside": {"type": "boolean"},
        },
        "required": ["restaurant", "people"],
    },
}
TOOLS = (WEATHER, BOOKING)
TOOL_QUESTIONS = (
    "What is the weather in Lisbon now, in celsius? Use a tool.",
    "Book a table for 4 people at the restaurant Harbour View, outside. Use a tool.",
    "I fly to Oslo tomorrow. How cold is it there, in fahrenheit? Use a tool.",
    "We are seven and want to eat at Old Mill tonight: please book it. Use a tool.",
)
# Each with the keys that its answer must have.
JSON_QUESTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ('Describe a bicycle as a JSON object with the keys "name", "wheels" and "colours" (a list). JSON only.',
     ("name", "wheels", "colours")),
    ('Give the capital and the population of Norway as a JSON object with "capital" and "population". JSON only.',
     ("capital", "population")),
    ('Split "Ada Lovelace, born 1815" into a JSON object with "first", "last" and "born". JSON only.',
     ("first", "last", "born")),
    ('Write three steps to make tea as a JSON object with "steps", a list of objects with "do". JSON only.',
     ("steps",)),
)  # fmt: skip

_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
}


def call_fault(calls: Sequence[tuple[str, str]], tools: Sequence[Mapping[str, Any]] = TOOLS) -> str:
    """What is wrong with calls of tools, each a name and the text of its arguments; empty where nothing is."""
    if not calls:
        return "no tool was called"
    known = {str(one["name"]): one["parameters"] for one in tools}
    for name, arguments in calls:
        if name not in known:
            return f"a tool that was not offered: {name[:40]}"
        fault = object_fault(arguments, known[name]["required"], known[name]["properties"])
        if fault:
            return f"{name}: {fault}"
    return ""


def object_fault(text: str, required: Sequence[str], properties: Mapping[str, Mapping[str, Any]] | None = None) -> str:
    """What is wrong with a text that should be one JSON object with these keys; empty where nothing is."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return "no JSON"
    if not isinstance(found, dict):
        return "no JSON object"
    missing = [key for key in required if key not in found]
    if missing:
        return f"without {', '.join(missing)}"
    for key, value in found.items():
        told = None if properties is None else properties.get(key)
        if properties is not None and told is None:
            return f"an argument that is none: {key[:40]}"
        if told is not None and (fault := _value_fault(value, told)):
            return f"{key} is {fault}"
    return ""


def _value_fault(value: object, told: Mapping[str, Any]) -> str:
    wanted = str(told.get("type", ""))
    # True is an int to Python, and no number to JSON.
    wrong = isinstance(value, bool) and wanted != "boolean"
    if wanted in _TYPES and (wrong or not isinstance(value, _TYPES[wanted])):
        return f"no {wanted}"
    if "enum" in told and value not in told["enum"]:
        return "none of those allowed"
    return ""
