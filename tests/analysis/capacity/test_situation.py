"""What could not be seen is named, and what can be known is known all the same."""

from __future__ import annotations

from console.analysis.capacity.judge import judge
from console.analysis.capacity.report import reported
from console.analysis.capacity.situation import situation_of
from console.schema.capacity import CapacityReport
from console.schema.facts import Facts, MemoryLog, ModelConfig, Process
from tests.analysis.capacity.test_judge import LINE, ask, config, seen
from tests.fakes import FRAGMENT, SGLANG, unit_file

NO_LOG = MemoryLog()


def told(facts: Facts, **settings: str) -> CapacityReport:
    return reported(facts, SGLANG, settings)


def without(reason: str) -> ModelConfig:
    return ModelConfig(role="model", named="/models/k", error=reason)


def test_a_model_that_cannot_be_read() -> None:
    for reason in (
        "/models/k holds no config.json (not downloaded yet, gated, or no model)",
        "/models/k cannot be looked at as the login user (sudo: a password is required)",
        "it is there and could not be read",
    ):
        said = told(seen(without(reason)), context_length="200000")
        assert f"the model's config.json: {reason}" in said.missing
        assert said.judgement is not None
        assert said.judgement.verdict == "starts but cannot serve", "the pool that runs says so"
        assert said.judgement.largest_tokens == 101_128
        assert "not computed" in said.calibration[-1]


def test_a_log_that_is_a_file() -> None:
    files = (unit_file(FRAGMENT, "[Service]\nExecStart=/bin/x\nStandardOutput=append:/var/log/e.log\n"),)
    said = told(seen(log=NO_LOG).model_copy(update={"files": files}), context_length="100000")
    assert any("it goes to /var/log/e.log, not to the journal" in text for text in said.missing)
    assert said.judgement is not None
    assert (said.judgement.verdict, said.judgement.pool_tokens) == ("serves", 101_134)


def test_a_start_that_the_journal_no_longer_shows() -> None:
    said = told(seen(log=NO_LOG), context_length="200000", mem_fraction="0.92")
    assert said.calibrated is None
    assert said.calibration[-1] == "not calibrated: the log of this start shows no size of the pool"
    assert said.judgement is not None
    assert said.judgement.pool_tokens == 203_386, "computed bytes have to do"


def test_flags_in_a_wrapper_are_those_of_the_process() -> None:
    script = "[Service]\nExecStart=/opt/start.sh\n"
    running = seen().model_copy(update={"files": (unit_file(FRAGMENT, script),)})
    assert situation_of(running, SGLANG).setup.window == 32768
    stopped = running.model_copy(update={"process": Process(), "serving": None, "models": (), "memory": NO_LOG})
    what = situation_of(stopped, SGLANG)
    assert "the model: the command line names none that could be read" in what.missing
    said = judge(what, ["/opt/start.sh", "--context-length", "200000"], {}, SGLANG)
    assert said.verdict == "unknown"


def test_quantised_in_either_place() -> None:
    cell = ask(seen(), context_length="100000").cell_bytes
    assert cell == 70_272, "4-bit weights say nothing of the cache"


def test_no_speculation_needs_no_draft() -> None:
    said = told(seen(config("model", "kimi-k2.6"), words=LINE), context_length="100000")
    assert not any("draft" in text for text in said.missing)
    assert said.draft_limit_tokens is None
