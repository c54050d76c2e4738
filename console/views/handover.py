"""`console handover` on one page, for a terminal or to paste into a ticket."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from console.untrusted import one_line
from console.views.cells import wrap
from console.views.figures import day

if TYPE_CHECKING:
    from console.results.queries.handover import Handover, Item

NOTHING = "nothing to hand over"
_MARKUP = re.compile(r"[\\`<>\[\]*_|#]")


def handover_text(page: Handover, width: int = 80) -> str:
    """What is open first; commands are never broken over lines: they are copied."""
    from console.results.queries.handover import SECTIONS

    said = [f"handover, {day(page.since)} to {day(page.until)}"]
    if not page.items:
        return "\n".join([*said, NOTHING])
    for kind, title in SECTIONS.items():
        items = page.of(kind)
        if items:
            said += ["", f"{title} ({len(items)})"]
            for item in items:
                said += wrap(_line(item), width, first="  ", rest="    ")
                said += [f"    next: {one_line(command)}" for command in item.close]
    return "\n".join(said)


def handover_markdown(page: Handover) -> str:
    from console.results.queries.handover import SECTIONS

    said = [f"# Handover, {day(page.since)} to {day(page.until)}", ""]
    if not page.items:
        said += [f"{NOTHING[0].upper()}{NOTHING[1:]}."]
    for kind, title in SECTIONS.items():
        items = page.of(kind)
        if items:
            said += [f"## {title[0].upper()}{title[1:]}", ""]
            for item in items:
                said.append(f"- {_MARKUP.sub(_escaped, _line(item))}")
                said += [f"  - `{one_line(command).replace('`', '')}`" for command in item.close]
            said.append("")
    return "\n".join(said).rstrip()


def _escaped(match: re.Match[str]) -> str:
    return f"\\{match[0]}"


def _line(item: Item) -> str:
    parts = [item.target, item.what, day(item.since), item.who, item.reason, f"run {item.run}" if item.run else ""]
    return one_line(", ".join(part for part in parts if part))
