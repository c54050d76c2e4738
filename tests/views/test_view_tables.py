from __future__ import annotations

from itertools import count, islice

from hypothesis import given
from hypothesis import strategies as st

from console.views.cells import cells
from console.views.tables import flowing, table

TEXT = st.text(max_size=60)


def test_rows_without_end_flow() -> None:
    rows = ((f"r{number}", "word " * 30) for number in count())
    lines = list(islice(flowing(("run", "what"), rows, width=40, wrapped=1), 2000))
    assert lines[0].split() == ["run", "what"]
    assert max(map(len, lines)) <= 40
    assert "r350 " in "\n".join(lines)  # past what decided the widths


def test_columns_are_as_wide_as_they_must_be() -> None:
    assert table(("name", "n"), [("a", "1"), ("bcdef", "100")], right=(1,)) == [
        "name     n",
        "a        1",
        "bcdef  100",
    ]


def test_the_widest_column_gives_way_and_one_that_must_not_does_not() -> None:
    rows = [("01K2EXAMPLE0000000000000AA", "w" * 40)]
    assert table((), rows, 40, whole=(0,)) == ["01K2EXAMPLE0000000000000AA  wwwwwwwwwww…"]


def test_a_wrapped_column_goes_on_below_itself() -> None:
    assert table((), [("a", "one two three"), ("b", "four")], 11, wrapped=1) == ["a  one two", "   three", "b  four"]


def test_nothing_makes_nothing() -> None:
    assert table((), []) == []


@given(st.lists(st.tuples(TEXT, TEXT, TEXT), max_size=6), st.integers(min_value=24, max_value=100))
def test_any_text_fits_and_keeps_to_its_row(rows: list[tuple[str, ...]], width: int) -> None:
    said = table(("a", "b", "c"), rows, width)
    assert len(said) == len(rows) + 1
    assert all(cells(line) <= width for line in said)
