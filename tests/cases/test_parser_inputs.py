"""Small unit texts with systemd's own answer: whether they load, the words of their commands, their environment."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from console.settings.specifiers import specifiers
from console.units.effective import EffectiveUnit, UnitSource
from console.units.environment import environment
from console.units.notices import notices
from tests.units.systemd_oracle import shown

CASES = Path(__file__).parent
LEAST = 30


def inputs(folder: Path) -> list[dict[str, Any]]:
    """The rows of `parser_cases.jsonl`, which stands in the folder or beside its units."""
    for path in (folder / "parser_cases.jsonl", folder / "units" / "parser_cases.jsonl"):
        if path.is_file():
            return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return []


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "given" in metafunc.fixturenames:
        folder = metafunc.config.getoption("--cases", default=None)
        found = inputs(Path(folder) if folder else CASES)
        metafunc.parametrize("given", found, ids=[str(each["case"]) for each in found])


def test_a_text_is_read_as_systemd_reads_it(given: dict[str, Any]) -> None:
    name = f"{given['case']}.service"
    unit = EffectiveUnit(name, (UnitSource(name, base64.b64decode(given["bytes_b64"])),))
    state = given["state"] if isinstance(given["state"], str) else (given["state"] or [""])[0]
    loads = not any(notice.is_fatal for notice in notices(unit))
    assert loads == (state == "loaded")
    if not loads:
        return
    ours = [[specifiers(word, name) or word for word in command.argv] for command in unit.commands()]
    if given["commands"] and given["commands"][0][0].startswith("Exec"):  # as `systemd --test` shows them
        assert [shown(words) for words in ours] == [text for key, text in given["commands"] if key == "ExecStart"]
    else:
        assert [list(command.argv) for command in unit.commands()] == given["commands"]
    if isinstance(given.get("environment"), dict):
        assert {each.name: each.value for each in environment(unit)} == given["environment"]


def test_there_are_enough_of_our_own() -> None:
    assert len(inputs(CASES)) >= LEAST
