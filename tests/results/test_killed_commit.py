"""Killed at every point of a commit: the repository is whole, nothing is swept in, and the record is committed once."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from console.errors import RepositoryBusyError
from console.results.git import Git
from console.results.repository import Repository
from console.schema.record import Record
from console.secrets import Redactor

GitCommand = Callable[..., str]
REDACTOR = Redactor()
POINTS = 50  # more than a commit has; the test says so when it is not


def killed_at(path: Path, record: Record, point: int) -> bool:
    """Commit in a process of its own that dies before its step number `point`; False where it has fewer.

    Steps are git commands, and what is done to the index and its lock; dying after one is dying before the next.
    """
    child = os.fork()
    if child == 0:
        count = 0

        def counted(real: Callable[..., Any]) -> Callable[..., Any]:
            def step(*words: Any, **options: Any) -> Any:
                nonlocal count
                count += 1
                if count == point:
                    os.kill(os.getpid(), signal.SIGKILL)
                return real(*words, **options)

            return step

        for owner, name in ((Git, "run"), (Git, "asked"), (os, "link"), (Path, "replace"), (Path, "unlink")):
            setattr(owner, name, counted(getattr(owner, name)))
        try:
            Repository(path, environment=os.environ).commit_target(record, REDACTOR)
        except BaseException:  # noqa: BLE001 - the parent sees the exit code
            os._exit(3)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)


def check(path: Path, record: Record, another: Record | None, git: GitCommand) -> None:
    """What must hold after any death: an operator's commit and another record take nothing along; then once.

    While the dead one's lock lies on the index nobody's git commits at all; the next console takes it away.
    """
    assert git("fsck", "--strict", "--no-dangling") == ""
    (path / "notes.md").write_text("a person's\n")
    repository = Repository(path, environment=os.environ, busy_patience_s=0.2)
    if locked := (path / ".git" / "index.lock").exists():
        repository.commit_target(another or record, REDACTOR)
        assert added(git) <= {(another or record).run}
    git("add", "notes.md")
    git("commit", "-q", "-m", "a person's")
    assert git("show", "--format=", "--name-status", "HEAD").split() == ["A", "notes.md"]
    if another and not locked:
        repository.commit_target(another, REDACTOR)
        assert added(git) == {another.run}
    repository.commit_target(record, REDACTOR)
    runs = git("log", "--format=%(trailers:key=Run-Id,valueonly)").split()
    assert sorted(runs) == sorted({one.run for one in (another, record) if one})
    assert git("status", "--porcelain") == ""


def added(git: GitCommand) -> set[str]:
    """The runs whose files the newest commit brings."""
    return {name.split("/")[3] for name in git("show", "--format=", "--name-only", "HEAD").split()}


def test_between_any_two_steps(tmp_path: Path, record: Record, git: GitCommand) -> None:
    another = record.model_copy(update={"run": "01KAYX5V000000000000000001"})
    for point in range(1, POINTS):
        path = tmp_path / str(point)

        def here(*words: str, path: Path = path) -> str:
            return git(*words, at=path)

        if not killed_at(path, record, point):
            return
        if not (path / ".git" / "HEAD").is_file():
            continue  # dead before there was a repository
        check(path, record, another if point % 3 == 0 else None, here)
    pytest.fail("a commit has more points than this test kills it at")


@pytest.mark.parametrize("hook", ["pre-commit", "prepare-commit-msg", "reference-transaction", "post-commit"])
def test_inside_git_itself(repository: Repository, results: Path, record: Record, git: GitCommand, hook: str) -> None:
    """git is killed with its locks held: they are named, never taken away by us; a person does that."""
    repository.open()
    path = results / ".git" / "hooks" / hook
    path.write_text('#!/bin/sh\nkill -9 "$PPID"\n')
    path.chmod(0o755)
    failed = None
    try:
        Repository(results, environment=os.environ, busy_patience_s=0.2).commit_target(record, REDACTOR)
    except Exception as error:  # noqa: BLE001 - which one depends on how far git came
        failed = error
    path.unlink()
    for _ in range(4):
        try:
            Repository(results, environment=os.environ, busy_patience_s=0.2).commit_target(record, REDACTOR)
        except RepositoryBusyError as busy:
            lock = re.search(r"rm (\S+?);", busy.hint)
            assert lock is not None
            Path(lock[1]).unlink()
        else:
            break
    assert git("fsck", "--strict", "--no-dangling") == ""
    assert git("log", "--format=%(trailers:key=Run-Id,valueonly)").split() == [record.run]
    assert git("status", "--porcelain") == ""
    assert (failed is None) == (hook == "post-commit")
