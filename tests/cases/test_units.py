"""Units as people write them: the edit that is meant and no other byte, or a refusal that names the place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from console.schema.splice import apply
from tests.cases.unit_cases import Judged, edit_of, engine_of, judge, rows, unit_of

CASES = Path(__file__).parent
JUDGED_UNITS = pytest.StashKey[list[Judged]]()

# Kinds that are tried twice: as they stand, which is a refusal, and asked for.
_ASKED = ("ADD", "GENERATED")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "row" not in metafunc.fixturenames:
        return
    given = metafunc.config.getoption("--cases", default=None)
    folder = (Path(given) if given else CASES) / "units"
    found = [
        pytest.param(folder, row, asked, id=f"{row['kind']}-{row['file']}{'-asked' if asked else ''}")
        for row in (rows(folder) if folder.is_dir() else ())
        for asked in ((False, True) if row["kind"] in _ASKED else (False,))
    ]
    metafunc.parametrize(("folder", "row", "asked"), found)


def test_a_unit(folder: Path, row: dict[str, Any], asked: bool, request: pytest.FixtureRequest) -> None:
    found = judge(folder, row, asked=asked)
    request.config.stash.setdefault(JUDGED_UNITS, []).append(found)
    assert found.verdict in ("right", "rightly refused"), found.said
    if found.verdict == "rightly refused" and not (row["kind"] in _ASKED and not asked):
        assert row.get("says") or "" in found.said
        assert not row.get("where") or found.said.endswith(f"[{row['where']}]")
    if found.verdict == "right" and "argv_after" in row:
        edit = edit_of(folder, row, asked=asked)
        assert list(edit.argv_before) == row["argv_before"]
        assert list(edit.argv_after) == row["argv_after"]
        assert edit.line == row["line"]


def test_the_second_time_there_is_nothing_to_do(folder: Path, row: dict[str, Any], asked: bool) -> None:
    if row.get("find") is None or (row["kind"] in _ASKED and not asked) or "source_path" in row:
        return  # a generated unit follows its source with the next daemon-reload only
    if judge(folder, row, asked=asked).verdict != "right":
        return
    edit = edit_of(folder, row, asked=asked)
    unit = unit_of(folder, row)
    after = unit.with_content(edit.path, apply(unit.content(edit.path), edit.splices))
    again = edit_of(folder, row | {"expect": "1"}, asked=asked, unit=after)
    assert again.already
    assert again.splices == ()
    assert engine_of(row).name


def test_every_file_of_our_own_is_used() -> None:
    folder = CASES / "units"
    own = list(rows(folder))
    used = {
        name
        for row in own
        for name in (
            row["file"],
            *row.get("dropins", ()),
            *row.get("files", {}).values(),
            *((row.get("companions") or "").replace(" ", "").split(",")),
        )
    } - {""}
    assert used == {path.name for path in folder.iterdir()} - {"expected.jsonl", "parser_cases.jsonl"}
    assert len(own) >= 100
