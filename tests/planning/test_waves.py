"""Waves cover every target once, and the stop rule holds over the whole run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.errors import InvalidFileError
from console.planning.waves import StopRule, check, share, sizes

WAVES = st.lists(st.one_of(st.integers(1, 40), st.integers(1, 100).map(lambda share: f"{share}%")), max_size=5)


@pytest.mark.parametrize(
    ("waves", "count", "expected"),
    [
        ([1, "25%", "100%"], 12, [1, 3, 8]),
        ([1, "25%", "100%"], 1, [1]),
        ([1, "25%"], 9, [1, 3, 3, 2]),
        (["100%"], 5, [5]),
        ([], 3, [1, 1, 1]),
        ([2], 5, [2, 2, 1]),
        (["1%"], 3, [1, 1, 1]),
        ([1], 0, []),
    ],
)
def test_sizes(waves: list[int | str], count: int, expected: list[int]) -> None:
    assert sizes(waves, count) == expected


@given(WAVES, st.integers(0, 300))
def test_every_target_has_one_turn(waves: list[int | str], count: int) -> None:
    found = sizes(waves, count)
    assert sum(found) == count
    assert all(size >= 1 for size in found)
    if waves and count:
        assert found[0] == min(count, share(waves[0], count))


@given(st.integers(1, 10), st.lists(st.booleans(), max_size=60))
def test_after_the_last_allowed_failure_none_is_begun(stop_after: int, fates: list[bool]) -> None:
    rule, begun = StopRule(stop_after), 0
    for well in fates:
        if rule.stopped:
            break
        begun += 1
        rule.ended(well=well)
    failures = fates[:begun].count(False)
    assert failures <= stop_after
    assert begun == len(fates) or failures == stop_after


@pytest.mark.parametrize("wave", ["rest", "0%", "101%", "-1", 0, "1"])
def test_what_is_no_wave_is_refused(wave: int | str) -> None:
    with pytest.raises(InvalidFileError, match="waves"):
        check([1, wave], "book.toml")
