"""Which earlier loads a gate compares with: the newest, a run's, or the baseline of a name, which stays the first."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from console.results.queries import loads
from console.results.queries.accept import accept_by_class
from console.results.queries.loads import known_loads
from console.schema.loads import Level
from tests.results.test_decode_law import committed

# Newest first: run, target, runbook, streams of what it measured (0: nothing).
ROWS = [
    ("01D", "gpu1/k26", "measure-load sha256:d", 4),
    ("01C", "gpu1/k26", "measure-baseline.golden sha256:c", 3),
    ("01B", "gpu1/k26", "measure-baseline.golden sha256:b", 2),
    ("01A", "gpu2/k26", "measure-baseline.golden sha256:a", 1),
    ("019", "gpu1/k26", "measure-baseline.golden sha256:9", 0),
    ("018", "gpu1/k26", "measure-baseline.gold sha256:8", 9),
]


@pytest.mark.parametrize(
    ("against", "streams"),
    [("newest", [4]), ("01B", [2]), ("baseline golden", [2]), ("baseline gold", [9]), ("baseline old", []), ("02", [])],
)
def test_what_is_compared_with(monkeypatch: pytest.MonkeyPatch, against: str, streams: list[int]) -> None:
    rows = [SimpleNamespace(run=run, target=target, lines={"runbook": [book]}, n=n) for run, target, book, n in ROWS]
    monkeypatch.setattr(loads, "History", lambda *_: SimpleNamespace(rows=lambda: rows))
    monkeypatch.setattr(
        loads, "record_of", lambda _, row: SimpleNamespace(loads=[Level(streams=row.n)] if row.n else [])
    )
    assert [one.streams for one in known_loads(Path(), "gpu1/k26", against)] == streams


def test_commits_by_class_of_text_are_the_newest_of_each(tmp_path: Path) -> None:
    assert accept_by_class(committed(tmp_path), "gpu1/k26") == {"repetitive": 7.85}
    assert accept_by_class(tmp_path / "nothing", "gpu1/k26") == {}
