"""What must be seen in a sweep, and what must not be."""

from __future__ import annotations

import random

from console.analysis.statistics.sweep import Cell
from console.analysis.statistics.sweep_alarms import alarms, contaminated, drift, knee

CONTEXTS = (4000, 8000, 12000, 16000, 24000, 32000, 48000, 64000, 96000, 128000)


def sweep(seed: int, *, drifting: float = 0.0, jump_ms: float = 0.0) -> tuple[list[Cell], Cell]:
    """Twenty cells in random order with 1 % noise, and the first measured again."""
    rng = random.Random(seed)
    order = [x for x in CONTEXTS for _ in range(2)]
    rng.shuffle(order)
    order.append(order[0])
    made = []
    for place, x in enumerate(order):
        step = 20 + 1e-4 * x + (jump_ms if x > 32000 else 0)
        made.append(Cell(x, step * (1 + drifting * place / 20) * (1 + rng.gauss(0, 0.01))))
    return made[:-1], made[-1]


def test_a_clean_sweep_seldom_alarms() -> None:
    said = 0
    for seed in range(120):
        cells, again = sweep(seed)
        said += bool(alarms(cells, remeasured=again))
    assert said <= 14  # about 6 in 100


def test_one_contaminated_cell_is_named_with_its_context() -> None:
    for seed in range(40):
        cells, _ = sweep(seed)
        place = random.Random(seed + 1000).randrange(len(cells))
        cells[place] = Cell(cells[place].context_tokens, cells[place].step_ms * 0.85)
        assert place in contaminated(cells)
    said = [alarm for alarm in alarms(cells) if alarm.kind == "contaminated"]
    assert said[0].context_tokens == cells[place].context_tokens
    assert "off the line" in said[0].text


def test_a_knee_is_found_near_its_place() -> None:
    found = [knee(sweep(seed, jump_ms=1.5)[0]) for seed in range(40)]
    assert sum(bool(bend and 16000 <= bend.context_tokens <= 64000) for bend in found) >= 38


def test_a_bend_too_small_to_matter_is_no_knee_in_a_very_quiet_sweep() -> None:
    rng = random.Random(4)

    def quiet(bend_ms: float) -> list[Cell]:
        return [
            Cell(x, (20 + 1e-4 * x + (bend_ms if x > 32000 else 0)) * (1 + rng.gauss(0, 1e-4)))
            for x in CONTEXTS
            for _ in range(2)
        ]

    assert knee(quiet(0.1)) is None
    assert knee(quiet(0.6)) is not None


def test_a_drift_is_found_and_its_size_told() -> None:
    found = [drift(*sweep(seed, drifting=0.03)) for seed in range(60)]
    seen = [size for size in found if size is not None]
    assert len(seen) >= 46  # about 90 in 100
    assert 0.02 < sorted(seen)[len(seen) // 2] < 0.045
    assert sum(drift(*sweep(seed)) is not None for seed in range(100)) <= 8


def test_the_first_cell_measured_again_is_enough_in_a_short_quiet_sweep() -> None:
    cells = [Cell(x, 26.3 + 0.0201 * x) for x in (329, 1979, 3649, 5869)]
    again = Cell(329, cells[0].step_ms * 1.03)
    assert drift(cells, again) is not None
    assert drift(cells, Cell(329, cells[0].step_ms * 1.01)) is None


def test_few_cells_raise_no_alarm_that_they_cannot_bear() -> None:
    cells = [Cell(329, 33.0), Cell(1979, 50.0), Cell(3649, 99.0)]
    assert contaminated(cells) == ()
    assert knee(cells) is None
    assert alarms(cells) == ()
