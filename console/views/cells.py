"""Text in terminal cells: wide characters take two, combining ones none."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from console.untrusted import clean

ELLIPSIS = "…"


def cells(text: str) -> int:
    """How many columns of a terminal `text` takes."""
    if text.isascii():
        return len(text)
    return sum(_cells(character) for character in text)


def _cells(character: str) -> int:
    if character < "\u0300":
        return 1
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def cut(text: str, width: int) -> str:
    """`text` in at most `width` cells; what is cut off shows as an ellipsis."""
    if cells(text) <= width:
        return text
    return _head(text, max(0, width - 1)) + ELLIPSIS if width > 0 else ""


def pad(text: str, width: int, *, right: bool = False) -> str:
    """`text` in exactly `width` cells; `right` puts it at the right end."""
    text = cut(text, width)
    blanks = " " * (width - cells(text))
    return blanks + text if right else text + blanks


def wrap(text: str, width: int, *, first: str = "", rest: str | None = None) -> list[str]:
    """Lines of at most `width` cells: the first behind `first`, the others behind `rest` (default: as many blanks).

    Cleaned; lines of `text` stay lines, blanks run together, words that are longer than a line are cut into pieces.
    """
    hanging = " " * cells(first) if rest is None else rest
    room = max(8, width - max(cells(first), cells(hanging)))
    lines: list[str] = []
    for paragraph in clean(text.replace("\r\n", "\n")).split("\n") or [""]:
        lines.extend(_fill(paragraph.split(), room))
    return [(first if index == 0 else hanging) + line for index, line in enumerate(lines or [""])]


def _fill(words: list[str], room: int) -> Iterator[str]:
    line: list[str] = []
    used = 0
    for word in words:
        for piece in _pieces(word, room):
            size = cells(piece)
            if line and used + 1 + size > room:
                yield " ".join(line)
                line, used = [], 0
            used += size + (1 if line else 0)
            line.append(piece)
    if line:
        yield " ".join(line)


def _pieces(word: str, room: int) -> Iterator[str]:
    while cells(word) > room:
        head = _head(word, room)
        slash = head.rfind("/") + 1
        # A path reads best when it is cut between its folders.
        head = head[:slash] if slash > len(head) // 2 else head
        yield head
        word = word[len(head) :]
    if word:
        yield word


def _head(text: str, room: int) -> str:
    """The longest beginning of `text` in at most `room` cells."""
    if text.isascii():
        return text[:room]
    used = 0
    for index, character in enumerate(text):
        used += _cells(character)
        if used > room:
            return text[:index]
    return text
