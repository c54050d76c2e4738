"""A task of a fabfile is planned from the file's text alone; nothing of it runs before its turn."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from console.errors import RefusedError
from console.remote import fabric
from console.schema.change import FabricChange
from console.steps import fabric_task
from console.steps.base import Look
from console.steps.fabric_task import FabricTask
from tests.fakes import SGLANG, effective, facts, target

FABFILE = """\
from fabric import task

raise SystemExit("loaded while planning")

@task
def warm_up(c, rounds=1):
    print("warm")

@task
def cool(c):
    pass
"""


@pytest.fixture
def fabfile(tmp_path: Path) -> Path:
    path = tmp_path / "fabfile.py"
    path.write_text(FABFILE)
    return path


def planned(path: Path, **fields: Any) -> FabricChange:
    unit = effective("[Service]\nExecStart=/bin/true\n")
    step = FabricTask.model_validate({"file": str(path), "task": "warm-up"} | fields)
    (change,) = step.plan(Look(target(), facts(), SGLANG, unit, "task", "c1"))
    assert isinstance(change, FabricChange)
    return change


def test_it_holds_all_that_makes_it(fabfile: Path) -> None:
    change = planned(fabfile, args={"rounds": 3}, undo="cool")
    assert (change.file, change.task, change.args, change.undo) == (str(fabfile), "warm-up", {"rounds": 3}, "cool")
    assert change.sha256 == hashlib.sha256(FABFILE.encode()).hexdigest()
    assert change.command == "fab warm-up --rounds=3"


@pytest.mark.parametrize(
    ("fields", "said"), [({"task": "warm"}, "no task 'warm'"), ({"undo": "heat"}, "no task 'heat'")]
)
def test_a_task_that_is_not_there(fabfile: Path, fields: dict[str, str], said: str) -> None:
    with pytest.raises(RefusedError, match=said):
        planned(fabfile, **fields)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="fabfile cannot be read"):
        planned(tmp_path / "none.py")


def test_without_fabric_it_says_what_to_install(fabfile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fabric_task, "installed", lambda: False)
    with pytest.raises(RefusedError, match=r"pip install 'console\[fabric\]'"):
        planned(fabfile)


def test_an_edited_file_is_not_loaded(fabfile: Path) -> None:
    with pytest.raises(RefusedError, match="edited since it was planned"):
        fabric.load(fabfile, "0" * 64, fabric.Said())


def test_what_a_task_prints_is_kept_from_stdout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "fabfile.py"
    path.write_text("from fabric import task\n\n@task\ndef warm_up(c):\n    print('warm', 1)\n    return 'done'\n")
    said = fabric.Said()
    module = fabric.load(path, hashlib.sha256(path.read_bytes()).hexdigest(), said)
    task = fabric.named(module, "warm-up")
    from fabric import Connection

    assert task(Connection("none.invalid")) == "done"
    assert said.lines() == ["warm 1"]
    assert capsys.readouterr().out == ""
