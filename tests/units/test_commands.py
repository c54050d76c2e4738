"""What systemd 252 answered for each input stands in the case file; `test_systemd_itself.py` asks it again."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from console.units.effective import EffectiveUnit, UnitSource
from console.units.environment import environment
from console.units.notices import notices

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent.parent / "cases/units/parser_cases.jsonl").read_text().splitlines()
]


@pytest.fixture(params=CASES, ids=lambda case: str(case["case"]))
def case(request: pytest.FixtureRequest) -> dict[str, Any]:
    found: dict[str, Any] = request.param
    return found


@pytest.fixture
def unit(case: dict[str, Any]) -> EffectiveUnit:
    return EffectiveUnit("case.service", (UnitSource("case.service", base64.b64decode(case["bytes_b64"])),))


def test_a_unit_that_loads_has_the_commands_systemd_reads(case: dict[str, Any], unit: EffectiveUnit) -> None:
    if case["state"] == "loaded":
        assert [command.argv for command in unit.commands()] == case["commands"]


def test_a_unit_that_does_not_load_is_told(case: dict[str, Any], unit: EffectiveUnit) -> None:
    assert any(notice.is_fatal for notice in notices(unit)) == (case["state"] != "loaded")


def test_what_happens_silently_is_told_with_its_line(case: dict[str, Any], unit: EffectiveUnit) -> None:
    assert [[notice.line, notice.kind] for notice in notices(unit)] == case["notices"]


def test_the_environment_is_what_systemd_keeps(case: dict[str, Any], unit: EffectiveUnit) -> None:
    assert {variable.name: variable.value for variable in environment(unit)} == case["environment"]


def test_every_word_knows_the_bytes_it_is_written_with() -> None:
    content = b"[Service]\nExecStart=-/bin/x --a=\"1 2\" \\\n  'b'c \\x41 ; /bin/y d\n"
    unit = EffectiveUnit("x.service", (UnitSource("/x", content),))
    written = [[content[word.start : word.end] for word in command.words] for command in unit.commands()]
    assert written == [[b"-/bin/x", b'--a="1 2"', b"'b'c", b"\\x41"], [b"/bin/y", b"d"]]
    first, second = unit.commands()
    assert (first.prefixes, first.line, second.line) == ("-", 2, 3)
    low, high = first.words[1].spans[4]
    assert content[low:high] == b"1"


def test_variables_and_specifiers_are_known_and_left() -> None:
    content = b"[Service]\nExecStart=/bin/x $A ${B}c $$D e$F %i%% :\n"
    words = EffectiveUnit("x.service", (UnitSource("/x", content),)).commands()[0].words
    assert [word.variables for word in words] == [(), ("A",), ("B",), (), (), (), ()]
    assert [word.specifiers for word in words] == [(), (), (), (), (), ("i",), ()]
    assert [word.literal for word in words] == [True, False, False, False, False, False, True]
    assert [word.splits for word in words] == [False, True, False, False, False, False, False]


def test_a_colon_makes_dollars_ordinary() -> None:
    content = b"[Service]\nExecStart=:/bin/x $A ${B}\n"
    words = EffectiveUnit("x.service", (UnitSource("/x", content),)).commands()[0].words
    assert all(word.literal and not word.variables for word in words)
