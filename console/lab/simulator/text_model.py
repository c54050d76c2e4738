"""Words to tokens and back, and how predictable a text is: enough of a model to be measured, none of its sense."""

from __future__ import annotations

import math
import re
import zlib
from array import array
from collections.abc import Iterable, Sequence
from typing import Any

from .options import Options

PIECE = re.compile(r"\w{1,6}|[^\w\s]")
VOCABULARY = 163_840
FIRST_WORD = 512  # ids below are special

SAMPLE = (
    "the request waits while the pool still holds tokens of an older prompt and each step reads all of them "
    "once so longer context costs time in a straight line until memory ends then the queue grows and "
    "people notice first that answers begin later after that they come slower nobody changed anything"
)


def tokenize(text: str) -> array[int]:
    """Pieces of at most six letters and single signs, each a token of its own; blanks cost nothing."""
    return array("I", (token_of(piece) for piece in PIECE.findall(text)))


def token_of(piece: str) -> int:
    return FIRST_WORD + zlib.crc32(piece.encode("utf-8", "surrogatepass")) % (VOCABULARY - FIRST_WORD)


PIECES = PIECE.findall(SAMPLE)
PIECE_TOKENS = [token_of(piece) for piece in PIECES]
STRIDES = [stride for stride in range(1, len(PIECES)) if math.gcd(stride, len(PIECES)) == 1]


class Reply:
    """The tokens an answer would have: the same for the same prompt, as at temperature 0."""

    def __init__(self, prompt: Sequence[int], recalled: Sequence[str] = ()) -> None:
        self.recalled = recalled  # what the answer begins with: something that stood in the prompt
        self.offset = zlib.crc32(bytes(memoryview(array("I", prompt[-64:])).cast("B"))) % len(PIECES)

    def tokens(self, start: int, end: int) -> list[int]:
        known = [token_of(piece) for piece in self.recalled[start:end]]
        return known + [PIECE_TOKENS[self.at(index)] for index in range(start + len(known), end)]

    def text(self, start: int, end: int) -> str:
        known = self.recalled[start:end]
        rest = (PIECES[self.at(index)] for index in range(start + len(known), end))
        return "".join(f" {piece}" for piece in (*known, *rest))

    def at(self, index: int) -> int:
        """Which piece of the sample is next. Each round goes through it with another stride: answers do not loop."""
        rounds, place = divmod(index, len(PIECES))
        return (self.offset + place * STRIDES[rounds % len(STRIDES)]) % len(PIECES)


def recall(words: Sequence[Any], *, forgets: bool) -> list[str]:
    """The word that followed the last RECALL words where they stood earlier in the prompt; a wrong one if it forgets.

    Only where the prompt ends as a question after a code does, `… code is`.
    """
    last = [str(word) for word in words[-RECALL:]]
    if last[-2:] != ["code", "is"]:
        return []
    for index in range(len(words) - RECALL - 1, RECALL - 1, -1):
        if words[index] == "is" and [str(word) for word in words[index + 1 - RECALL : index + 1]] == last:
            found = str(words[index + 1]).strip(".,;")
            return [found.translate(OTHER_DIGITS) if forgets else found]
    return []


RECALL = 5
OTHER_DIGITS = str.maketrans("0123456789", "1234567890")


def accept_length(options: Options, prompt_tokens: int, words: Sequence[Any]) -> float:
    """Tokens a step commits for this prompt: short, repetitive, or anything else."""
    if prompt_tokens < options.short_tokens:
        return options.accept_short
    last = words[-options.repetitive_words :]
    if len(set(last)) < options.repetitive_share * len(last):
        return options.accept_repetitive
    return options.accept_other


def chat_tokens(messages: Iterable[tuple[str, str]]) -> array[int]:
    """A conversation in the model's template: three special tokens around each message, two before the answer."""
    tokens = array("I")
    for role, content in messages:
        tokens.append(1)
        tokens.extend(tokenize(role))
        tokens.append(2)
        tokens.extend(tokenize(content))
        tokens.append(3)
    tokens.extend((1, 2))
    return tokens
