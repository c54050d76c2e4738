"""Parsed elsewhere and folded here in order, a trace has the same totals; what is missing is said."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from console import __version__
from console.errors import RefusedError, UnreachableError, UsageError
from console.measure import trace_files
from console.measure.dask_workers import on_dask
from console.measure.trace_files import profile_of
from tests.analysis.workload.made_up import talks, write


class Cluster:
    """What is used of a Dask client, with two threads that finish out of order."""

    version = __version__

    def __init__(self, address: str, **_: Any) -> None:
        if "nowhere" in address:
            raise OSError("Timed out trying to connect")
        self.waiting: list[Callable[[], Any]] = []
        self.most = 0

    def run(self, function: Callable[[], str]) -> dict[str, str]:
        function()
        return {"tcp://w1": __version__, "tcp://w2": self.version} if self.version else {}

    def nthreads(self) -> dict[str, int]:
        return {"tcp://w1": 1, "tcp://w2": 1}

    def submit(self, function: Callable[..., Any], *words: Any, pure: bool) -> Any:
        self.waiting.append(lambda: function(*words))
        self.most = max(self.most, len(self.waiting))
        job = self.waiting[-1]

        def result() -> Any:
            self.waiting.remove(job)
            return job()

        return SimpleNamespace(result=result)

    def close(self) -> None:
        assert not self.waiting


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> type[Cluster]:
    monkeypatch.setitem(sys.modules, "distributed", SimpleNamespace(Client=Cluster))
    return Cluster


def test_the_same_totals(cluster: type[Cluster], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.jsonl", talks(1500))
    monkeypatch.setattr(trace_files.pieces, "__kwdefaults__", {"size": 10_000})
    with on_dask("tcp://here") as parsed:
        assert profile_of([path], parsed=parsed) == profile_of([path])


def test_what_is_missing_is_said(cluster: type[Cluster], monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnreachableError, match="no Dask scheduler"), on_dask("tcp://nowhere"):
        pass
    monkeypatch.setattr(cluster, "version", "0.0.1")
    with pytest.raises(RefusedError, match=r"worker tcp://w2 has console 0\.0\.1"), on_dask("tcp://here"):
        pass
    monkeypatch.setattr(cluster, "version", "")
    with pytest.raises(RefusedError, match="no worker"), on_dask("tcp://here"):
        pass
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UsageError, match="needs Dask"), on_dask("tcp://here"):
        pass
