"""Times as events carry them, and ids that sort by time."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.clock import SystemClock, stamp, ulid

MOMENT = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
moments = st.datetimes(min_value=datetime(2000, 1, 1), max_value=datetime(2200, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001


def test_stamp_is_utc_with_milliseconds() -> None:
    assert stamp(MOMENT) == "2026-01-02T03:04:05.678Z"
    assert stamp(MOMENT.astimezone(timezone(timedelta(hours=5, minutes=30)))) == "2026-01-02T03:04:05.678Z"


def test_stamp_keeps_its_width_on_a_full_second() -> None:
    assert stamp(MOMENT.replace(microsecond=0)) == "2026-01-02T03:04:05.000Z"


def test_ulid_of_the_specification() -> None:
    # The time part of the ULID specification's own example.
    moment = datetime.fromtimestamp(1469918176.385, UTC)
    assert ulid(moment, bytes(10)) == "01ARYZ6S41" + "0" * 16
    assert ulid(moment, b"\xff" * 10) == "01ARYZ6S41" + "Z" * 16


@given(moments, moments, st.binary(min_size=10, max_size=10), st.binary(min_size=10, max_size=10))
def test_ulids_sort_as_their_times(first: datetime, second: datetime, one: bytes, two: bytes) -> None:
    a, b = ulid(first, one), ulid(second, two)
    assert len(a) == 26
    if int(first.timestamp() * 1000) < int(second.timestamp() * 1000):
        assert a < b


@pytest.mark.parametrize("size", [0, 9, 11])
def test_ulid_wants_ten_random_bytes(size: int) -> None:
    with pytest.raises(ValueError, match="10"):
        ulid(MOMENT, bytes(size))


async def test_a_fast_clock_measures_simulated_time() -> None:
    clock = SystemClock(speed=20.0)
    real, simulated = time.monotonic(), clock.monotonic()
    await clock.sleep(1.0)
    passed = time.monotonic() - real
    assert 0.04 < passed < 0.9
    assert clock.monotonic() - simulated == pytest.approx(passed * 20.0, rel=0.2)


def test_now_is_utc() -> None:
    assert SystemClock().now().tzinfo is UTC
