"""Colours of a terminal, put on lines whose text was cleaned before."""

from __future__ import annotations

import re

from console.untrusted import clean
from console.views.lines import Line, Tone

RESET = "\x1b[0m"
# Select Graphic Rendition codes, ECMA-48; the sixteen colours every terminal has.
CODES: dict[Tone, str] = {
    "head": "\x1b[1m",
    "good": "\x1b[32m",
    "warn": "\x1b[33m",
    "bad": "\x1b[1;31m",
    "dim": "\x1b[2m",
    "old": "\x1b[31m",
    "new": "\x1b[32m",
}
_LABEL = re.compile(r" [A-Z][A-Z ]+[A-Z?](?= )")
_MARKS = re.compile(r"\[-.*?-\]|\{\+.*?\+\}")


def paint(line: Line, color: bool) -> str:
    """The line for a terminal; without `color` its cleaned text and nothing else."""
    text = clean(line.text)
    if not color:
        return text
    if line.tone == "words":
        return _MARKS.sub(lambda mark: CODES["old" if mark[0].startswith("[-") else "new"] + mark[0] + RESET, text)
    if line.tone in CODES:
        return f"{CODES[line.tone]}{text}{RESET}" if text else text
    return _LABEL.sub(lambda label: f"{CODES['head']}{label[0]}{RESET}", text, count=1) if _LABEL.match(text) else text
