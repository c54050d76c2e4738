"""The parser cases against the systemd of this machine, where there is one that answers `--test`."""

from __future__ import annotations

import base64
import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from console.units.effective import EffectiveUnit, UnitSource
from console.units.notices import notices
from tests.units.agreement import differences
from tests.units.systemd_oracle import ask_systemd, is_there

CASES = Path(__file__).parent.parent / "cases/units/parser_cases.jsonl"


@pytest.fixture
def folder() -> Iterator[Path]:
    # Not tmp_path: another uid must reach it.
    with tempfile.TemporaryDirectory(prefix="units.") as found:
        yield Path(found)


def test_this_systemd_reads_the_cases_as_they_say(folder: Path) -> None:
    if not is_there():
        pytest.skip("no systemd here")
    cases = {f"{case['case']}.service": case for case in map(json.loads, CASES.read_text().splitlines())}
    contents = {name: base64.b64decode(case["bytes_b64"]) for name, case in cases.items()}
    answers = ask_systemd(folder, contents)
    if answers.get("bom.service") != ("loaded", ["/bin/x"]):
        pytest.skip("the systemd here does not answer --test")
    wrong: list[tuple[str, tuple[str, list[str]]]] = []
    for name, case in cases.items():
        state, commands = answer = answers.get(name, ("missing", []))
        unit = EffectiveUnit(name, (UnitSource(name, contents[name]),))
        is_fatal = any(notice.is_fatal for notice in notices(unit))
        if (state == "loaded") == is_fatal or (state == "loaded" and len(commands) != len(case["commands"])):
            wrong.append((name, answer))
        for words, shown in zip(case["commands"], commands, strict=False):
            # What systemd quotes for showing, or fills in, is left to the expected words of the case.
            if not re.search(r'["\\$%]', shown) and "%" not in "".join(words) and shown != " ".join(words):
                wrong.append((name, answer))
    assert wrong == []


def test_made_up_units_are_read_as_systemd_reads_them(folder: Path) -> None:
    """A sample; `python -m bench.units_like_systemd` does 200,000."""
    if not is_there():
        pytest.skip("no systemd here")
    if ask_systemd(folder, {"one.service": b"[Service]\nExecStart=/bin/true\n"}).get("one.service") != (
        "loaded",
        ["/bin/true"],
    ):
        pytest.skip("the systemd here does not answer --test")
    assert differences(folder, 1, 1000) == []
