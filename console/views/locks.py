"""The tables of `console runs --locks` and `console runs --everywhere`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from console.untrusted import one_line
from console.views.cells import wrap
from console.views.figures import day
from console.views.tables import table

if TYPE_CHECKING:
    from console.remote.holder import Sight


def locks_table(sights: Sequence[Sight], width: int = 80) -> str:
    """One lock a row, and below each one that is held why it is called so and how a hanging one is freed."""
    rows = [
        (
            sight.target,
            sight.state,
            sight.run if sight.held else "-",
            _who(sight.document) if sight.held else "",
            day(sight.document.get("since", ""))[5:] if sight.held else "",
        )
        for sight in sights
    ]
    head, *aligned = table(("target", "lock", "run", "by", "since"), rows, width, whole=(0, 1, 2))
    said = [head]
    for sight, row in zip(sights, aligned, strict=False):
        said.append(row)
        if sight.held:
            said += wrap(sight.evidence, width, first="  ", rest="    ")
            reason = sight.document.get("reason", "")
            said += wrap(f"reason: {reason}", width, first="  ", rest="    ") if reason else []
        if sight.state == "stale":
            said.append(f"  next: console runs --break {sight.run} {sight.target}")
    return "\n".join(said)


def ledger_table(waiting: Sequence[tuple[str, Mapping[str, Any]]], width: int = 80) -> str:
    """One open change a row, and how it is finished from any machine."""
    said: list[str] = []
    for target, document in waiting:
        run = one_line(str(document.get("run") or ""))
        who = _who({key: one_line(str(document.get(key) or "")) for key in ("operator", "from_host")})
        state = {"undoing": "being put back", "guard": "put back by the guard, not proven"}.get(
            str(document.get("state")), "open"
        )
        said += wrap(f"{target}  {run}  {state}, {day(str(document.get('at') or ''))}, {who}", width, rest="  ")
        what = one_line(str(document.get("summary") or document.get("runbook") or ""), 200)
        said += wrap(what, width, first="  ", rest="    ")
        said += [f"  next: console takeover {run}", f"        console takeover {run} --rollback"]
    return "\n".join(said)


def _who(document: Mapping[str, str]) -> str:
    origin = f" from {document['from_host']}" if document.get("from_host") else ""
    return (document.get("operator") or "somebody") + origin
