"""An experiment as a fold of its results: what to run next, what was decided, and when it ends.

Whatever was measured is a list; everything else follows from it, so that an experiment goes on after any interruption
from the list alone, and the same code decides over simulated figures and over real restarts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import stdev
from typing import Literal

from console.analysis.statistics.compare import Comparison, compare
from console.analysis.statistics.distributions import t_quantile
from console.analysis.tuning.objective import Bound, Objective

Settings = tuple[tuple[str, str], ...]
Verdict = Literal["keep", "roll back"]
# What becomes of a candidate of which it cannot be told whether it helps.
Unsure = Literal["roll back", "keep", "stop"]
# An interval that reaches further than this is no answer: a gain or loss of a twentieth would be hidden in it.
HIDDEN = 0.05


@dataclass(frozen=True)
class Candidate:
    """One change of one layer: the variables of the runbook that it sets."""

    name: str
    settings: Settings


@dataclass(frozen=True)
class Spec:
    """`restarts` of each side of a comparison; a budget of 0 has no end; `until_met`: stop once all bounds are kept.

    `inconclusive`: "stop" ends the experiment at a candidate of which nothing can be told, and asks for more restarts.
    """

    objective: Objective
    base: Candidate
    candidates: tuple[Candidate, ...]
    restarts: int = 3
    most_restarts: int = 0
    most_minutes: float = 0.0
    until_met: bool = False
    inconclusive: Unsure = "roll back"


@dataclass(frozen=True)
class Result:
    """One run of one arm. `figures` hold one list of values a figure; `ok` is false where a gate or the run failed."""

    arm: str
    versus: str  # the candidate whose comparison it belongs to
    figures: Mapping[str, Sequence[float]]
    ok: bool = True
    minutes: float = 0.0
    run: str = ""
    limit: str = ""  # what limits this arm, where that was diagnosed
    layer: str = ""  # and which layer is next, then
    why: str = ""


@dataclass(frozen=True)
class Decision:
    """A candidate against what was in force before it."""

    candidate: str
    against: str
    verdict: Verdict
    why: str
    comparison: Comparison | None = None
    unsure: bool = False  # neither better nor worse, and its interval would hide either


@dataclass(frozen=True)
class Standing:
    """Where an experiment stands. `next_arm` None: nothing more to run; `ended` says why. `settle`: what must serve."""

    decisions: tuple[Decision, ...]
    kept: str
    next_arm: str | None
    versus: str
    settle: str
    ended: str
    limit: str = ""  # of what is kept, as last diagnosed
    layer: str = ""


def order(restarts: int) -> list[Literal["a", "b"]]:
    """ABBA blocks: a drift that is a straight line over time falls on both sides alike."""
    block: tuple[Literal["a", "b"], ...] = ("a", "b", "b", "a")
    return [block[index % 4] for index in range(2 * restarts)]


def standing(spec: Spec, results: Sequence[Result]) -> Standing:
    """What follows from the results so far."""
    now = _standing(spec, results)
    told = [one for one in results if one.arm == now.kept and one.limit]
    return replace(now, limit=told[-1].limit, layer=told[-1].layer) if told else now


def _standing(spec: Spec, results: Sequence[Result]) -> Standing:
    kept = spec.base.name
    decisions: list[Decision] = []
    for candidate in spec.candidates:
        own = [one for one in results if one.versus == candidate.name]
        decision = decide(spec, candidate.name, kept, own)
        if decision is None:
            if (spent := _spent(spec, results)) != "":
                return Standing(tuple(decisions), kept, None, candidate.name, kept, spent)
            side = order(spec.restarts)[_done(own, kept, candidate.name, spec.restarts)]
            arm = kept if side == "a" else candidate.name
            return Standing(tuple(decisions), kept, arm, candidate.name, arm, "")
        decisions.append(decision)
        if decision.unsure and spec.inconclusive == "stop":
            ended = f"of {candidate.name} nothing can be told: more restarts than {spec.restarts} a side are needed"
            return Standing(tuple(decisions), kept, None, "", kept, ended)
        if decision.verdict == "keep":
            moved = _moved(own, kept, candidate.name)
            kept = candidate.name
            if moved:
                return Standing(tuple(decisions), kept, None, "", kept, moved)
        if spec.until_met and not spec.objective.missed(means(own, kept)) and spec.objective.bounds:
            ended = f"{kept} keeps every bound: {', '.join(one.text() for one in spec.objective.bounds)}"
            return Standing(tuple(decisions), kept, None, "", kept, ended)
    return Standing(tuple(decisions), kept, None, "", kept, "every candidate was tried")


def _done(own: Sequence[Result], kept: str, candidate: str, restarts: int) -> int:
    """How many places of the order are filled: those in front of the first that lacks its result."""
    left = {kept: sum(one.arm == kept for one in own), candidate: sum(one.arm == candidate for one in own)}
    for index, side in enumerate(order(restarts)):
        arm = kept if side == "a" else candidate
        if not left[arm]:
            return index
        left[arm] -= 1
    return 2 * restarts


def decide(spec: Spec, candidate: str, kept: str, own: Sequence[Result]) -> Decision | None:
    """Keep or roll back; None while more must be measured. A failed arm or gate is decided at once."""
    failed = next((one for one in own if one.arm == candidate and not one.ok), None)
    if failed is not None:
        return Decision(candidate, kept, "roll back", failed.why or "its run or a gate failed")
    before, now = ([one for one in own if one.arm == arm] for arm in (kept, candidate))
    if min(len(before), len(now)) < spec.restarts:
        return None
    goal = spec.objective
    old, new = means(own, kept), means(own, candidate)
    if goal.figure not in old or goal.figure not in new:
        return Decision(candidate, kept, "roll back", f"{goal.figure} was not measured on both sides")
    compared = compare([one.figures[goal.figure] for one in before], [one.figures[goal.figure] for one in now])
    missed_old, missed_new = goal.missed(old), goal.missed(new)
    said = f"{goal.figure} {compared.change:+.1%} [{compared.ratio.low - 1:+.1%}, {compared.ratio.high - 1:+.1%}]"
    if missed_new and not missed_old:
        return Decision(candidate, kept, "roll back", f"{_said(missed_new, new)}; {said}", compared)
    if missed_old and not missed_new:
        return Decision(candidate, kept, "keep", f"keeps every bound, {kept} did not; {said}", compared)
    better = compared.change > 0 if goal.way == "max" else compared.change < 0
    if compared.verdict == "changed" and better:
        return Decision(candidate, kept, "keep", said, compared)
    if compared.verdict == "changed":
        return Decision(candidate, kept, "roll back", f"worse: {said}", compared)
    unsure = max(compared.ratio.high - 1, 1 - compared.ratio.low) > HIDDEN
    verdict: Verdict = "keep" if unsure and spec.inconclusive == "keep" else "roll back"
    wide = f", and up to {compared.detectable:.0%} would not show" if unsure else ""
    return Decision(candidate, kept, verdict, f"{compared.verdict}: {said}{wide}", compared, unsure)


def means(results: Sequence[Result], arm: str) -> dict[str, float]:
    """Each figure of an arm over its restarts."""
    found: dict[str, list[float]] = {}
    for one in results:
        if one.arm == arm and one.ok:
            for name, values in one.figures.items():
                if values:
                    found.setdefault(name, []).append(sum(values) / len(values))
    return {name: sum(values) / len(values) for name, values in found.items()}


def spread(results: Sequence[Result], arm: str, figure: str, confidence: float = 0.95) -> float | None:
    """Half the width of the interval of a figure's mean over restarts; None with fewer than two."""
    found = [
        sum(values) / len(values)
        for one in results
        if one.arm == arm and one.ok and (values := one.figures.get(figure, ()))
    ]
    if len(found) < 2:
        return None
    return t_quantile((1 + confidence) / 2, len(found) - 1) * stdev(found) / math.sqrt(len(found))


