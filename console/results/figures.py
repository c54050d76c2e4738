"""Figures and durations as records show them to people."""

from __future__ import annotations

import math
from decimal import Decimal


def figure(value: float | int | str) -> str:
    """A number with four significant digits, whole ones in full, never with an exponent; text as it is."""
    if not isinstance(value, float) or not math.isfinite(value):
        return str(value)
    if abs(value) >= 1000:
        return f"{value:.0f}"
    return format(Decimal(f"{value:.4g}"), "f")


def span(seconds: float) -> str:
    """`0.4 s`, `12 s`, `3 min 12 s`, `1 h 5 min`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
