"""Rows of the acceptance table for the sweep's fit and alarms, and for comparisons over restarts."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from statistics import mean

from bench.scorecard import Score, errors_of, least, most, p95, share
from console.analysis.statistics.compare import compare
from console.analysis.statistics.sweep import Cell, fit
from console.analysis.statistics.sweep_alarms import alarms, contaminated, drift, knee

CONTEXTS = (4000, 8000, 12000, 16000, 24000, 32000, 48000, 64000, 96000, 128000)
START_MS, SLOPE = 20.0, 1e-4
NOISE = 0.01
KNEE_MS, KNEE_AT = 1.5, 32000
FAR = 100_000


def truth(context: float) -> float:
    return START_MS + SLOPE * context


def sweep(rng: random.Random, *, jump_ms: float = 0.0, drifting: float = 0.0) -> tuple[list[Cell], Cell]:
    """Every context twice in random order with 1 % noise, and the first cell again at the end."""
    order = [context for context in CONTEXTS for _ in range(2)]
    rng.shuffle(order)
    order.append(order[0])
    made = []
    for place, context in enumerate(order):
        step = truth(context) + (jump_ms if context > KNEE_AT else 0.0)
        made.append(Cell(context, step * (1 + drifting * place / (len(order) - 1)) * (1 + rng.gauss(0, NOISE))))
    return made[:-1], made[-1]


def clean_sweep(replicas: int, seed: int) -> Score:
    rng = random.Random(f"sweep/{seed}")
    starts, slopes, ahead, held, alarmed = [], [], [], [], []
    for _ in range(replicas):
        cells, again = sweep(rng)
        found = fit(cells)
        starts.append(found.intercept_ms.value)
        slopes.append(found.slope_ms_per_token.value)
        ahead.append(found.predict(FAR).value)
        held.append(found.predict(FAR).covers(truth(FAR) * (1 + rng.gauss(0, NOISE))))
        alarmed.append(bool(alarms(cells, remeasured=again)))
    return Score(
        "sweep, 10 contexts × 2, 1 % noise",
        replicas,
        (
            most("|bias| at 100k", abs(mean(errors_of(ahead, truth(FAR))))),
            most("s0 p95", p95(errors_of(starts, START_MS)), 0.9),
            most("slope p95", p95(errors_of(slopes, SLOPE)), 4.5),
            most("pred@100k p95", p95(errors_of(ahead, truth(FAR))), 1.0),
            least("PI holds a new cell in", share(held), 92),
            most("any alarm", share(alarmed), 8),
        ),
        2 * len(CONTEXTS) + 1,
    )


def contaminated_sweep(replicas: int, seed: int) -> Score:
    rng = random.Random(f"contaminated/{seed}")
    seen = []
    for _ in range(replicas):
        cells, _ = sweep(rng)
        place = rng.randrange(len(cells))
        cells[place] = Cell(cells[place].context_tokens, cells[place].step_ms * 0.85)
        seen.append(place in contaminated(cells))
    return Score("sweep with one −15 % cell", replicas, (least("flagged", share(seen), 98),))


def bent_sweep(replicas: int, seed: int) -> Score:
    rng = random.Random(f"knee/{seed}")
    seen, near = [], []
    for _ in range(replicas):
        found = knee(sweep(rng, jump_ms=KNEE_MS)[0])
        seen.append(found is not None)
        near.append(found is not None and 24000 <= found.context_tokens <= 48000)
    return Score(
        "sweep with a 1.5 ms knee at 32k",
        replicas,
        (least("flagged", share(seen), 95), least("placed between 24k and 48k", share(near))),
    )


def drifting_sweep(replicas: int, seed: int) -> Score:
    rng = random.Random(f"drift/{seed}")
    seen = [drift(*sweep(rng, drifting=0.03)) is not None for _ in range(replicas)]
    false = [drift(*sweep(rng)) is not None for _ in range(replicas)]
    return Score(
        "sweep that drifts 3 %",
        replicas,
        (least("sentinel fired", share(seen), 85), most("without drift", share(false))),
    )


def restarts(rng: random.Random, count: int, factor: float, requests: int = 8) -> list[list[float]]:
    """1 % between restarts, 0.6 % between requests of one."""
    made = []
    for _ in range(count):
        level = 160 * factor * math.exp(rng.gauss(0, 0.01))
        made.append([level * math.exp(rng.gauss(0, 0.006)) for _ in range(requests)])
    return made


def over_restarts(replicas: int, seed: int) -> Score:
    rng = random.Random(f"restarts/{seed}")
    same = [compare(restarts(rng, 5, 1.0), restarts(rng, 5, 1.0)) for _ in range(replicas)]
    more = [compare(restarts(rng, 5, 1.0), restarts(rng, 5, 1.03)) for _ in range(replicas)]
    one = [compare(restarts(rng, 1, 1.0), restarts(rng, 1, 1.0)).verdict for _ in range(replicas)]
    ratios = [found.ratio.value for found in more]
    return Score(
        "A/A and A/B +3 % over 5 restarts (SD 1 %)",
        replicas,
        (
            most("|bias| of B/A", abs(mean(errors_of(ratios, 1.03)))),
            most("A/A called changed", share([found.verdict == "changed" for found in same]), 6),
            least("A/B found", share([found.verdict == "changed" for found in more]), 85),
            least("coverage", share([found.ratio.covers(1.03) for found in more]), 93),
            most("one restart called changed", share([verdict == "changed" for verdict in one]), 0),
        ),
    )


ROWS: dict[str, Callable[[int, int], Score]] = {
    "sweep": clean_sweep,
    "sweep-contaminated": contaminated_sweep,
    "sweep-knee": bent_sweep,
    "sweep-drift": drifting_sweep,
    "restarts": over_restarts,
}
