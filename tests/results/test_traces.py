"""A frozen trace is committed once, found by its name, and never changed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from console.errors import StateError
from console.measure.trace_files import frozen_of
from console.results import traces
from console.results.repository import Repository
from tests.analysis.workload.made_up import talks, write


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, check=True).stdout


def test_it_is_committed_once_beside_what_an_operator_staged(tmp_path: Path) -> None:
    head, requests, _ = frozen_of([write(tmp_path / "a.jsonl", talks(30))], "", "mine")
    repository = Repository(tmp_path / "results")
    sha = traces.keep(repository, head, requests)
    (repository.path / "notes.txt").write_text("staged")
    git(repository.path, "add", "notes.txt")
    assert traces.keep(Repository(tmp_path / "results"), head, requests) == sha
    assert git(repository.path, "log", "--format=%s").splitlines() == [
        f"traces/mine: 30 requests in {head.span_s:.0f} s, frozen"
    ]
    assert git(repository.path, "show", "--name-only", "--format=", "HEAD").split() == [
        "traces/mine/trace.json",
        "traces/mine/trace.jsonl",
    ]
    assert git(repository.path, "status", "--short") == "A  notes.txt\n"
    assert traces.load(traces.find(repository.path, "mine")) == (head, requests)


def test_another_trace_of_that_name_is_refused(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "results")
    for count, said in ((30, ""), (31, "mine is another trace")):
        head, requests, _ = frozen_of([write(tmp_path / "a.jsonl", talks(count))], "", "mine")
        if said:
            with pytest.raises(StateError, match=said):
                traces.keep(repository, head, requests)
        else:
            traces.keep(repository, head, requests)
    with pytest.raises(StateError, match="no frozen trace"):
        traces.load(traces.find(repository.path, "yours"))
