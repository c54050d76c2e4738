"""An experiment as a table: each arm's figures, what was decided and why, and the arms that no other one beats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from console.analysis.tuning.experiment import Result, Spec, Standing, means, pareto, spread
from console.views.cells import wrap
from console.views.figures import number
from console.views.tables import table


def experiment_text(spec: Spec, results: Sequence[Result], now: Standing) -> str:
    wanted = spec.objective.wanted
    front = pareto(spec, results)
    rows = []
    for arm in (spec.base, *spec.candidates):
        figures = means(results, arm.name)
        runs = sum(one.arm == arm.name for one in results)
        if not runs:
            continue
        told = [figure(figures, spread(results, arm.name, name), name) for name in wanted]
        mark = "kept" if arm.name == now.kept else ""
        rows.append([arm.name, str(runs), *told, mark, "front" if arm.name in front else ""])
    lines = table(["arm", "runs", *wanted, "", ""], rows, right=range(1, 2 + len(wanted)))
    lines.append("")
    for decision in now.decisions:
        lines += wrap(f"{decision.candidate} against {decision.against}: {decision.verdict}: {decision.why}", 80)
    lines += wrap(f"kept: {now.kept}. {now.ended}", 80)
    if now.limit:
        after = f"; next: {now.layer}" if now.layer else ""
        lines += wrap(f"its limit is {now.limit}{after}. Measure again after each change that helps", 80)
    else:
        lines += wrap("what limits it now was not told: console diagnose TARGET --bottleneck", 80)
    return "\n".join(lines)


def figure(figures: Mapping[str, float], half: float | None, name: str) -> str:
    """The mean over restarts and half its interval, `1,240 ±16`."""
    if name not in figures:
        return "n/a"
    return number(round(figures[name], 3)) + (f" ±{number(float(f'{half:.2g}'))}" if half is not None else "")
