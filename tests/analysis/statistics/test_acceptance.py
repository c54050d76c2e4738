"""Step time and accept_length apart, and their product again."""

from __future__ import annotations

import random

import pytest

from console.analysis.statistics.acceptance import (
    IDENTITY_LIMIT,
    accept_from_drafts,
    accept_length,
    split,
)
from console.analysis.statistics.replies import Reply

STEP_S = 0.020


def arm(tokens: int, count: int, rng: random.Random, *, luck: float = 0.0, noise_s: float = 0.002) -> list[Reply]:
    made = []
    for _ in range(count):
        steps = max(1, round(tokens / 3.2 * (1 + rng.gauss(0, luck))))
        made.append(Reply(tokens, 0.35 + steps * STEP_S + rng.gauss(0, noise_s), steps))
    return made


def test_rate_is_accept_length_over_step() -> None:
    rng = random.Random(4)
    found = split(arm(32, 5, rng), arm(600, 5, rng))
    assert found is not None
    assert found.step_ms.value == pytest.approx(20, rel=0.005)
    assert found.accept_length.value == pytest.approx(568 / 178)  # 188 steps less 10
    assert found.identity_error < IDENTITY_LIMIT
    assert found.step_ms.low < 20 < found.step_ms.high


def test_the_step_is_known_even_where_the_texts_luck_varies() -> None:
    off, held = [], 0
    for seed in range(60):
        rng = random.Random(seed)
        found = split(arm(32, 6, rng, luck=0.06), arm(600, 6, rng, luck=0.06))
        assert found is not None
        off.append(abs(found.step_ms.value / 20 - 1))
        held += found.step_ms.covers(20)
    assert sorted(off)[56] < 0.008
    assert held >= 54


def test_replies_that_do_not_say_their_steps_give_no_split() -> None:
    assert split([Reply(32, 0.5, 10)], [Reply(600, 4.0)]) is None
    assert split([Reply(32, 0.5, 10)], [Reply(600, 4.0, 10)]) is None
    with pytest.raises(ValueError, match="empty"):
        split([], [Reply(600, 4.0, 188)])


def test_a_class_of_text_is_as_sure_as_its_prompts_not_its_tokens() -> None:
    rng = random.Random(9)
    held = 0
    for _ in range(200):
        tokens, steps = [], []
        for _ in range(24):
            own = rng.gauss(3.2, 0.5)
            steps.append(round(400 / own))
            tokens.append(400)
        held += accept_length(tokens, steps).covers(1 / (sum(1 / (3.2 + d) for d in SPREAD) / len(SPREAD)))
    assert held >= 180
    few = accept_length([400, 400], [100, 130])
    assert few.flags == ("few prompts",)
    assert few.value == pytest.approx(800 / 230)
    with pytest.raises(ValueError, match="same prompts"):
        accept_length([1], [1, 2])


SPREAD = [0.5 * z for z in (-1.96, -1.28, -0.84, -0.52, -0.25, 0.0, 0.25, 0.52, 0.84, 1.28, 1.96)]


def test_counters_of_drafts() -> None:
    assert accept_from_drafts(220, 100) == pytest.approx(3.2)
    assert accept_from_drafts(0, 0) != accept_from_drafts(0, 0)  # nan: no drafts, nothing known
