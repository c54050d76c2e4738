"""Answers of `console history` as text: blame, compare and trend."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from console.results.figures import figure
from console.views.cells import wrap
from console.views.charts import line_chart
from console.views.figures import day
from console.views.listings import SHORT_ID, login
from console.views.tables import table

if TYPE_CHECKING:
    from console.results.queries.blame import Blame, Blamed
    from console.results.queries.compare import Compared, Difference, FigureCompared
    from console.results.queries.trend import Series


def blame_text(blamed: Blamed, width: int = 80) -> str:
    """One value in force a row, then what goes with each that somebody set."""
    said = wrap(f"{blamed.target} as seen {day(blamed.seen_at)} by run {blamed.seen_run[:SHORT_ID]}", width)
    rows = [
        (one.setting, shown(one.value), how(one), day(one.at), one.run[:SHORT_ID], login(one.operator))
        for one in blamed.settings
    ]
    said += table(("setting", "value", "", "when", "run", "by"), rows, width, whole=(3, 4))
    for one in blamed.settings:
        more = [text for text in (one.note, one.reason, one.ticket) if text]
        if more:
            said += wrap(f"{one.setting}: {'; '.join(more)}", width, first="  ", rest="    ")
    return "\n".join(said)


def how(one: Blame) -> str:
    return one.how if one.how != "set" else f"was {shown(one.before)}"


def shown(value: str | None) -> str:
    return "absent" if value is None else value or '""'


def compare_text(compared: Iterable[Compared], width: int = 80) -> str:
    """Settings, stack and figures that differ; A stands left, B right."""
    from console.results.queries.compare import sentence

    said: list[str] = []
    for one in compared:
        said += wrap(f"A  {one.run_a[:SHORT_ID]}  {day(one.at_a)}  {one.target_a}", width)
        said += wrap(f"B  {one.run_b[:SHORT_ID]}  {day(one.at_b)}  {one.target_b}", width)
        said += ["", *_differences("settings", one.settings, width), *_differences("stack", one.stack, width)]
        for compared_figure in one.figures:
            name = " ".join(part for part in (compared_figure.name, compared_figure.text_class) if part)
            said += ["", *wrap(f"{name}: {sentence(compared_figure)}", width, rest="  ")]
            if len(compared_figure.cells) > 1:
                cells = [(c, figure(a), figure(b), f"{(b / a - 1) * 100:+.1f} %") for c, a, b in compared_figure.cells]
                head = ("  context", "A", f"B {compared_figure.unit}", "")
                said += table(head, [("  " + row[0], *row[1:]) for row in cells], width, right=(1, 2, 3))
            said += _both(compared_figure, width)
        if not one.figures:
            said.append("no figure that both measured")
        for letter, names in (("A", one.only_a), ("B", one.only_b)):
            if names:
                said += wrap(f"only in {letter}: {', '.join(names)}", width, rest="  ")
    return "\n".join(said)


def _both(one: FigureCompared, width: int) -> list[str]:
    """A as x and B as o over the contexts that both measured; a chart from three on."""
    cells = [(float(context), a, b) for context, a, b in one.cells if context.isdigit()]
    if len(cells) < 3:
        return []
    older, newer = [(at, a) for at, a, _ in cells], [(at, b) for at, _, b in cells]
    return ["", *line_chart(newer, other=older, title="  over context tokens, A x, B o", width=width, height=6)]


def trend_text(found: Sequence[Series], width: int = 80) -> str:
    """Each figure over time: its chart, where its level changed, and whether the newest still belongs to it."""
    said: list[str] = []
    for one in found:
        at = f" at {one.context_tokens} tokens" if one.context_tokens else ""
        head = f"{one.name}{at} {one.text_class}".strip()
        points = [(float(index), point.value) for index, point in enumerate(one.points)]
        said += [""] if said else []
        period = f"{day(one.points[0].at)} to {day(one.points[-1].at)}"
        title = f"{head} ({one.unit or 'no unit'}), {len(one.points)} runs, {period}"
        said += wrap(title, width)
        said += line_chart(points, title="", width=width, height=6)[1:] if len(points) > 2 else []
        said += wrap(one.stack, width, first="  ", rest="  ") if one.stack else []
        for step in one.steps:
            said += wrap(
                f"{day(step.at)} run {step.run[:SHORT_ID]}: {figure(step.before)} -> {figure(step.after)}"
                f" ({step.change * 100:+.1f} %, p={step.p:.1g})",
                width, first="  ", rest="    ",
            )  # fmt: skip
        said.append(f"  newest {figure(one.points[-1].value)}: {newest(one)}")
    return "\n".join(said)


def newest(one: Series) -> str:
    """Whether the newest value is one more of the same."""
    if one.low is None or one.high is None:
        return "too few runs to say what to expect"
    expected = f"expected {figure(one.low)} to {figure(one.high)}"
    return f"as before, {expected}" if one.newest == "as before" else f"OUTSIDE what was before, {expected}"


def _differences(what: str, found: Sequence[Difference], width: int) -> list[str]:
    if not found:
        return [f"{what}: the same"]
    rows = [("  " + one.name, shown(one.a), shown(one.b)) for one in found]
    return table((what, "A", "B"), rows, width)
