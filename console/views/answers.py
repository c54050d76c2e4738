"""The four questions of a plan and what goes with them, as a block of labelled lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from console.schema.plan import Answers
from console.views.cells import wrap

LABEL_WIDTH = 13
# Label, field of Answers; in the order an operator reads them.
QUESTIONS = (
    ("FITS?", "fits"),
    ("COMES BACK?", "comes_back"),
    ("ALSO LIVE", "also_live"),
    ("ALSO HIT", "also_hit"),
    ("OUTAGE", "outage"),
    ("PROOF", "proof"),
    ("UNDO", "undo"),
    ("BLOCKED BY", "blocked_by"),
)


def answers_of(table: Mapping[str, Any]) -> Answers:
    """The answers an event carries; what a newer version added is left out, what cannot be read is empty."""
    try:
        return Answers.model_validate({name: table[name] for name in Answers.model_fields if name in table})
    except ValidationError:
        return Answers()


def answer_lines(answers: Answers, width: int = 80) -> list[str]:
    return [line for label, name in QUESTIONS for line in labelled(label, getattr(answers, name), width)]


def labelled(label: str, texts: tuple[str, ...] | list[str], width: int) -> list[str]:
    """` LABEL       text`, each further text and each further line under the first; nothing where nothing is said."""
    said: list[str] = []
    for text in texts:
        head = f" {label if not said else '':<{LABEL_WIDTH - 2}} "
        said += wrap(text, width, first=head)
    return said
