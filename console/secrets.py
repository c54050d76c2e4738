"""Secrets are masked by type, by name and by value in everything that leaves the program's memory."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

MASK = "***"

# Names whose values are secret wherever they stand: flags, environment variables, JSON keys, Python reprs.
_SECRET_NAMES = (
    r"(?:api[-_]?keys?|auth[-_]?tokens?|tokens?|passwords?|passwd|secrets?|credentials?"
    r"|access[-_]?keys?|private[-_]?keys?)"
)
# Names that only look secret: counts and paths of tokens and tokenizers.
_INNOCENT = re.compile(
    r"(?i)(max|num|min|total|new|draft|prompt|completion|context|output|input|cached|pool|batch|prefill|chunk|pad|eos|bos|mask|"
    r"stop|special|per|skip|of|budget|reasoning|top)[-_a-z]*[-_]?tokens?|tokens?[-_](id|ids|count|capacity|usage|path|worker|num|sharing)|tokeni[sz]er"
)
_SECRET_NAME = re.compile(rf"(?i)(?:^|[-_.]){_SECRET_NAMES}$|^{_SECRET_NAMES}(?:$|[-_.])")

_URL_CREDENTIALS = re.compile(r"(?i)\b([a-z][a-z0-9+.-]*://)([^/\s:@]*):([^/\s@]+)@")
_BEARER = re.compile(r"(?i)\b(bearer\s+)([A-Za-z0-9._~+/=-]{6,})")
_WELL_KNOWN = re.compile(
    r"\b(?:hf_[A-Za-z0-9]{8,}|sk-[A-Za-z0-9_-]{8,}|gh[pousr]_[A-Za-z0-9]{20,}|glpat-[A-Za-z0-9_-]{16,}|nvapi-[A-Za-z0-9_-]{8,}|AKIA[0-9A-Z]{16})\b"
)
_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL)
# name=value, name: value, "name": "value", --name value, name='value' (reprs of server arguments)
_PAIR = re.compile(
    rf"""(?ix)(?P<name>(?:--)?["']?[a-z0-9_.-]*{_SECRET_NAMES}["']?)(?P<sep>\s*[=:]\s*|\s+)(?P<value>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s,;)}}\]]+)"""
)
_EMPTY = {"", "none", "null", "true", "false", "''", '""'}


def is_secret_name(name: str) -> bool:
    """Whether the value of a flag, variable or key of this name is to be masked."""
    bare = name.strip("\"'").lstrip("-")
    if _INNOCENT.search(bare):
        return False
    return bool(_SECRET_NAME.search(bare))


class Secret:
    """A value that shows itself as *** everywhere; `.reveal()` is the one way out."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return MASK

    __str__ = __repr__

    def __reduce__(self) -> str:
        raise TypeError("a secret is not pickled")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)


def _mask_pair(match: re.Match[str]) -> str:
    name, sep, value = match["name"], match["sep"], match["value"]
    if not is_secret_name(name) or value.lower() in _EMPTY:
        return match[0]
    if sep.isspace() and not name.startswith("--"):
        return match[0]  # prose ("the api key was refused"), not an assignment
    quote = value[0] if value[0] in "\"'" and value[-1] == value[0] else ""
    return f"{name}{sep}{quote}{MASK}{quote}"


class Redactor:
    """Masks secrets by pattern, and by value once a value was seen.

    One per process; readers of hosts feed it (`learn*`), every sink passes through it (`text`, `tree`).
    """

    def __init__(self) -> None:
        self._values: set[str] = set()
        self._by_value: re.Pattern[str] | None = None

    def learn(self, *values: str) -> None:
        """Mask these exact values from now on; shorter than 4 characters would mask ordinary text."""
        fresh = {value for value in values if len(value) >= 4 and value.lower() not in _EMPTY} - self._values
        if fresh:
            self._values |= fresh
            longest_first = sorted(self._values, key=len, reverse=True)
            self._by_value = re.compile("|".join(map(re.escape, longest_first)))

    def learn_words(self, words: Sequence[str]) -> None:
        """Learn from a command line: `--api-key VALUE`, `--api-key=VALUE`, `KEY=VALUE`."""
        for index, word in enumerate(words):
            name, equals, value = word.partition("=")
            if equals and is_secret_name(name):
                self.learn(value)
            elif not equals and word.startswith("-") and is_secret_name(word) and index + 1 < len(words):
                self.learn(words[index + 1])

    def learn_environment(self, environment: Mapping[str, str]) -> None:
        for name, value in environment.items():
            if is_secret_name(name):
                self.learn(value)

    def text(self, text: str) -> str:
        """`text` with every secret replaced by ***."""
        if self._by_value is not None:
            text = self._by_value.sub(MASK, text)
        text = _PRIVATE_KEY.sub(MASK, text)
        text = _URL_CREDENTIALS.sub(rf"\1\2:{MASK}@", text)
        text = _BEARER.sub(rf"\1{MASK}", text)
        text = _WELL_KNOWN.sub(MASK, text)
        return _PAIR.sub(_mask_pair, text)

    def words(self, words: Iterable[str]) -> list[str]:
        """A command line for showing: the words after and within secret flags are masked."""
        shown: list[str] = []
        hide_next = False
        for word in words:
            name, equals, _ = word.partition("=")
            if hide_next:
                shown.append(MASK)
                hide_next = False
            elif equals and is_secret_name(name):
                shown.append(f"{name}={MASK}")
            else:
                hide_next = word.startswith("-") and not equals and is_secret_name(word)
                shown.append(self.text(word))
        return shown

    def tree(self, value: Any) -> Any:
        """JSON-like data with secrets masked, by key name and in every string."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {
                key: MASK
                if is_secret_name(str(key)) and isinstance(item, str) and item.lower() not in _EMPTY
                else self.tree(item)
                for key, item in value.items()
            }
        if isinstance(value, list | tuple):
            if value and all(isinstance(item, str) for item in value):
                return self.words(value)
            return [self.tree(item) for item in value]
        return value
