"""Is a long context still read? A code word is hidden at some depth of a long text and asked for at its end."""

from __future__ import annotations

import random
from dataclasses import dataclass

PLACES = ("harbour", "orchard", "library", "station", "quarry", "bakery", "theatre", "viaduct")


@dataclass(frozen=True)
class Hidden:
    """A prompt and the answer it hides. `depth`: 0 is the beginning of the text, 1 its end."""

    prompt: str
    code: str
    depth: float

    def found_in(self, answer: str) -> bool:
        return self.code in answer.replace(",", "").replace(" ", "")


def hidden(text: str, depth: float, chance: random.Random) -> Hidden:
    """The text with a sentence hidden at that depth, and the question.

    Five digits that no text has by chance; the question ends where only the code is missing, so that a model without a
    chat template goes on with it too.
    """
    place = chance.choice(PLACES)
    code = str(chance.randrange(10_000, 100_000))
    cut = text.find(" ", int(len(text) * depth))
    cut = len(text) if cut < 0 else cut
    needle = f" For the {place} the entry code is {code} . "
    question = f"\n\nAs the text above says, for the {place} the entry code is"
    return Hidden(f"{text[:cut]}{needle}{text[cut:]}{question}", code, depth)


def same_until(one: str, other: str) -> int:
    """After how many words two answers part; the number of words where they do not."""
    left, right = one.split(), other.split()
    for index, (a, b) in enumerate(zip(left, right, strict=False)):
        if a != b:
            return index
    return min(len(left), len(right))
