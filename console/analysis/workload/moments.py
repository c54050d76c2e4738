"""Moments as traces write them, as microseconds: epochs in any unit, and ISO 8601 with or without a zone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from console.analysis.workload.column_map import TimeUnit

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
SCALE = {"s": 1_000_000.0, "ms": 1_000.0, "us": 1.0}


def moment_us(value: object, unit: TimeUnit) -> tuple[int, bool]:
    """Microseconds, and whether a zone was said (numbers need none). Without one it is taken as UTC.

    Digits of a second beyond the sixth are cut. Raises ValueError.
    """
    if isinstance(value, bool) or value is None:
        raise ValueError("no time")
    if unit == "iso":
        text = str(value).strip()
        try:
            at = datetime.fromisoformat(text)
        except ValueError:
            raise ValueError(f"not a time: {text[:40]!r}") from None
        zoned = at.tzinfo is not None
        return (at if zoned else at.replace(tzinfo=UTC)).__sub__(EPOCH) // MICROSECOND, zoned
    if unit == "ns":
        return int(str(value)) // 1000, True
    number = float(str(value))
    if number != number or abs(number) > 1e17:
        raise ValueError(f"not a time: {str(value)[:40]!r}")
    return round(number * SCALE[unit]), True


def tokens(value: object, what: str, longest: int) -> int:
    """A length. Raises ValueError for what is none: text, a fraction, below 0, or absurdly long."""
    if isinstance(value, bool) or value is None or value == "":
        raise ValueError(f"no {what}")
    try:
        number = int(value) if isinstance(value, (int, str)) else float(str(value))
    except ValueError:
        try:
            number = float(str(value))
        except ValueError:
            raise ValueError(f"{what} is not a number") from None
    if number != int(number) if abs(number) < 1e18 else True:
        raise ValueError(f"{what} is not a whole number")
    if number < 0:
        raise ValueError(f"{what} is below 0")
    if number > longest:
        raise ValueError(f"absurd {what}, above {longest:,} tokens")
    return int(number)
