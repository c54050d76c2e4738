"""`console history audit` as text, CSV and Markdown."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from console.untrusted import one_line
from console.views.cells import wrap
from console.views.figures import day, duration
from console.views.history import shown
from console.views.listings import SHORT_ID, login
from console.views.tables import table

if TYPE_CHECKING:
    from console.results.queries.audit import Audit, Entry

ZONE = "all times are UTC; a period's last moment is not part of it"
COLUMNS = (
    "kind", "target", "from", "to", "effective", "held_seconds", "operator", "reason", "ticket", "outcome",
    "outage_seconds", "run", "commit", "note",
)  # fmt: skip
_MARKUP = re.compile(r"[\\`<>\[\]*_|]")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def audit_text(audit: Audit, width: int = 80) -> str:
    said = [f"{audit.setting} from {day(audit.since)} to {day(audit.until)}", ZONE, ""]
    net = [
        (one.target, shown(one.before), shown(one.after), day(one.effective), str(one.changes), outage(one.outage_s))
        for one in audit.net
    ]
    head = ("target", "before", "after", "effective", "changes", "outage")
    said += table(head, net, width, right=(4, 5), whole=(3,)) if net else ["no change of it in this period"]
    for title, entries in (
        ("changes", audit.changes),
        ("found, made by hand", audit.found),
        ("attempts", audit.attempts),
    ):
        if entries:
            said += ["", title]
            for entry in entries:
                said += _entry(entry, width)
    if audit.unseen:
        said += ["", "not observed"]
        said += table((), [(u.target, day(u.since), day(u.until), u.why) for u in audit.unseen], width, whole=(1, 2))
    if audit.doubts:
        said += ["", "doubts"]
        for doubt in audit.doubts:
            said += wrap(f"{doubt.sha[:12]} {doubt.what}".strip(), width, first="  ", rest="    ")
    return "\n".join(said)


def _entry(entry: Entry, width: int) -> list[str]:
    held = "" if entry.held_s is None else f", held {duration(entry.held_s)}"
    lost = f", outage {entry.outage_s} s" if entry.outage_s else ""
    head = (
        f"{entry.target}  {shown(entry.before)} -> {shown(entry.after)}  {day(entry.at)}{held}{lost}  "
        f"{entry.outcome}  {login(entry.operator)}  {entry.run[:SHORT_ID]}"
    )
    said = wrap(head, width, first="  ", rest="    ")
    more = "; ".join(part for part in (entry.note, entry.reason, entry.ticket) if part)
    return said + (wrap(more, width, first="    ", rest="    ") if more else [])


def outage(seconds: float) -> str:
    return duration(seconds) if seconds else ""


def audit_csv(audit: Audit) -> str:
    """One line an entry, then what was not observed and what is doubtful; no cell can become a formula."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in _rows(audit):
        writer.writerow([_inert(cell) for cell in row])
    return out.getvalue().rstrip("\n")


def _rows(audit: Audit) -> Iterable[Sequence[str]]:
    for one in audit.net:
        cost = f"{one.outage_s:.0f}" if one.outage_s else ""
        yield (
            "net", one.target, shown(one.before), shown(one.after), one.effective, "", "", "", "", "", cost, "", "",
            f"{one.changes} changes",
        )  # fmt: skip
    for entry in (*audit.changes, *audit.found, *audit.attempts):
        yield (
            entry.kind, entry.target, shown(entry.before), shown(entry.after), entry.at,
            "" if entry.held_s is None else f"{entry.held_s:.0f}", entry.operator, entry.reason, entry.ticket,
            entry.outcome, entry.outage_s, entry.run, entry.sha, entry.note,
        )  # fmt: skip
    for unseen in audit.unseen:
        note = f"until {unseen.until}: {unseen.why}"
        yield ("not observed", unseen.target, "", "", unseen.since, *[""] * 8, note)
    for doubt in audit.doubts:
        yield ("doubt", *[""] * 11, doubt.sha, doubt.what)


def _inert(cell: str) -> str:
    """A spreadsheet runs what begins like a formula; negative numbers do not come here."""
    flat = one_line(cell)
    return f"'{flat}" if flat.startswith(_FORMULA) else flat


def audit_markdown(audit: Audit) -> str:
    said = [
        f"# {_text(audit.setting)}, {day(audit.since)} to {day(audit.until)}",
        "",
        f"{ZONE[0].upper()}{ZONE[1:]}.",
        "",
    ]
    net = [
        (one.target, shown(one.before), shown(one.after), day(one.effective), str(one.changes), outage(one.outage_s))
        for one in audit.net
    ]
    said += _table(("target", "before", "after", "effective", "changes", "outage"), net) or ["No change of it.", ""]
    for title, entries in (
        ("Changes", audit.changes),
        ("Found, made by hand", audit.found),
        ("Attempts", audit.attempts),
    ):
        rows = [
            (
                entry.target, f"{shown(entry.before)} → {shown(entry.after)}", day(entry.at),
                "" if entry.held_s is None else duration(entry.held_s), entry.operator,
                "; ".join(part for part in (entry.reason, entry.ticket, entry.note) if part),
                entry.outcome, f"{entry.outage_s} s" if entry.outage_s else "", entry.run,
            )
            for entry in entries
        ]  # fmt: skip
        head = ("target", "change", "effective", "held", "who", "why", "outcome", "outage", "run")
        if rows:
            said += [f"## {title}", "", *_table(head, rows)]
    if audit.unseen:
        stretches = [(one.target, day(one.since), day(one.until), one.why) for one in audit.unseen]
        said += ["## Not observed", "", *_table(("target", "from", "to", "why"), stretches)]
    if audit.doubts:
        said += ["## Doubts", "", *(f"- {doubt.sha[:12]} {_text(doubt.what)}" for doubt in audit.doubts), ""]
    return "\n".join(said).rstrip()


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    if not rows:
        return []
    body = [f"| {' | '.join(_text(cell) for cell in row)} |" for row in rows]
    return [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *body, ""]


def _text(text: str) -> str:
    return _MARKUP.sub(r"\\\g<0>", one_line(text))
