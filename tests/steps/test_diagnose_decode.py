"""Why is it slow? From what a host and the repository show to the findings and conclusions of a run."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from console.engines.base import Reply
from console.errors import UnreachableError
from console.remote.scripts import Output
from console.schema.events import ConclusionMade, FindingMade
from console.schema.facts import Process
from console.steps.base import StepResult
from console.steps.diagnose_decode import DiagnoseDecode
from tests.analysis.diagnosis.traffic import lines
from tests.fakes import FRAGMENT, FakeRemote, Told, facts, ok, serving, step_io, unit_file

CASES = Path(__file__).parents[1] / "cases" / "gpu"
COMPLAINT = {"observed": "32", "prompt": 2700, "tokens": 1500, "accept": "2.9", "baseline": "138", "ttft": "0.06"}


def journal(texts: list[str]) -> str:
    return "".join(
        json.dumps({"__CURSOR": str(at), "__REALTIME_TIMESTAMP": str(at * 1_000_000), "MESSAGE": text}) + "\n"
        for at, text in enumerate(texts, 1)
    )


def gpus(name: str = "eight-well.txt") -> dict[str, str]:
    state, _, rest = (CASES / name).read_text().partition("#processes\n")
    processes, _, ours = rest.partition("#ours ")
    return {"gpu_state": state.removeprefix("#"), "gpu_processes": f"status=0\n{processes}", "unit_processes": ours}


class Asked:
    """One diagnosis of a host that shows `sections`."""

    def __init__(self, answer: Output | Exception, replies: Sequence[Reply] = (Reply(404),)) -> None:
        self.told = Told()
        self.remote = FakeRemote(answers={"look_speed.sh": answer}, replies=replies)

    async def run(self, fields: dict[str, Any], **more: Any) -> StepResult:
        io = step_io(self.remote, "diagnose.decode", self.told, **more)
        return await DiagnoseDecode.model_validate(fields).run(io)

    def said(self, kind: str) -> list[str]:
        return [one.text for one in self.told.of(ConclusionMade) if one.kind == kind]

    def finding(self, name: str) -> FindingMade:
        return next(one for one in self.told.of(FindingMade) if one.name == name)


def record(folder: Path, cells: list[tuple[int, float, float]]) -> Path:
    """A results repository with one record of the fake host, which holds a sweep: (prompt, tok/s, commit)."""
    target = FakeRemote().target.name
    path = folder / target / "2026" / "R1"
    path.mkdir(parents=True)
    findings = [
        {"name": name, "value": value, "context_tokens": context, "text_class": "analysis"}
        for context, rate, commit in cells
        for name, value in (("decode_rate", rate), ("accept_length", commit))
    ]
    document = {"run": "R1", "outcome": "measured", "runbook": "context-sweep", "findings": findings}
    (path / "record.json").write_text(json.dumps(document))
    message = f"{target}: sweep\n\nRun-Id: R1\nTarget: {target}\nRunbook: context-sweep\nOutcome: measured\n"
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", message]):
        subprocess.run(["git", "-C", str(folder), *words], check=True)
    return folder


async def test_a_complaint_is_explained_from_the_log_alone() -> None:
    asked = Asked(ok(log=journal(lines(1)), **gpus()))
    result = await asked.run(COMPLAINT)
    assert result.outcome == "ok"
    assert result.message.startswith("explained by one factor: context")
    assert asked.finding("diagnosis").value == "32 tok/s at 3.45k tokens: explained by the log's own curve"
    assert asked.finding("step_time_slope").value == pytest.approx(0.0201, rel=0.06)
    assert any(text.startswith("no recorded sweep") for text in asked.said("cause"))
    assert asked.told.of(FindingMade)[0].name == "diagnosis", "the headline is the first finding"
    assert asked.remote.requests == [], "nothing is sent to the engine"


async def test_against_the_recorded_sweep_a_slower_step_is_named(tmp_path: Path) -> None:
    law = [(x, 2.9e3 / (26.3 + 0.0201 * (x + 316)), 2.9) for x in (13, 1663, 3333, 5553)]
    results = record(tmp_path / "results", law)
    asked = Asked(ok(log=journal(lines(1, factor=1.25)), **gpus("one-slow-of-eight.txt")))
    result = await asked.run({**COMPLAINT, "observed": "24.3"}, results_path=results)
    assert result.message.startswith("not explained: steps 1.2x slower than the curve")
    causes = asked.said("cause")
    assert causes[0].startswith("a regression: steps of ")
    assert "GPU 5 at 1395 MHz, the others at 2407: 0.58x" in causes
    assert "no recorded sweep to compare the step time with" not in asked.said("missing")


async def test_what_is_missing_is_filled_from_the_log_and_said() -> None:
    asked = Asked(ok(log=journal(lines(2)), **gpus()))
    result = await asked.run({})
    assert result.message.startswith("explained")
    assumed = "\n".join(asked.said("assumed"))
    for word in ("context", "batch", "accept_length", "observed", "time to the first token"):
        assert word in assumed


async def test_nothing_known_is_not_enough_to_say() -> None:
    asked = Asked(ok(log=""))
    result = await asked.run({"observed": "32"})
    assert result.outcome == "ok"
    assert asked.finding("diagnosis").flags == ("not enough to say",)
    missing = "\n".join(asked.said("missing"))
    assert "the context (--prompt, --tokens)" in missing
    assert "nvidia-smi is not installed" in missing
    assert "no line of the engine's batches" in missing


async def test_a_log_that_is_a_file_is_read_there() -> None:
    asked = Asked(ok(log="\n".join(lines(1)), **gpus()))
    files = (unit_file(FRAGMENT, "[Service]\nExecStart=/bin/x\nStandardOutput=append:/var/log/engine.log\n"),)
    before = facts().model_copy(update={"files": files})
    result = await asked.run(COMPLAINT, before=before)
    assert asked.remote.told == [("look_speed.sh", (asked.remote.target.service.unit, "3600", "/var/log/engine.log"))]
    assert result.message.startswith("explained")
    assert any("not in the journal" in text for text in asked.said("missing"))


async def test_the_unit_tells_how_often_a_line_comes_and_how_much_a_step_can_commit() -> None:
    argv = ("python3", "--decode-log-interval", "40", "--speculative-num-steps=4")
    asked = Asked(ok(log=journal(lines(1)), **gpus()))
    await asked.run(COMPLAINT, before=facts().model_copy(update={"process": Process(pid=1, argv=argv)}))
    lever = next(one for one in asked.told.of(ConclusionMade) if one.text.startswith("drafter acceptance"))
    assert lever.text == "drafter acceptance 2.9->5", "no drafter commits more than its steps and one"


async def test_a_host_that_is_gone_is_an_error_and_no_verdict() -> None:
    asked = Asked(UnreachableError("no answer", where="node7"))
    with pytest.raises(UnreachableError):
        await asked.run(COMPLAINT)
    assert asked.told.of(FindingMade) == []


@pytest.mark.parametrize("wrong", [{"observed": "fast"}, {"accept": "-1"}, {"ttft": "nan"}, {"baseline": "138@"}])
def test_a_figure_that_is_none_is_refused(wrong: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        DiagnoseDecode.model_validate(wrong)


async def test_the_size_of_the_pool_is_asked_of_the_facts() -> None:
    asked = Asked(ok(log=""))
    await asked.run(COMPLAINT, before=facts(serving=serving(pool_tokens=None)))
    assert asked.finding("diagnosis").flags == ("not enough to say",)


def metrics(at: int) -> Reply:
    text = (
        f"sglang:generation_tokens_total {1000 + 145 * at}\nsglang:prompt_tokens_total 2700\n"
        f"sglang:spec_verify_calls_total {300 + 50 * at}\nsglang:num_running_reqs 1\nsglang:num_queue_reqs 0\n"
        f"sglang:token_usage {0.034 + 0.001 * at}\nsglang:max_total_num_tokens 100000\n"
    )
    return Reply(200, text.encode())


async def test_where_the_log_tells_no_batches_the_counters_do() -> None:
    asked = Asked(ok(log="", **gpus()), [metrics(at) for at in range(4)])
    await asked.run(COMPLAINT)
    assert asked.finding("log_accept_length").value == pytest.approx(2.9)
    assert any("3 windows between looks at the counters" in text for text in asked.said("missing"))
    assert [request.method for request in asked.remote.requests] == ["GET"] * 4
