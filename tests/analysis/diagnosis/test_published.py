"""A diagnosis that was published: "why 32 tok/s instead of 138?", with the cells of its sweep and what it found."""

from __future__ import annotations

import pytest

from console.analysis.diagnosis.complaint import Baseline, Complaint, stated
from console.analysis.diagnosis.diagnosis import Diagnosis, Evidence, Recorded, diagnose
from console.analysis.diagnosis.reconcile import EXPLAINED, NOT_EXPLAINED
from console.analysis.diagnosis.recorded import Cell, Rate
from console.analysis.diagnosis.window import Passive
from console.analysis.statistics.distributions import t_quantile

# prompt tokens, tok/s, tokens a step; 600 output tokens each
CELLS = tuple(
    Cell(prompt, prompt + 316, rate, commit)
    for prompt, rate, commit in ((13, 139.6, 4.75), (1663, 114.2, 7.17), (3333, 77.9, 7.90), (5553, 54.5, 7.85))
)
TWO_POINT = tuple(
    Rate(rate, prompt + 316) for prompt, rate in ((64, 255.0), (1024, 216.0), (3072, 113.0), (5120, 67.0))
)


def found(observed: str = "32", prompt: int = 2700) -> Diagnosis:
    complaint = Complaint(
        observed=stated(observed),
        prompt_tokens=prompt,
        output_tokens=1500,
        accept_length=stated("2.9"),
        baselines=(Baseline(stated("138")),),
        ttft_s=stated("0.06"),
    )
    return diagnose(Evidence(complaint, Passive(), Recorded(CELLS, TWO_POINT, "the sweep")), t_quantile)


def test_it_is_explained_by_two_factors() -> None:
    told = found()
    assert told.verdict == EXPLAINED
    assert 29.0 <= told.reconciled.predicted <= 31.5
    assert [factor.name for factor in told.reconciled.telling] == ["accept_length", "context"]
    assert told.headline == "32 tok/s at 3.45k tokens: explained, not a regression"
    assert told.causes[0].text == "two factors: accept_length and context"


def test_the_factors_multiply_to_the_rate() -> None:
    done = found().reconciled
    product = 1.0
    for factor in done.factors:
        product *= factor.ratio
    reference = 4.75 / (done.step_ms * done.factors[1].ratio / 1000.0)
    assert reference * product == pytest.approx(done.predicted, rel=1e-9)
    assert done.predicted * done.rest == pytest.approx(32.0)


def test_what_was_expected_was_a_short_prompt_at_another_commit() -> None:
    assert "138 tok/s was 13 tokens of context at commit 4.75" in [said.text for said in found().causes]


def test_a_two_point_at_like_context_had_another_text() -> None:
    said = next(said for said in found().causes if "like context" in said.text)
    low, high = (float(word) for word in said.text.rpartition("accept_length of ")[2].split(" to "))
    assert 8.5 <= low <= high <= 11.0
    assert said.evidence == "their text was predictable"


def test_a_parser_is_ruled_out_by_the_first_token() -> None:
    assert ("parser change", "ttft 0.06s") in [(said.text, said.evidence) for said in found().ruled_out]


def test_the_levers_are_the_models_own_numbers() -> None:
    first = found().levers[0]
    assert first.text == "drafter acceptance 2.9->5.8"
    assert first.gain == pytest.approx(2.0)


def test_slower_than_the_curve_is_not_explained_and_no_cause_is_guessed() -> None:
    told = found(observed="24.6")
    assert told.verdict == NOT_EXPLAINED
    assert told.reconciled.sentence.startswith("not explained: steps 1.2x slower than the curve")
    assert told.causes == ()
    assert told.headline.endswith("not explained, steps 1.2x slower than the curve")


def test_faster_than_the_curve_is_not_explained_either() -> None:
    told = found(prompt=5000)
    assert told.verdict == NOT_EXPLAINED
    assert "faster than the curve" in told.reconciled.sentence
    assert "check the context given" in told.reconciled.sentence
    assert told.causes == ()