def _said(missed: Sequence[Bound], figures: Mapping[str, float]) -> str:
    return ", ".join(
        f"{one.text()} is not kept ({figures[one.figure]:.4g})"
        if one.figure in figures
        else f"{one.figure} was not measured"
        for one in missed
    )


def _spent(spec: Spec, results: Sequence[Result]) -> str:
    if spec.most_restarts and len(results) >= spec.most_restarts:
        return f"the budget of {spec.most_restarts} restarts is spent"
    minutes = sum(one.minutes for one in results)
    if spec.most_minutes and minutes >= spec.most_minutes:
        return f"the budget of {spec.most_minutes:g} minutes is spent"
    return ""


def _moved(own: Sequence[Result], kept: str, candidate: str) -> str:
    """Whether the limit is another one than before, so that the next change belongs elsewhere."""
    limits = [[one.limit for one in own if one.arm == arm and one.limit] for arm in (kept, candidate)]
    if not all(limits) or limits[0][-1] == limits[1][-1]:
        return ""
    return f"the limit has moved from {limits[0][-1]} to {limits[1][-1]}: measure again before the next change"


def pareto(spec: Spec, results: Sequence[Result]) -> tuple[str, ...]:
    """Arms that no other one beats in every figure of the objective at once."""
    ways = {spec.objective.figure: spec.objective.way == "max"}
    for bound in spec.objective.bounds:
        ways.setdefault(bound.figure, not bound.upper)
    arms = {one.name: means(results, one.name) for one in (spec.base, *spec.candidates)}
    arms = {name: figures for name, figures in arms.items() if set(ways) <= set(figures)}

    def beats(one: Mapping[str, float], other: Mapping[str, float]) -> bool:
        signs = [(one[name] - other[name]) * (1 if up else -1) for name, up in ways.items()]
        return all(sign >= 0 for sign in signs) and any(sign > 0 for sign in signs)

    return tuple(name for name, own in arms.items() if not any(beats(other, own) for other in arms.values()))
