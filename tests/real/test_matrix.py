"""The interrupt matrix as far as every run of the tests can pay: all cells at a change's events, a tenth of the rest.

`make matrix` plays all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass

import pytest

from tests.hosts.fleet import Fleet
from tests.real.matrix import KINDS, Cell, Result, chosen, every_cell, playing, row

pytestmark = [pytest.mark.real_host(group="matrix"), pytest.mark.slow, pytest.mark.timeout(900)]

HOSTS = 5
SEED = 1
SHARE = 0.1
CHANGES = [f"change.{word} {kind}" for kind in ("file", "reload", "restart") for word in ("intended", "made")]


@dataclass(frozen=True)
class Played:
    cells: list[Cell]
    coming: list[Future[Result]]

    def wrong(self, cells: list[Cell]) -> list[str]:
        """What was wrong in these, when all of them were played."""
        results = [self.coming[self.cells.index(cell)].result() for cell in cells]
        return [row(result) for result in results if result.wrong]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    folder = tmp_path_factory.mktemp("matrix")
    with Fleet(HOSTS) as fleet:
        cells = chosen(every_cell(fleet.hosts[0], folder / "whole"), only="all", share=SHARE, seed=SEED)
        with playing(cells, fleet.hosts, folder) as coming:
            yield Played(cells, coming)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("label", CHANGES)
def test_interrupted_at_a_change(played: Played, label: str, kind: str) -> None:
    cells = [cell for cell in played.cells if (cell.label, cell.kind) == (label, kind)]
    assert cells
    assert played.wrong(cells) == []


def test_interrupted_anywhere_else(played: Played) -> None:
    cells = [cell for cell in played.cells if cell.label not in CHANGES]
    assert {cell.is_inside for cell in cells} == {True, False}
    assert not any(cell.of_a_change for cell in cells)
    assert played.wrong(cells) == []
