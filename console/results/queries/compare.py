"""`history compare A B`: what differs between two runs, and whether a figure is outside the noise."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any

from console.errors import UsageError
from console.results.figures import figure
from console.results.history import History, Row
from console.results.store import find_rows, record_of, settings_of, sightings
from console.schema.events import FindingMade

if TYPE_CHECKING:
    from console.schema.record import Record

ASSUMED_BETWEEN = 0.01  # a restart's own share, where the history does not show it
RECORDS_FOR_SPREAD = 40
CONFIDENCE = 0.95
NO_DIFFERENCE = "no difference shown"


@dataclass(frozen=True)
class Difference:
    """Something that is not the same in both: a setting, a word of the stack. None: absent."""

    name: str
    a: str | None
    b: str | None


@dataclass(frozen=True)
class FigureCompared:
    """One figure of both runs over the contexts they share, B / A with its interval; `change` is a share.

    verdict: changed · suggestive · no difference shown · cannot be judged. `cells`: context, A, B.
    """

    name: str
    text_class: str
    unit: str
    cells: tuple[tuple[str, float, float], ...]
    change: float
    low: float | None
    high: float | None
    verdict: str
    why: str


@dataclass(frozen=True)
class Compared:
    """Two records of runs, side by side."""

    target_a: str
    target_b: str
    run_a: str
    run_b: str
    at_a: str
    at_b: str
    settings: tuple[Difference, ...]
    stack: tuple[Difference, ...]
    figures: tuple[FigureCompared, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]


def compare_runs(history: History, a: str, b: str) -> list[Compared]:
    """Compare the targets that both runs have, else the only one of each. Raises UsageError where it is not clear."""
    left = {row.target: row for row in find_rows(history, a)}
    right = {row.target: row for row in find_rows(history, b)}
    shared = [target for target in left if target in right]
    if shared:
        return [_compare(history, left[target], right[target]) for target in shared]
    if len(left) == len(right) == 1:
        return [_compare(history, *left.values(), *right.values())]
    raise UsageError(
        f"the runs share no target: {', '.join(left)} and {', '.join(right)}", hint="name runs of one target"
    )


def _compare(history: History, row_a: Row, row_b: Row) -> Compared:
    a, b = record_of(history, row_a), record_of(history, row_b)
    keys_a, keys_b = _figures(a.findings), _figures(b.findings)
    same = bool(a.invocation_after or a.invocation_before) and (a.invocation_after or a.invocation_before) == (
        b.invocation_after or b.invocation_before
    )
    compared = tuple(
        judge(name, text_class, keys_a[name, text_class], keys_b[name, text_class], between=between, known=known)
        for name, text_class in keys_a
        if (name, text_class) in keys_b
        for between, known in [
            (0.0, "one process") if same else _between(history, b, name, text_class, without=(a.run, b.run))
        ]
    )
    return Compared(
        target_a=a.target,
        target_b=b.target,
        run_a=a.run,
        run_b=b.run,
        at_a=row_a.at,
        at_b=row_b.at,
        settings=tuple(_differing(_settings(a), _settings(b))),
        stack=tuple(_differing(_stack(a), _stack(b))),
        figures=compared,
        only_a=tuple(sorted({name for name, _ in keys_a} - {name for name, _ in keys_b})),
        only_b=tuple(sorted({name for name, _ in keys_b} - {name for name, _ in keys_a})),
    )


Cells = dict[str, FindingMade]


def _figures(findings: Sequence[FindingMade]) -> dict[tuple[str, str], Cells]:
    """Positive numbers, by name and text class, then by context."""
    found: dict[tuple[str, str], Cells] = {}
    for one in findings:
        if isinstance(one.value, int | float) and not isinstance(one.value, bool) and one.value > 0:
            cells = found.setdefault((one.name, one.text_class), {})
            cells["" if one.context_tokens is None else str(one.context_tokens)] = one
    return found


def judge(
    name: str,
    text_class: str,
    a: Mapping[str, FindingMade],
    b: Mapping[str, FindingMade],
    *,
    between: float,
    known: str,
) -> FigureCompared:
    """B against A over the contexts of both: the mean of log ratios, with what cells and restarts contribute to it.

    Several cells show their own spread; one cell has what its interval says. A restart is another draw of `between`
    (Kalibera, Jones 2013), and two records are one restart of each at most: so the verdict is "suggestive" at best,
    unless both measured the same process.
    """
    from console.analysis.statistics.distributions import normal_quantile, t_quantile

    contexts = [context for context in a if context in b]
    ratios = [math.log(float(b[c].value) / float(a[c].value)) for c in contexts]
    unit = next((finding.unit for finding in a.values()), "")
    cells = tuple((c, float(a[c].value), float(b[c].value)) for c in contexts)
    if not ratios:
        return FigureCompared(name, text_class, unit, (), 0.0, None, None, "cannot be judged", "no context in common")
    level = (1 + CONFIDENCE) / 2
    middle = mean(ratios)
    stated = [math.hypot(_error(a[c]), _error(b[c])) for c in contexts]
    own = math.sqrt(sum(one**2 for one in stated)) / len(stated)
    if len(ratios) > 1:
        seen = stdev(ratios) / math.sqrt(len(ratios)) * t_quantile(level, len(ratios) - 1)
        within = max(seen, own * normal_quantile(level))
    elif own:
        within = own * normal_quantile(level)
    else:
        return FigureCompared(
            name, text_class, unit, cells, math.expm1(middle), None, None, "cannot be judged", "neither says its spread"
        )
    reach = math.hypot(within, normal_quantile(level) * math.sqrt(2) * between)
    verdict = NO_DIFFERENCE if abs(middle) <= reach else "suggestive" if between else "changed"
    return FigureCompared(
        name, text_class, unit, cells, math.expm1(middle), math.expm1(middle - reach), math.expm1(middle + reach),
        verdict, known,
    )  # fmt: skip


def _error(finding: FindingMade) -> float:
    """The standard error of a figure's logarithm, out of its interval; 0 where it has none."""
    from console.analysis.statistics.distributions import normal_quantile

    low, high = finding.low, finding.high
    if low is None or high is None or low <= 0 or high <= low or not math.isfinite(high):
        return 0.0
    share = finding.confidence if finding.confidence is not None else CONFIDENCE
    share = share / 100 if share > 1 else share
    return (math.log(high) - math.log(low)) / 2 / normal_quantile((1 + share) / 2)


