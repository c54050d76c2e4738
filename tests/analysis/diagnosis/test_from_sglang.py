"""Production log lines become step time over context and batch, and what does not count is named."""

from __future__ import annotations

import pytest

from console.analysis.diagnosis import window as w
from console.analysis.diagnosis.curve import fit_windows
from console.analysis.diagnosis.from_sglang import windows
from console.analysis.diagnosis.window import Passive, acceptance_over_time, mean_acceptance
from tests.analysis.diagnosis.traffic import INTERCEPT_MS, SLOPE_MS, lines, said


def counts(passive: Passive) -> dict[str, int]:
    return {one.reason: one.count for one in passive.excluded}


@pytest.mark.parametrize("prefills", [True, False], ids=["prefill-lines", "decode-lines-only"])
@pytest.mark.parametrize("seed", range(5))
def test_two_hundred_lines_give_the_step_time_back(seed: int, prefills: bool) -> None:
    curve, kept = fit_windows(windows(said(lines(seed, prefills=prefills))))
    assert curve is not None
    assert curve.intercept_ms == pytest.approx(INTERCEPT_MS, rel=0.03)
    assert curve.slope_ms == pytest.approx(SLOPE_MS, rel=0.06)
    assert kept.seen == 200
    named = counts(kept)
    assert w.REPETITION in named
    if prefills:
        assert named[w.AFTER_IDLE] >= 10
    assert (mean_acceptance(kept.windows) or 0) == pytest.approx(2.9, rel=0.03)


def test_without_graphs_is_no_measure_of_a_step() -> None:
    passive = windows(said(lines(1, 20, graphs=False)))
    assert not passive.windows
    assert counts(passive)[w.NO_GRAPH] >= 10


def line(running: int, tokens: int, rate: float, more: str = "accept len: 2.90, accept rate: 0.41, ") -> str:
    return (
        f"[2026-03-02 08:00:00 TP0] Decode batch, #running-req: {running}, #token: {tokens}, token usage: 0.10, "
        f"{more}cuda graph: True, gen throughput (token/s): {rate:.2f}, #queue-req: 0"
    )


PREFILL = (
    "[2026-03-02 08:00:00 TP0] Prefill batch, #new-seq: 1, #new-token: 900, #cached-token: 0, token usage: 0.1, "
    "#running-req: {running}, #queue-req: 0, "
)


@pytest.mark.parametrize(
    ("between", "second", "reason"),
    [
        (PREFILL.format(running=0), line(1, 1200, 60.0), w.AFTER_IDLE),
        (PREFILL.format(running=1), line(1, 1116, 60.0), w.PREFILL_MIXED),
        ("", line(2, 2000, 60.0), w.BATCH_CHANGED),
        ("", line(1, 300, 60.0), w.AFTER_IDLE),
        ("", line(0, 0, 0.0), w.IDLE),
        ("", line(1, 1116, 60.0).partition("gen throughput")[0], w.CUT),
    ],
    ids=["idle", "prefill-beside", "another-batch", "another-request", "nothing-ran", "cut-off"],
)
def test_why_a_line_does_not_count(between: str, second: str, reason: str) -> None:
    passive = windows(said([line(1, 1000, 60.0), *([between] if between else []), second]))
    assert passive.windows == ()
    assert counts(passive) == {w.FIRST_SEEN: 1, reason: 1}


def test_a_prefill_into_an_empty_batch_holds_nobody_up() -> None:
    alone = windows(said([line(1, 1000, 60.0), PREFILL.format(running=0), line(1, 1200, 60.0), line(1, 1316, 60.0)]))
    beside = windows(said([line(1, 1000, 60.0), PREFILL.format(running=1), line(1, 1116, 60.0), line(1, 1232, 60.0)]))
    assert alone.prefill_share == 0.0
    assert beside.prefill_share == pytest.approx(1 / 3)


def test_context_is_that_of_the_middle_of_the_window() -> None:
    passive = windows(said([line(2, 2000, 120.0), line(2, 2232, 120.0)]))
    (only,) = passive.windows
    assert only.context_tokens == pytest.approx(1058)
    assert only.step_s == pytest.approx(2 * 2.9 / 120.0)
    assert only.rate_per_request_tok_s == pytest.approx(60.0)


def test_no_speculation_commits_one_token() -> None:
    passive = windows(said([line(1, 1000, 38.0, more=""), line(1, 1040, 38.0, more="")]))
    assert passive.speculative is False
    assert passive.windows[0].accept_length == 1.0
    assert "no speculation" in passive.notes[0]


def test_ranks_are_windows_of_their_own() -> None:
    texts = []
    for rank in (0, 1):
        texts += [text.replace("TP0", f"DP{rank} TP0") for text in (line(1, 1000, 60.0), line(1, 1116, 60.0))]
    passive = windows(said([texts[0], texts[2], texts[1], texts[3]]))
    assert [one.replica for one in passive.windows] == [0, 1]


def test_only_the_last_start_counts() -> None:
    new = "[2026-03-02 09:00:00] server_args=ServerArgs(model_path='/models/m', context_length=32768)"
    passive = windows(said([*lines(1, 10, prefills=False), new, line(1, 1000, 60.0), line(1, 1116, 60.0)]))
    assert len(passive.windows) == 1
    assert counts(passive)[w.EARLIER_START] == 10


def test_too_little_is_said_and_not_fitted() -> None:
    curve, kept = fit_windows(windows(said([line(1, 1000, 60.0), line(1, 1116, 60.0)])))
    assert curve is None
    assert "too few" in kept.notes[-1]
    assert windows([]).notes == ("no `Decode batch` line in the log",)


def test_one_context_is_no_curve() -> None:
    same = [line(1, 1000 + 10 * index, 60.0) for index in range(12)]
    curve, kept = fit_windows(windows(said(same)))
    assert curve is None
    assert "context hardly varies" in kept.notes[-1]


def test_acceptance_over_time() -> None:
    early = [line(1, 1000 + 116 * n, 60.0) for n in range(10)]
    late = [line(1, 2160 + 60 * n, 31.0, more="accept len: 1.50, accept rate: 0.2, ") for n in range(10)]
    parts = acceptance_over_time(windows(said(early + late)).windows, parts=2)
    assert parts[0][1] > 2.7
    assert parts[1][1] < 1.6
