"""The table of an experiment: figures with their intervals over restarts, the front, and what is next."""

from __future__ import annotations

from console.analysis.tuning.experiment import Candidate, Result, Spec, standing
from console.analysis.tuning.objective import parse_objective
from console.views.experiment import experiment_text


def test_intervals_the_front_and_the_next_layer_fit_eighty_columns() -> None:
    goal = parse_objective("tokens/min/GPU max while p95 TTFT < 2 s")
    spec = Spec(goal, Candidate("base", ()), (Candidate("more_memory", ()),), restarts=2)
    rates = {"base": (12_000.0, 12_040.0), "more_memory": (13_100.0, 13_130.0)}
    results = [
        Result(arm, "more_memory", {"tok_min_gpu": [rate], "ttft_p95_s": [1.5]}, limit="prefill", layer="chunk size")
        for arm, values in rates.items()
        for rate in values
    ]
    text = experiment_text(spec, results, standing(spec, results))
    lines = text.splitlines()
    assert lines[0].split() == ["arm", "runs", "tok_min_gpu", "ttft_p95_s"]
    assert lines[1].split() == ["base", "2", "12,020", "±250", "1.5", "±0"]
    assert lines[2].split() == ["more_memory", "2", "13,115", "±190", "1.5", "±0", "kept", "front"]
    assert "kept: more_memory. every candidate was tried its limit is prefill; next: chunk size." in " ".join(
        lines[-3:]
    )
    assert max(map(len, lines)) <= 80
