"""Two command lines as one text in which only the words that differ are marked, with or without colour."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from difflib import SequenceMatcher

from console.untrusted import one_line
from console.views.cells import ELLIPSIS


def marked(before: Sequence[str], after: Sequence[str]) -> list[str]:
    """Words in order: `same`, `[-gone-]`, `{+new+}`; a word that changed is `[-old-]{+new+}`.

    The marks are those of `git diff --word-diff=plain`.
    """
    if not before or not after:
        return [shown(word) for word in after or before]
    said: list[str] = []
    for kind, first, last, start, end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "equal":
            said += [shown(word) for word in after[start:end]]
            continue
        old = [f"[-{shown(word)}-]" for word in before[first:last]]
        new = [f"{{+{shown(word)}+}}" for word in after[start:end]]
        paired = min(len(old), len(new))
        said += [left + right for left, right in zip(old[:paired], new[:paired], strict=True)]
        said += old[paired:] + new[paired:]
    return said


def near_changes(before: Sequence[str], after: Sequence[str]) -> list[str]:
    """The words of `marked` that change, each with the one before it; an ellipsis for what is left out."""
    words = marked(before, after)
    changed = [word.startswith(("[-", "{+")) for word in words]
    kept = [now or following for now, following in zip(changed, [*changed, False][1:], strict=True)]
    said: list[str] = []
    for word, keep in zip(words, kept, strict=True):
        if keep:
            said.append(word)
        elif said[-1:] != [ELLIPSIS]:
            said.append(ELLIPSIS)
    return said if any(kept) else []


def changed_words(before: Sequence[str], after: Sequence[str]) -> int:
    """How many words of the two command lines differ; a replaced word counts once."""
    codes = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return sum(max(last - first, end - start) for kind, first, last, start, end in codes if kind != "equal")


def shown(word: str) -> str:
    """A word as a shell would need it, where blanks or quotes would make it look like several."""
    text = one_line(word) if word.strip() else word
    return shlex.quote(text) if not text or any(character in " \t\"'" for character in text) else text
