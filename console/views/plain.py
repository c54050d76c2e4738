"""Text for a terminal that has nothing but ASCII."""

from __future__ import annotations

from console.views.cells import cells

_INSTEAD = {
    "…": "~",
    "→": ">",
    "←": "<",
    "–": "-",
    "—": "-",
    "×": "x",
    "±": "~",
    "µ": "u",
    "≤": "<",
    "≥": ">",
    "·": ".",
    "•": "*",
    "│": "|",
    "─": "-",
    "’": "'",
    "“": '"',
    "”": '"',
}
_TABLE = str.maketrans(_INSTEAD)


def to_ascii(text: str) -> str:
    """One character for each, so that columns stay where they are; what has no likeness becomes a question mark.

    A character that takes two cells becomes two question marks.
    """
    if text.isascii():
        return text
    known = text.translate(_TABLE)
    return "".join(one if one.isascii() else "?" * cells(one) for one in known)
