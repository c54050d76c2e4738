"""An error in a file of ours names the file, the line, the key and the nearest right spelling."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.errors import InvalidFileError
from console.schema.hosts import load_inventory
from console.schema.runbook import load_runbook
from console.schema.toml_file import line_of, read_toml

CASES = Path(__file__).parent.parent / "cases" / "schema"
LOADERS = {"hosts": load_inventory, "runbook": load_runbook}


def cases() -> list[Any]:
    found = []
    for kind in LOADERS:
        for line in (CASES / f"{kind}_errors.jsonl").read_text().splitlines():
            case = json.loads(line)
            found.append(pytest.param(kind, case, id=f"{kind}: {case['why']}"))
    return found


@pytest.mark.parametrize(("kind", "case"), cases())
def test_error_says_where_and_what(kind: str, case: dict[str, Any], tmp_path: Path) -> None:
    text = (CASES / f"{kind}.toml").read_text()
    assert case["old"] in text
    path = tmp_path / f"{kind}.toml"
    path.write_text(text.replace(case["old"], case["new"], 1))
    with pytest.raises(InvalidFileError) as caught:
        LOADERS[kind](path)
    assert case["said"] in caught.value.message
    assert caught.value.where == (f"{path}:{case['line']}" if case["line"] else str(path))
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("kind", LOADERS)
def test_as_they_stand_they_are_valid(kind: str) -> None:
    LOADERS[kind](CASES / f"{kind}.toml")


def test_a_runbook_needs_a_step(tmp_path: Path) -> None:
    path = tmp_path / "r.toml"
    path.write_text('schema = 1\nname = "x"\nstep = []\n')
    with pytest.raises(InvalidFileError, match=r"at least one \[\[step\]\]"):
        load_runbook(path)
    path.write_text('schema = 1\nname = "x"\n\n[step]\nuses = "unit.set"\n')
    with pytest.raises(InvalidFileError, match=r"write \[\[step\]\]") as caught:
        load_runbook(path)
    assert caught.value.where == f"{path}:4"


class TestReading:
    def test_no_such_file(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidFileError, match="no such file"):
            read_toml(tmp_path / "none.toml")

    def test_a_name_nearly_right(self, tmp_path: Path) -> None:
        (tmp_path / "extend_context.toml").touch()
        with pytest.raises(InvalidFileError, match=r"no such file; did you mean 'extend_context\.toml'\?"):
            read_toml(tmp_path / "extend_contxt.toml")

    def test_not_text(self, tmp_path: Path) -> None:
        (tmp_path / "x.toml").write_bytes(b"schema = 1\n# \xff\n")
        with pytest.raises(InvalidFileError, match="not UTF-8 at byte 13"):
            read_toml(tmp_path / "x.toml")

    def test_a_folder(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidFileError, match="Is a directory"):
            read_toml(tmp_path)


class TestLineOf:
    TEXT = (CASES / "runbook.toml").read_text()

    @pytest.mark.parametrize(
        ("keys", "line"),
        [
            (("name",), 2),
            (("vars", "require"), 11),
            (("vars", "require", "choices", 1), 11),
            (("step", 0, "to"), 16),
            (("step", 1), 18),
            (("step", 1, "id"), 20),
            (("step", 1, "nothing"), 18),
            (("step", 2, "timeout"), 25),
            (("step",), 13),
            (("step", 7), 13),
            (("nothing",), None),
        ],
    )
    def test_of_a_key(self, keys: tuple[str | int, ...], line: int | None) -> None:
        assert line_of(self.TEXT, keys) == line

    def test_of_tables_inside_the_tables_of_a_list(self) -> None:
        text = '[[step]]\n[step.env]\na = 1\n[[step]]\n[step.env]\na = 2\n"quo.ted" = 3\n'
        assert line_of(text, ("step", 0, "env", "a")) == 3
        assert line_of(text, ("step", 1, "env", "a")) == 6
        assert line_of(text, ("step", 1, "env", "quo.ted")) == 7

    @given(st.text(), st.lists(st.one_of(st.text(max_size=5), st.integers(0, 3)), max_size=4))
    def test_of_any_text(self, text: str, keys: list[str | int]) -> None:
        line = line_of(text, tuple(keys))
        assert line is None or 1 <= line <= len(text.splitlines())
