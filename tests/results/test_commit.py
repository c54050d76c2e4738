"""A commit made of git's objects is what `git commit` would have made, whatever else lies in the repository."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from console.results.commit import MARK
from console.results.git import Answer, Git
from console.results.repository import Repository
from console.schema.record import Record
from console.secrets import Redactor

GitCommand = Callable[..., str]
REDACTOR = Redactor()
ODD = (b"notes.md", b"gpu7/notes \xff\"'.md", b"gpu7/llm/na\tme.md", b"gpu7/llm/2026/\xc3\xa4\\.md")


def numbered(record: Record, number: int) -> Record:
    return record.model_copy(update={"run": f"01KAYX5V0000000000000{number:05d}"})


@pytest.fixture
def furnished(repository: Repository, results: Path, record: Record, git: GitCommand) -> Path:
    """A repository with a record, and files of a person's with odd names beside it on every level."""
    repository.commit_target(numbered(record, 1), REDACTOR)
    for name in ODD:
        (results / os.fsdecode(name)).write_text("a person's\n")
    git("add", "-A")
    git("commit", "-q", "-m", "a person's files")
    return results


def test_the_same_tree_as_by_git_commit(
    furnished: Path, repository: Repository, record: Record, git: GitCommand, tmp_path: Path
) -> None:
    other = tmp_path / "by-hook"
    git("clone", "-q", str(furnished), str(other))
    hook = other / ".git" / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\nexit 0\n")
    hook.chmod(0o755)
    one = numbered(record, 2)
    repository.commit_target(one, REDACTOR)
    Repository(other, push="never", environment=os.environ).commit_target(one, REDACTOR)
    form = "--format=%T%n%an%n%ae%n%aI%n%B"
    assert git("log", "-1", form) == git("log", "-1", form, at=other)
    assert git("status", "--porcelain") == git("status", "--porcelain", at=other) == ""
    assert git("reflog", "-1", "--format=%gs") == git("reflog", "-1", "--format=%gs", at=other)
    assert git("fsck", "--strict", "--no-dangling") == ""


def test_attributes_are_heeded(repository: Repository, results: Path, record: Record, git: GitCommand) -> None:
    repository.open()
    (results / ".gitattributes").write_text("report.md text eol=crlf\n")
    repository.commit_target(numbered(record, 1), REDACTOR)
    assert git("status", "--porcelain").split() == ["??", ".gitattributes"]


def test_a_branch_that_moves_meanwhile_keeps_both(
    furnished: Path, record: Record, git: GitCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = Repository(furnished, environment=os.environ)
    repository.open()
    real = Git.run
    done: list[str] = []

    def run(self: Git, *words: str, **options: Any) -> Answer:
        if words[0] == "commit-tree" and not done:
            done.append(words[0])
            git("commit", "-q", "--allow-empty", "-m", "a person's")
        return real(self, *words, **options)

    monkeypatch.setattr(Git, "run", run)
    repository.commit_target(numbered(record, 2), REDACTOR)
    assert git("log", "-2", "--format=%s").splitlines()[1] == "a person's"
    assert git("status", "--porcelain") == ""


@pytest.mark.parametrize("moved", [False, True])
def test_what_a_dead_console_left_is_finished_by_the_next(
    furnished: Path, record: Record, git: GitCommand, moved: bool
) -> None:
    """Dead with the index locked, before and after the branch moved; a lock of anybody else's stays."""
    one = numbered(record, 2)
    repository = Repository(furnished, environment=os.environ, busy_patience_s=0.2)
    repository.commit_target(one, REDACTOR)
    folder = f"gpu7/llm/{one.started_at[:4]}/{one.run}"
    git("rm", "-q", "--cached", "-r", folder)
    if not moved:
        git("update-ref", "HEAD", "HEAD~1")
    lock = furnished / ".git" / "index.lock"
    lock.write_bytes(MARK + folder.encode() + b"\n")
    repository.commit_target(numbered(record, 3), REDACTOR)
    assert not lock.exists()
    assert git("status", "--porcelain") == ("" if moved else f"?? {folder}/\n")
    repository.commit_target(one, REDACTOR)
    assert git("status", "--porcelain") == ""
    assert len(git("log", "--format=%(trailers:key=Run-Id,valueonly)").split()) == 3
