"""`console history drift` as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from console.views.cells import wrap
from console.views.figures import day
from console.views.history import shown
from console.views.listings import SHORT_ID
from console.views.tables import table

if TYPE_CHECKING:
    from console.results.queries.drift import Drifted


def drift_text(found: Sequence[Drifted], width: int = 80) -> str:
    """Each target: as recorded, or what is not, where that shows and who it was."""
    said: list[str] = []
    for one in found:
        if one.why:
            said += wrap(f"{one.target}: {one.why}", width, rest="  ")
            continue
        recorded = f"run {one.recorded_run[:SHORT_ID]}, {day(one.recorded_at)}"
        if not one.drifts:
            said += wrap(f"{one.target}: as recorded by {recorded}", width, rest="  ")
            continue
        said += wrap(f"{one.target}: not as recorded by {recorded}", width, rest="  ")
        rows = [("  " + drift.setting, shown(drift.recorded), shown(drift.now), drift.where) for drift in one.drifts]
        said += table(("  what", "recorded", "now", "where"), rows, width)
        since, until = day(one.recorded_at), day(one.looked_at)
        for drift in one.drifts:
            where = f" ({drift.path})" if drift.path else ""
            said += wrap(
                f"{drift.setting}: {drift.how}, between {since} and {until}{where}", width, first="  ", rest="    "
            )
    return "\n".join(said)
