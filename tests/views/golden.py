"""Screens kept as files: what a view says now must be what the file says."""

from __future__ import annotations

from pathlib import Path

from console.views.cells import cells

FOLDER = Path(__file__).parent.parent / "cases" / "views"


def screen(name: str) -> str:
    """The screen of that name; tests/cases/views/NAME.txt."""
    return (FOLDER / f"{name}.txt").read_text("utf-8")


COPIED = ("console ", "ssh ", "sudo ", "next:", "record:")


def too_wide(text: str, width: int = 80) -> list[str]:
    """Lines wider than a terminal, other than commands and paths, which are copied and so never broken."""
    return [line for line in text.split("\n") if cells(line) > width and not any(command in line for command in COPIED)]
