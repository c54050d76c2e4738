"""Prompts by class of text: a small corpus of our own, made as long as a cell needs without repeating itself."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Literal, get_args

TextClass = Literal["short", "repetitive", "prose", "code", "analysis"]
TEXT_CLASSES: tuple[TextClass, ...] = get_args(TextClass)

# Fewer characters than a token has on average in any of the classes, so that a text comes out long enough.
CHARACTERS_A_TOKEN = 6
# What a model is asked for after a text that was cut anywhere: nothing, it goes on writing.
DEFAULT_TOKENS: Mapping[TextClass, int | None] = {
    "short": None,  # as long as it is
    "repetitive": 1024,
    "prose": 1024,
    "code": 1024,
    "analysis": 1024,
}
_SLOT = re.compile(r"\{(\w+)\}")


def text_of(text_class: TextClass, tokens: int | None, *, nonce: str = "") -> str:
    """Text of a class, at least `tokens` long by any tokenizer's count; None: as long as the class is by itself.

    `nonce` stands at its very beginning, so that two texts with different ones share nothing in a prefix cache. The
    same arguments give the same text.
    """
    head = f"{nonce} " if nonce else ""
    if text_class == "short":
        lines = corpus("short")
        return head + lines[0]
    wanted = (tokens or DEFAULT_TOKENS[text_class] or 0) * CHARACTERS_A_TOKEN
    pieces = [head]
    length = len(head)
    for piece in _pieces(text_class):
        pieces.append(piece)
        length += len(piece)
        if length >= wanted:
            break
    return "".join(pieces)


def custom(text: str, tokens: int | None, *, nonce: str = "") -> str:
    """A text of the operator's own, from `--prompt-file`; repeated with a number where it is too short."""
    head = f"{nonce} " if nonce else ""
    pieces = [head, text]
    wanted = (tokens or 0) * CHARACTERS_A_TOKEN
    number = 1
    while sum(map(len, pieces)) < wanted:
        number += 1
        pieces.append(f"\n\n[{number}]\n{text}")
    return "".join(pieces)


@cache
def corpus(text_class: TextClass) -> tuple[str, ...]:
    """The pieces a class is made of: sentences, or blocks of code."""
    whole = (resources.files("console.measure") / "corpus" / f"{text_class}.txt").read_text(encoding="utf-8")
    parts = whole.strip().split("\n\n") if text_class == "code" else whole.strip().split("\n")
    return tuple(parts)


@cache
def words() -> Mapping[str, tuple[str, ...]]:
    """What a slot may hold, by its name."""
    whole = (resources.files("console.measure") / "corpus" / "words.txt").read_text(encoding="utf-8")
    named = (line.partition(":") for line in whole.splitlines())
    return {name: tuple(rest.split()) for name, _, rest in named}


def _pieces(text_class: TextClass) -> Iterator[str]:
    """Endless: the pieces in ever new order with ever new words in their slots."""
    chance = random.Random(text_class)  # noqa: S311 - the same text every time, nothing secret
    between = "\n\n" if text_class == "code" else "\n" if text_class in ("repetitive", "analysis") else " "
    order = list(corpus(text_class))
    while True:
        for piece in order:
            yield _filled(piece, chance) + between
        chance.shuffle(order)


def _filled(piece: str, chance: random.Random) -> str:
    """Every slot filled; within one piece the same noun stays the same, as it would in code."""
    chosen = {name: chance.choice(known) for name, known in words().items()}
    chosen["Noun"] = chosen["noun"].title()

    def fill(match: re.Match[str]) -> str:
        name = match[1]
        return str(chance.randrange(2, 98)) if name == "n" else chosen.get(name, match[0])

    return _SLOT.sub(fill, piece.replace("{{", "\0").replace("}}", "\1")).replace("\0", "{").replace("\1", "}")
