"""One cell of a CSV file that people open in a spreadsheet."""

from __future__ import annotations


def text(value: object) -> str:
    """A value as a cell; one that begins like a formula is no formula."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    said = str(value)
    return f"'{said}" if said[:1] in ("=", "+", "-", "@") else said
