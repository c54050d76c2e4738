"""A line of narration and how it is meant, before any terminal colours it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Tone = Literal["", "head", "good", "warn", "bad", "dim", "old", "new", "words"]

# The tone of an outcome's word, of a step or of a target's run.
TONES: dict[str, Tone] = {
    "ok": "good",
    "changed": "good",
    "skipped": "dim",
    "refused": "bad",
    "failed": "bad",
    "aborted": "warn",
    "unknown": "bad",
    "verified": "good",
    "verified-incomplete": "warn",
    "measured": "good",
    "no-change": "good",
    "applied-unverified": "warn",
    "rolled-back": "warn",
    "rollback-failed": "bad",
    "failed-unchanged": "bad",
    "aborted-unchanged": "warn",
    "not-started": "dim",
}


@dataclass(frozen=True)
class Line:
    """One line without its end. The words alone say everything; `tone` only helps the eye.

    `passing`: it says where something stands that still goes on, so a screen that redraws need not keep it.
    """

    text: str
    tone: Tone = ""
    passing: bool = False


def lines(texts: Iterable[str], tone: Tone = "", *, passing: bool = False) -> list[Line]:
    return [Line(text, tone, passing) for text in texts]
