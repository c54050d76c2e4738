"""A runbook's mistakes are found without a host, and named with file, line and the nearest right spelling."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.errors import InvalidFileError, UsageError
from console.planning import lint

HEAD = 'schema = 1\nname = "x"\n'
SET = '[[step]]\nuses = "unit.set"\nsetting = "context_length"\nto = 1\n'


def load(tmp_path: Path, text: str) -> object:
    path = tmp_path / "book.toml"
    path.write_text(text)
    return lint.load(path)


def test_every_shipped_runbook_passes() -> None:
    books = sorted((Path(__file__).parents[2] / "runbooks").glob("*.toml"))
    assert books
    for book in books:
        lint.load(book)


@pytest.mark.parametrize(
    ("text", "said", "line"),
    [
        (HEAD + '[[step]]\nuses = "unit.sett"\n', "unknown step 'unit.sett'; did you mean 'unit.set'", 3),
        (HEAD + SET + 'expekt = "1"\n', "unknown key 'expekt'; did you mean 'expect'", 7),
        (HEAD + SET.replace("to = 1", 'to = "{{ too }}"'), "unknown reference 'too'", 3),
        (HEAD + '[[step]]\nuses = "service.verify"\nprobe = "ful"\n', "probe", 5),
        (HEAD + '[[step]]\nuses = "unit.set"\nto = 1\n', "either setting = NAME or flag = WORD", 3),
        (HEAD + '[[step]]\nuses = "service.restart"\nwhen = "nothing"\n', "unknown name", 3),
        (HEAD + 'wave = ["1"]\n' + SET, "unknown key 'wave'.*did you mean 'waves'", 3),
        (HEAD + 'waves = ["1", "rest"]\n' + SET, "waves", None),
        (HEAD, "step is missing", None),
        ('name = "x"\n' + SET, "must start with 'schema = 1'", None),
        (HEAD.replace("1", "2") + SET, "reads up to 1", None),
        (HEAD + '[vars]\na = { type = "int", default = "x" }\n' + SET, "not of type int", None),
        (HEAD + "[[step]\n", "Expected", 3),
        (HEAD + '[[step]]\nuses = "service.wait_ready"\ntimeout = "soon"\n', "not a duration", 5),
        (HEAD + '[[step]]\nuses = "capacity.guess"\n', "unknown step", 3),
    ],
)
def test_mistakes(tmp_path: Path, text: str, said: str, line: int | None) -> None:
    with pytest.raises(InvalidFileError, match=said) as caught:
        load(tmp_path, text)
    assert caught.value.exit_code == 2
    assert "book.toml" in caught.value.where
    if line is not None:
        assert caught.value.where.endswith(f":{line}")


def test_set_names_the_nearest_variable(tmp_path: Path) -> None:
    runbook = lint.load(Path(__file__).parents[2] / "runbooks" / "extend_context.toml")
    with pytest.raises(UsageError, match="did you mean 'mem_fraction'"):
        lint.variables(runbook, {"memfraction": "1"})
    with pytest.raises(UsageError, match="not of type int"):
        lint.variables(runbook, {"to": "many"})
    with pytest.raises(UsageError, match="not one of serve, start"):
        lint.variables(runbook, {"require": "hope"})
    assert lint.variables(runbook, {"to": "65536"})["to"] == 65536


def test_step_ids_are_unique() -> None:
    runbook = lint.load(Path(__file__).parents[2] / "runbooks" / "extend_context.toml")
    ids = runbook.step_ids()
    assert len(ids) == len(set(ids))
    assert ids[5:8] == ["set", "set-2", "set-3"]
