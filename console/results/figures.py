"""Figures and durations as records show them to people."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal


def figure(value: float | int | str) -> str:
    """A number with four significant digits, whole ones in full, never with an exponent; text as it is."""
    if not isinstance(value, float) or not math.isfinite(value):
        return str(value)
    if abs(value) >= 1000:
        return f"{value:.0f}"
    return format(Decimal(f"{value:.4g}"), "f")


# Endings of a figure's name that say its unit, the longest first.
_UNITS = (("_ms_per_token", "ms/token"), ("_tok_s", "tok/s"), ("_ms", "ms"), ("_percent", "%"), ("_s", "s"))


def named_figure(name: str, value: float) -> tuple[str, str]:
    """`step_time_ms` 34.02 → (`step_time`, `34.02ms`): the unit goes from the name to the value."""
    for ending, unit in _UNITS:
        if name.endswith(ending):
            return name.removesuffix(ending), f"{figure(value)}{unit}"
    return name, figure(value)


def main_figures(figures: Mapping[str, float]) -> list[tuple[str, str]]:
    """What a line shows of a finding's further figures: all but the bounds of their intervals."""
    shown = {name: value for name, value in figures.items() if "_low" not in name and "_high" not in name}
    return [named_figure(name, value) for name, value in shown.items()]


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
