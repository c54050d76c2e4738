"""`history list` reads commits only: trailers are the audit."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from console.errors import StateError
from console.results.queries.list import list_records
from console.results.repository import Repository
from console.schema.outcome import Outcome
from console.schema.record import Record
from console.secrets import Redactor

GitCommand = Callable[..., str]


def other(record: Record, number: int, target: str = "gpu7/llm") -> Record:
    return record.model_copy(update={"run": f"01KAYX5V00000000000000{number:04d}", "target": target})


@pytest.fixture
def filled(repository: Repository, record: Record, git: GitCommand) -> Path:
    for number, target in enumerate(["gpu7/llm", "gpu8/llm", "gpu7/llm", "gpu7/small"]):
        repository.commit_target(other(record, number, target), Redactor())
    git("commit", "-q", "--allow-empty", "-m", "notes of a person\n\nRunbook: none\n")
    return repository.path


def test_newest_first_and_only_records(filled: Path) -> None:
    rows = list_records(filled, environment=os.environ)
    assert [row.run[-1] for row in rows] == ["3", "2", "1", "0"]
    first = rows[0]
    assert (first.target, first.runbook, first.outcome, first.operator) == (
        "gpu7/small",
        "extend-window",
        "verified",
        "casey",
    )
    assert first.changes == ("context_length 4096 -> 8192",)
    assert first.subject == "gpu7/small: context_length 4096 -> 8192, verified"
    assert first.at.endswith("Z")
    assert not first.simulated


def test_only_so_many(filled: Path) -> None:
    assert [row.run[-1] for row in list_records(filled, limit=2, environment=os.environ)] == ["3", "2"]


@pytest.mark.parametrize(("target", "runs"), [("gpu7/llm", "20"), ("gpu7", "320"), ("gpu8/llm", "1"), ("gpu9/llm", "")])
def test_of_one_target(filled: Path, target: str, runs: str) -> None:
    assert "".join(row.run[-1] for row in list_records(filled, target=target, environment=os.environ)) == runs


@pytest.mark.parametrize("target", ["../x", "a/b/c", "--all", "*"])
def test_what_is_no_target_is_no_pathspec(filled: Path, target: str) -> None:
    with pytest.raises(StateError, match="is not a target"):
        list_records(filled, target=target, environment=os.environ)


def test_all_trailers_of_a_row(repository: Repository, record: Record) -> None:
    repository.commit_target(
        record.model_copy(
            update={"reason": "why", "ticket": "T-1", "parent": "P", "simulated": True, "outcome": Outcome.ROLLED_BACK}
        ),
        Redactor(),
    )
    (row,) = list_records(repository.path, environment=os.environ)
    assert (row.reason, row.ticket, row.parent, row.simulated, row.outcome) == ("why", "T-1", "P", True, "rolled-back")
    assert row.findings[0].startswith("prompt_tokens 4160")


def test_no_repository_yet(tmp_path: Path) -> None:
    with pytest.raises(StateError, match="no results repository here yet"):
        list_records(tmp_path / "findings", environment=os.environ)


def test_no_commit_yet(repository: Repository) -> None:
    repository.open()
    assert list_records(repository.path, environment=os.environ) == []


def test_a_damaged_repository(repository: Repository, filled: Path) -> None:
    (filled / ".git" / "HEAD").write_text("garbage")
    with pytest.raises(StateError, match="git log"):
        list_records(filled, environment=os.environ)