def _between(
    history: History, record: Record, name: str, text_class: str, without: tuple[str, ...]
) -> tuple[float, str]:
    """What a restart alone does to this figure, from the target's other records of one stack; and how that is known."""
    from console.analysis.statistics.compare import restart_spread

    stack = record.stack_after or record.stack_before
    groups: dict[str, list[float]] = {}
    wanted = {finding.context_tokens for finding in record.findings if finding.name == name}
    for number, seen in enumerate(sightings(history, record.target)):
        if number == RECORDS_FOR_SPREAD or stack is None:
            break
        then = seen.document.get("stack_after") or seen.document.get("stack_before") or {}
        invocation = seen.document.get("invocation_after") or seen.document.get("invocation_before")
        if then.get("id") != stack.id or not invocation or seen.run in without:
            continue
        values = [
            float(one["value"])
            for one in seen.document.get("findings", ())
            if one.get("name") == name
            and one.get("text_class", "") == text_class
            and one.get("context_tokens") in wanted
            and isinstance(one.get("value"), int | float)
            and one["value"] > 0
        ]
        if values:
            groups.setdefault(str(invocation), []).append(math.exp(mean(map(math.log, values))))
    if len(groups) < 3:
        return ASSUMED_BETWEEN, f"{ASSUMED_BETWEEN:.0%} between restarts is assumed"
    between = restart_spread(list(groups.values())).between
    return between, f"{between:.1%} between {len(groups)} restarts of this stack"


def _settings(record: Record) -> dict[str, str]:
    return settings_of(record.model_dump(mode="json"))


def _stack(record: Record) -> dict[str, str]:
    """What else decides a figure, by name."""
    stack = record.stack_after or record.stack_before
    if stack is None:
        return {}
    gpus = ", ".join(f"{one.count} x {one.model} driver {one.driver}" for one in stack.accelerators)
    plain: dict[str, Any] = {
        "engine": f"{stack.engine} {stack.version}".strip(),
        "image": stack.image,
        "model": stack.model,
        "model revision": stack.model_revision,
        "GPUs": gpus,
        "kernel": stack.kernel,
        "pool tokens": "" if stack.pool_tokens is None else str(stack.pool_tokens),
    }
    environment = {f"${name}": value for name, value in stack.environment.items()}
    return {name: value for name, value in (plain | environment).items() if value}


def _differing(a: Mapping[str, str], b: Mapping[str, str]) -> Iterator[Difference]:
    for name in sorted(a.keys() | b.keys()):
        if a.get(name) != b.get(name):
            yield Difference(name, a.get(name), b.get(name))


def sentence(one: FigureCompared) -> str:
    """`decode_rate: no difference shown, -0.4 % [-3.1, +2.4] over 6 contexts (1% between restarts is assumed)`."""
    change = f"{one.change * 100:+.1f} %"
    interval = (
        f" [{one.low * 100:+.1f}, {one.high * 100:+.1f}] at {CONFIDENCE:.0%}"
        if one.low is not None and one.high is not None
        else ""
    )
    over = f" over {len(one.cells)} contexts" if len(one.cells) > 1 else ""
    single = "" if len(one.cells) != 1 else f" ({figure(one.cells[0][1])} -> {figure(one.cells[0][2])}{one.unit})"
    return f"{one.verdict}: {change}{interval}{over}{single}; {one.why}"
