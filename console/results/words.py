"""Values as words of a trailer: bare where nothing in them could be misread, else quoted as JSON writes a string."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress

from console.errors import StateError
from console.untrusted import clean

ABSENT = "absent"
ARROW = "->"
LONGEST = 1000  # of a value's characters; what is longer is cut, with an ellipsis
_BARE = re.compile(r"[^\s\"]+")
_WORD = re.compile(r'(?:[^\s"=]+=)?"(?:[^"\\]|\\.)*"|\S+')
_CUT = "…"


def word(value: str | None) -> str:
    """A value as one word without blanks that stand for themselves; None is `absent`."""
    if value is None:
        return ABSENT
    text = cut(value)
    plain = _BARE.fullmatch(text) and text not in (ABSENT, ARROW) and clean(text) == text and text.isprintable()
    return text if plain else quoted(text)


def quoted(text: str) -> str:
    """A JSON string on one line; a second blank in a row is written out, for whoever folds blanks."""
    return re.sub(r"(?<= ) ", r"\\u0020", json.dumps(text))


def unword(text: str) -> str | None:
    """The value that `word` wrote. Raises StateError where it is no word of ours."""
    if text == ABSENT:
        return None
    if not text.startswith('"'):
        return text
    with suppress(ValueError):
        value = json.loads(text)
        if isinstance(value, str):
            return value
    raise StateError(f"{text!r} is not a value as a trailer writes it")


def unname(text: str) -> str:
    """As `unword`, where nothing can be absent."""
    value = unword(text)
    return ABSENT if value is None else value


def cut(value: str) -> str:
    """A value as long as a trailer keeps it."""
    return value if len(value) <= LONGEST else value[: LONGEST - 1] + _CUT


def split(text: str) -> list[str]:
    """The words of a trailer's value; blanks inside quotes do not part them."""
    return [match[0] for match in _WORD.finditer(text)]


def pair(key: str, value: str) -> str:
    """`key=value`, the value quoted where it must be."""
    return f"{key}={word(value)}"


def pairs(words: list[str]) -> Iterator[tuple[str, str]]:
    """`key=value` words apart; a word without a key comes with an empty one."""
    for one in words:
        key, equals, value = one.partition("=")
        if equals and not one.startswith('"') and key:
            yield key, unname(value)
        else:
            yield "", unname(one)
