"""A record, a real git repository, and git itself to ask."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from console.results.record import build_record
from console.results.repository import Repository
from console.runs.state import fold
from console.schema.record import Record
from tests.runs import stories
from tests.runs.stories import TARGET, Story

GitCommand = Callable[..., str]


def record_of(story: Story) -> Record:
    return build_record(fold(story.events), TARGET)


@pytest.fixture
def record() -> Record:
    return record_of(stories.verified())


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return tmp_path / "findings"


@pytest.fixture
def repository(results: Path) -> Repository:
    return Repository(results, environment=os.environ)


@pytest.fixture
def git(results: Path) -> GitCommand:
    """Run git in the results repository (or `at`); returns its standard output."""

    def run(*arguments: str, at: Path = results, data: str = "") -> str:
        done = subprocess.run(["git", *arguments], cwd=at, input=data.encode(), capture_output=True)
        assert done.returncode == 0, f"git {arguments}: {done.stderr!r}"
        return done.stdout.decode("utf-8", "replace")

    return run
