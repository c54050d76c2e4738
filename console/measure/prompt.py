"""A prompt of exactly the size that was asked for, by the engine's own tokenizer."""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass

from console.measure import prompts
from console.measure.bench import Bench


@dataclass(frozen=True)
class Prompt:
    """`sent` are token ids where the engine told them, else text, whose size then only the answer tells."""

    text_class: str
    sent: str | tuple[int, ...]
    tokens: int | None  # of `sent`; None for text
    asked_tokens: int | None
    sha256: str

    def beginning_otherwise(self, chance: random.Random) -> str | tuple[int, ...]:
        """As long, and nothing of it is in a prefix cache."""
        if isinstance(self.sent, str):
            return f"{chance.getrandbits(40):010x} {self.sent}"
        return (*chance.choices(self.sent, k=min(8, len(self.sent))), *self.sent[8:])


@dataclass
class Source:
    """Prompts of one measurement. Texts of a class share their beginning, so a longer one primes the shorter.

    `own` is the text of --prompt-file, of the class `own`.
    """

    bench: Bench
    own: str = ""

    def __post_init__(self) -> None:
        self._known: dict[tuple[str, bool], tuple[int, ...]] = {}

    async def prompt(self, text_class: str, tokens: int | None, *, nonce: str = "") -> Prompt:
        """The first `tokens` tokens of a class's text after its nonce; all of it where none are asked for."""
        if text_class == "short":
            tokens = None
        text = self._text(text_class, tokens, nonce)
        digest = hashlib.sha256(text.encode()).hexdigest()
        ids = self._known.get((text_class, bool(nonce)))
        if ids is None or len(ids) < (tokens or 0):
            ids = await self.bench.tokens_of(text)
            if ids is None:
                return Prompt(text_class, text, None, tokens, digest)
            self._known[text_class, bool(nonce)] = ids
        cut = ids[: tokens or self._usual(text_class)]
        return Prompt(text_class, cut, len(cut), tokens, digest)

    def _text(self, text_class: str, tokens: int | None, nonce: str) -> str:
        if text_class == "own":
            return prompts.custom(self.own, tokens, nonce=nonce)
        return prompts.text_of(class_named(text_class), tokens, nonce=nonce)

    def _usual(self, text_class: str) -> int | None:
        return None if text_class == "own" else prompts.DEFAULT_TOKENS[class_named(text_class)]


def class_named(name: str) -> prompts.TextClass:
    """Raises KeyError for a name that is no class of text."""
    for known in prompts.TEXT_CLASSES:
        if known == name:
            return known
    raise KeyError(name)
