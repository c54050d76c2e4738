"""An experiment conducted over runs that are made up: variables of each arm, what ends it, and going on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from console.errors import AbortedError, RefusedError, StateError
from console.planning import lint
from console.runner.experiment import ArmEnd, Figures, conduct, spec_of
from console.runs.experiment_log import ExperimentLog
from console.schema.events import ConclusionMade, FindingMade
from console.schema.runbook import Runbook, Value

PATH = Path(__file__).parents[2] / "runbooks" / "tune.toml"
GIVEN: dict[str, Value] = {"mem_fraction": "0.85", "kv_cache_dtype": "auto"}


class Power(Exception):  # noqa: N818 - what ends the process in the middle
    pass


class Target:
    """Runs that measure by a formula: more memory helps, the fp8 cache loses its gate."""

    def __init__(self, *, dies_at: int = -1, code: int = 0) -> None:
        self.asked: list[tuple[str, Value, Value]] = []
        self.dies_at = dies_at
        self.code = code

    def __call__(self, name: str, variables: dict[str, Value]) -> ArmEnd:
        if len(self.asked) == self.dies_at:
            raise Power
        self.asked.append((name, variables["mem_fraction"], variables["kv_cache_dtype"]))
        if variables["kv_cache_dtype"] != "auto":
            return ArmEnd(4, "r", {}, 3.0, why="quality is lost")
        rate = 9000 * (1.1 if variables["mem_fraction"] == "0.92" else 1.0) * (1 + 0.002 * (len(self.asked) % 3))
        return ArmEnd(self.code, "r", {"tok_min_gpu": [rate], "ttft_p95_s": [1.0]}, 3.0)


@pytest.fixture
def runbook() -> Runbook:
    return lint.load(PATH)


@pytest.fixture
def log(tmp_path: Path) -> ExperimentLog:
    found = ExperimentLog(tmp_path / "experiments" / "x")
    found.folder.parent.mkdir()
    found.begin({"schema": 1})
    return found


def test_one_change_at_a_time_on_top_of_what_was_kept(runbook: Runbook, log: ExperimentLog) -> None:
    target = Target()
    now = conduct(runbook, GIVEN, log, target, lambda _text: None)
    assert [(one.candidate, one.verdict) for one in now.decisions] == [
        ("more_memory", "keep"),
        ("fp8_cache", "roll back"),
    ]
    assert "quality is lost" in now.decisions[1].why
    base, memory = ("base", "0.85", "auto"), ("more_memory", "0.92", "auto")
    assert target.asked[:6] == [base, memory, memory, base, base, memory]
    # The second candidate is tried on top of the first, and its failed run leaves the first in service.
    assert target.asked[6:] == [memory, ("fp8_cache", "0.92", "fp8_e4m3")]


@pytest.mark.parametrize(("at", "code"), [(2, 4), (2, 3), (2, 130), (1, 0), (7, 4)])
def test_a_stop_ends_the_experiment_and_not_its_arm_alone(
    runbook: Runbook, log: ExperimentLog, at: int, code: int
) -> None:
    target = Target()

    def run_arm(name: str, variables: dict[str, Value]) -> ArmEnd:
        end = target(name, variables)
        return replace(end, exit_code=code, stopped="SIGINT") if len(target.asked) == at + 1 else end

    with pytest.raises(AbortedError, match="stopped by SIGINT") as caught:
        conduct(runbook, GIVEN, log, run_arm, lambda _text: None)

    assert caught.value.exit_code == 130
    assert "--continue" in caught.value.hint
    told = {0: "is in service", 4: "was put back", 3: "says what serves now", 130: "says what serves now"}
    assert told[code] in caught.value.message
    assert len(target.asked) == at + 1, "no other run begins"
    # What was measured before the stop counts; a run that was rolled back for it says nothing of its arm.
    assert len(log.results()) == (at + 1 if code == 0 else at)
    now = conduct(runbook, GIVEN, log, Target(), lambda _text: None)
    assert (now.decisions[0].candidate, now.decisions[0].verdict) == ("more_memory", "keep")


@pytest.mark.parametrize("dies_at", [0, 1, 4, 7])
def test_killed_anywhere_it_goes_on_and_measures_nothing_twice(
    runbook: Runbook, log: ExperimentLog, dies_at: int
) -> None:
    first, whole = Target(dies_at=dies_at), Target()
    with pytest.raises(Power):
        conduct(runbook, GIVEN, log, first, lambda _text: None)
    second = Target()
    conduct(runbook, GIVEN, ExperimentLog(log.folder), second, lambda _text: None)
    reference = ExperimentLog(log.folder.parent / "y")
    reference.begin({"schema": 1})
    conduct(runbook, GIVEN, reference, whole, lambda _text: None)
    assert first.asked + second.asked == whole.asked


def test_a_torn_last_line_is_measured_again(runbook: Runbook, log: ExperimentLog) -> None:
    conduct(runbook, GIVEN, log, Target(), lambda _text: None)
    path = log.folder / "results.jsonl"
    whole = log.results()
    path.write_bytes(path.read_bytes()[:-30])
    assert log.results() == whole[:-1]
    log.add(whole[-1])
    assert log.results() == whole


def test_the_arm_that_was_not_kept_is_put_out_of_service_at_the_end(runbook: Runbook, log: ExperimentLog) -> None:
    class Worse(Target):
        def __call__(self, name: str, variables: dict[str, Value]) -> ArmEnd:
            end = super().__call__(name, variables | {"mem_fraction": "0.85"})
            self.asked[-1] = (name, variables["mem_fraction"], variables["kv_cache_dtype"])
            return end

    target = Worse()
    only = runbook.model_copy(
        update={"experiment": runbook.experiment.model_copy(update={"arms": {"more_memory": {"mem_fraction": "0.92"}}})}  # type: ignore[union-attr]
    )
    now = conduct(only, GIVEN, log, target, lambda _text: None)
    assert (now.kept, target.asked[-2:]) == ("base", [("more_memory", "0.92", "auto"), ("base", "0.85", "auto")])


def test_an_end_that_says_nothing_of_its_arm_stops_it(runbook: Runbook, log: ExperimentLog) -> None:
    with pytest.raises(RefusedError, match="ended with 9"):
        conduct(runbook, GIVEN, log, Target(code=9), lambda _text: None)
    assert log.results() == []


def test_a_start_limit_is_no_answer_about_the_arm_whose_turn_it_was(runbook: Runbook, log: ExperimentLog) -> None:
    def limited(name: str, variables: dict[str, Value]) -> ArmEnd:
        if name == "base":
            return ArmEnd(0, "r1", {"tok_min_gpu": [9000.0], "ttft_p95_s": [1.0]}, 3.0)
        return ArmEnd(4, "r2", {}, 3.0, why="systemd started nothing: the unit is failed (start-limit-hit)")

    with pytest.raises(RefusedError, match=r"too many restarts in StartLimitIntervalSec \(run r2 of more_memory\)"):
        conduct(runbook, GIVEN, log, limited, lambda _text: None)
    assert [one.arm for one in log.results()] == ["base"]


def test_what_is_wrong_is_said_before_anything_runs(runbook: Runbook, tmp_path: Path) -> None:
    wrong = runbook.model_copy(
        update={"experiment": runbook.experiment.model_copy(update={"arms": {"a": {"speeed": "1"}}})}  # type: ignore[union-attr]
    )
    with pytest.raises(RefusedError, match="arm a sets speeed, which is no variable"):
        spec_of(wrong)
    with pytest.raises(StateError, match="no such experiment"):
        ExperimentLog(tmp_path / "none").document()


def test_the_widest_load_is_judged_and_an_inconclusive_limit_is_none() -> None:
    figures = Figures()
    for streams, rate in ((2.0, 500.0), (8.0, 900.0), (4.0, 700.0)):
        told = {"streams": streams, "ttft_p95_s": streams / 10}
        figures.hear(FindingMade(target="t", name="load_throughput", value=rate, figures=told))
    assert (figures.found["tok_min_gpu"], figures.found["ttft_p95_s"]) == ([900.0], [0.8])
    figures.hear(ConclusionMade(target="t", kind="bottleneck", text="inconclusive: only 2 streams were tried"))
    assert (figures.limit, figures.layer) == ("", "")
    figures.hear(ConclusionMade(target="t", kind="bottleneck", text="prefill: 60% of a request's time"))
    figures.hear(ConclusionMade(target="t", kind="lever", text="prefill: next prefix cache, chunk size"))
    assert (figures.limit, figures.layer) == ("prefill", "prefix cache, chunk size")
