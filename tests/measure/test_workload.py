"""accept_length over many prompts of a class, and cells whose requests all compute their whole prompt."""

from __future__ import annotations

import random
from typing import Any

import pytest

from console.measure import workload
from console.measure.decode import DecodeCell, Shape
from console.measure.findings import of_workload
from console.measure.prompt import Source
from tests.measure.made_up import MadeUpEngine, Truth, bench, prompt


class Lucky(MadeUpEngine):
    """What a step commits depends on the prompt."""

    async def _generate(self, request: Any, on_part: Any) -> Any:
        self.truth.commits = 2.0 + sum(request.json["input_ids"]) % 21 / 10
        return await super()._generate(request, on_part)


async def test_a_class_of_text_is_as_sure_as_its_prompts() -> None:
    at = bench(Lucky(truth=Truth(natural_end=200)))
    found = await workload.measure(at, Source(at), "prose", 24)
    finding = of_workload("node7/chat", found)
    assert (finding.name, finding.n, finding.text_class, finding.flags) == ("accept_length", 24, "prose", ())
    assert finding.low is not None
    assert finding.high is not None
    assert isinstance(finding.value, float)
    assert 2.0 < finding.low < finding.value < finding.high < 4.0
    assert finding.high - finding.low > 0.1


async def test_prompts_are_different_texts_of_one_size() -> None:
    at = bench(MadeUpEngine())
    made = await workload.prompts_of(Source(at), "prose", 20)
    assert len(set(made)) == 20
    assert {len(one) for one in made} == {workload.PROMPT_TOKENS}


async def test_few_prompts_are_said_to_be_few_and_unknown_steps_give_no_figure() -> None:
    at = bench(MadeUpEngine(truth=Truth()))
    assert of_workload("t", await workload.measure(at, Source(at), "prose", 5)).flags == ("few prompts",)
    blind = bench(MadeUpEngine(truth=Truth(says_steps=False)))
    said = of_workload("t", await workload.measure(blind, Source(blind), "prose", 5))
    assert (said.name, said.value) == ("not_measured", "the engine does not say the steps of each answer")


async def test_a_cold_cell_computes_every_prompt_and_has_the_same_rate() -> None:
    truth = Truth(slope_ms=0.0, step_noise=0.003)
    cells = []
    for cold in (False, True):
        at = bench(MadeUpEngine(truth=truth))
        made = DecodeCell(at, await prompt(at, tokens=2000), Shape(cold=cold), "prose", random.Random(3))
        cells.append(await made.measure())
    warm, cold_cell = cells
    assert (warm.cache, cold_cell.cache) == ("warm", "cold")
    assert {arm.cached_tokens for arm in cold_cell.arms} == {0}
    assert {arm.cached_tokens for arm in warm.arms if not arm.refused} == {1999}
    assert cold_cell.rate_tok_s == pytest.approx(warm.rate_tok_s, rel=0.01)
    assert "not deterministic" not in cold_cell.flags


async def test_a_cold_pair_that_the_cache_knows_is_refused() -> None:
    class Remembers(MadeUpEngine):
        async def _generate(self, request: Any, on_part: Any) -> Any:
            self.known.add(tuple(request.json["input_ids"][:64]))
            return await super()._generate(request, on_part)

    at = bench(Remembers())
    made = DecodeCell(at, await prompt(at, tokens=2000), Shape(cold=True), "prose", random.Random(3))
    cell = await made.measure()
    assert cell.state == "refused"
    assert "cold, and found in the cache" in cell.reasons
