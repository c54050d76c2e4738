"""Engines that are only read: every row reads its own example."""

from __future__ import annotations

import pytest

from console.engines.logtable import Row, row_for
from console.engines.others_log import TABLES, read_log

ROWS = [(name, row) for name, table in TABLES.items() for row in table]


@pytest.mark.parametrize(("name", "row"), ROWS, ids=[f"{name} {row.kind} {row.cause}" for name, row in ROWS])
def test_the_example_of_a_row_is_read_by_that_row(name: str, row: Row) -> None:
    found = row_for(TABLES[name], row.example)
    assert found is not None
    assert found[0] is row
    assert (row.certainty > 0) == (row.kind == "failure")
    read = read_log(name, row.example)
    assert read is not None
    assert read.kind == row.kind


def test_what_any_python_process_dies_of_is_read_too() -> None:
    read = read_log("tgi", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.")
    assert read is not None
    assert read.kind == "failure"
