"""How far a start has come."""

from __future__ import annotations

from console.engines.base import LogLine
from console.engines.progress import LoadProgress, eta_s, folded


def weights(done: int, total: int) -> LogLine:
    return LogLine("weights", "", done=done, total=total)


def test_a_second_model_that_loads_does_not_set_the_start_back() -> None:
    progress = folded([weights(64, 64), LogLine("pool", "", {"tokens": 9}), LogLine("graphs", "", done=4, total=4)])
    before = progress.fraction
    draft = progress.after(weights(0, 1))
    assert draft.phase == "weights"
    assert (draft.done, draft.total) == (0, 1)
    assert draft.fraction == before


def test_the_pool_of_a_draft_does_not_replace_the_targets() -> None:
    progress = folded([LogLine("pool", "", {"tokens": 200_000}), LogLine("pool", "", {"tokens": 50_000})])
    assert progress.pool_tokens == 200_000


def test_the_summary_corrects_the_pool() -> None:
    progress = folded([LogLine("pool", "", {"tokens": 5}), LogLine("limits", "", {"tokens": 4, "context": 3})])
    assert (progress.pool_tokens, progress.context_length) == (4, 3)


def test_new_arguments_begin_anew() -> None:
    failed = folded([weights(1, 2), LogLine("failure", "x", cause="out-of-memory", certainty=80)])
    assert failed.failure is not None
    again = failed.after(LogLine("args", "", {"context": 8192}))
    assert again == LoadProgress(context_length=8192, lines=3)


def test_the_first_of_equally_certain_failures_stays() -> None:
    first = LogLine("failure", "first", cause="exception", certainty=50)
    second = LogLine("failure", "second", cause="exception", certainty=50)
    surer = LogLine("failure", "surer", cause="out-of-memory", certainty=82)
    assert folded([first, second]).failure is first
    assert folded([first, second, surer]).failure is surer


def test_what_happens_after_ready_is_no_loading() -> None:
    progress = folded([LogLine("ready", ""), LogLine("graphs", "", done=1, total=4), LogLine("decode", "")])
    assert progress.ready
    assert progress.phase == "ready"
    assert progress.fraction == 1.0
    assert progress.lines == 3


def test_nonsense_counts_stay_within_the_phase() -> None:
    assert folded([weights(9, 3)]).fraction == 0.80
    assert folded([weights(3, 0)]).fraction == 0.03


def test_the_rest_takes_as_long_as_the_part_so_far() -> None:
    assert eta_s(elapsed_s=120.0, fraction=0.4) == 180.0
    assert eta_s(elapsed_s=120.0, fraction=1.0) == 0.0


def test_no_guess_while_too_little_is_known() -> None:
    assert eta_s(elapsed_s=5.0, fraction=0.03) is None
    assert eta_s(elapsed_s=0.0, fraction=0.5) is None
