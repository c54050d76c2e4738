"""Durations, counts and times of day as every view writes them."""

from __future__ import annotations


def duration(seconds: float) -> str:
    """Short and aligned well: `0.2s`, `48s`, `12m05s`, `1h05m`."""
    if seconds < 9.95:
        return f"{max(0.0, seconds):.1f}s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    return f"{whole // 3600}h{whole % 3600 // 60:02d}m"


def number(value: float | int | str | None) -> str:
    """A figure with separators in thousands from five digits on; text as it is."""
    if value is None:
        return "n/a"
    if isinstance(value, bool | str):
        return str(value)
    if isinstance(value, int) or value.is_integer():
        return f"{int(value):,}" if abs(value) >= 10000 else str(int(value))
    return f"{value:,.4g}" if abs(value) < 10000 else f"{value:,.0f}"


def clock(stamp: str) -> str:
    """The time of day of an RFC 3339 stamp, to the minute: `03:02Z`."""
    return f"{stamp[11:16]}Z" if len(stamp) >= 16 and stamp[10] == "T" else stamp


def clock_s(stamp: str) -> str:
    """The time of day of an RFC 3339 stamp, to the second: `03:02:11Z`."""
    return f"{stamp[11:19]}Z" if len(stamp) >= 19 and stamp[10] == "T" else stamp


def day(stamp: str) -> str:
    """Date and minute of an RFC 3339 stamp: `2026-01-02 03:04Z`."""
    return f"{stamp[:10]} {clock(stamp)}" if len(stamp) >= 16 and stamp[10] == "T" else stamp


def bar(done: float, total: float, width: int = 16) -> str:
    """`[####....]`: how much of it is done."""
    share = min(1.0, max(0.0, done / total)) if total > 0 else 0.0
    filled = int(share * width)
    return f"[{'#' * filled}{'.' * (width - filled)}]"
