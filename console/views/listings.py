"""The tables of `console runs`, `console history list` and `console hosts list`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from console.untrusted import one_line
from console.views.cells import wrap
from console.views.figures import day
from console.views.tables import flowing, table

if TYPE_CHECKING:
    from console.results.queries.list import HistoryRow
    from console.runs.listing import RunSummary
    from console.schema.hosts import Inventory, Target

# Ten digits of a run's id are its time in milliseconds, so a beginning of this length names one run.
SHORT_ID = 14


def runs_table(found: Sequence[RunSummary], *, with_next: bool = False, width: int = 80) -> str:
    """One row a target, newest run first; with `with_next` also why a run is open and the commands to settle it."""
    rows = {summary.id: _run_rows(summary) for summary in found}
    everything = [row for run in rows.values() for row in run]
    head, *aligned = table(("run", "started", "runbook", "target", "outcome"), everything, width, whole=(0, 1, 4))
    said = [head]
    for summary in found:
        said += aligned[: len(rows[summary.id])]
        del aligned[: len(rows[summary.id])]
        if summary.damaged:
            said += wrap(f"damaged: {summary.damaged}", width, first="  ", rest="    ")
        if with_next or summary.open:
            said += [
                line
                for target, why in summary.open_targets.items()
                for line in wrap(f"OPEN {target}: {why}", width, first="  ", rest="    ")
            ]
        if with_next:
            said += [f"  next: {one_line(command)}" for command in summary.next]
    return "\n".join(said)


def _run_rows(summary: RunSummary) -> list[tuple[str, ...]]:
    what = summary.runbook if summary.purpose == "run" else f"{summary.purpose} {summary.runbook}".strip()
    names = summary.targets or ("-",)
    rows: list[tuple[str, ...]] = []
    for index, name in enumerate(names):
        outcome = "running" if summary.alive else summary.outcomes.get(name, "not begun")
        head = (summary.id[:SHORT_ID], day(summary.started)[5:], what) if index == 0 else ("", "", "")
        rows.append((*head, name, outcome))
    return rows


def history_lines(rows: Iterable[HistoryRow], *, width: int = 80) -> Iterator[str]:
    """One committed record a row: when, which run, what it came to, and who."""
    shown = (
        (day(row.at), row.run[:SHORT_ID], row.subject + (" (simulated)" if row.simulated else ""), login(row.operator))
        for row in rows
    )
    return flowing(("committed", "run", "what", "by"), shown, width, wrapped=2, whole=(0, 1))


def history_table(rows: Sequence[HistoryRow], *, width: int = 80) -> str:
    """All of them at once, for a screen."""
    return "\n".join(history_lines(rows, width=width))


def login(operator: str) -> str:
    """The name a person logs in with, without the machine."""
    return operator.partition(" ")[0].partition("@")[0]


def hosts_table(inventory: Inventory, *, width: int = 80) -> str:
    """Every target of the inventory, how it is reached, and what is special about it."""
    targets = inventory.targets()
    rows = [
        (target.name, target.service.unit, target.service.engine, reached(target), marks(target)) for target in targets
    ]
    said = table(("target", "unit", "engine", "reached at", ""), rows, width, wrapped=4)
    bare = [name for name, host in inventory.hosts.items() if not host.services]
    said += wrap(f"hosts without a service: {', '.join(bare)}", width, rest="  ") if bare else []
    for name, group in inventory.groups.items():
        said += wrap(f"group {name}: {', '.join(group.members)}; at least {group.min_ready} ready", width, rest="  ")
    return "\n".join(said)


def reached(target: Target) -> str:
    """`ops@gpu1.example.net:2222 via bastion`, as far as the inventory says; the SSH config adds the rest."""
    user = target.host.user or target.defaults.user
    port = target.host.port or target.defaults.port
    jump = target.host.jump or target.defaults.jump
    text = f"{user}@{target.address}" if user else target.address
    return text + (f":{port}" if port else "") + (f" via {jump}" if jump else "")


def marks(target: Target) -> str:
    """`protected`, `simulated` and the host's tags."""
    words = ["protected"] if target.protected else []
    words += ["simulated"] if target.simulated else []
    return " ".join([*words, *target.host.tags])
