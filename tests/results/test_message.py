"""The commit message: read by a person in `git log`, and by git's own trailer tools as an audit."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from console.results.message import compose, parse, subject, trailers
from console.results.repository import Repository
from console.results.stack import stack_of
from console.schema.capacity import DecodeCost, Judgement
from console.schema.events import ConclusionMade, FindingMade
from console.schema.outcome import Outcome
from console.schema.record import Record, RecordSetting
from console.secrets import Redactor
from tests.results.conftest import record_of
from tests.runs import stories
from tests.runs.stories import COMMAND, RESTART, RUN, Story

GitCommand = Callable[..., str]


def setting(name: str, before: str | None, after: str | None, *, made: bool = True) -> RecordSetting:
    return RecordSetting(setting=name, before=before, after=after, path="/etc/systemd/system/x.service", made=made)


CONTEXT = setting("context_length", "4096", "8192")
MEMORY = setting("mem_fraction", None, "0.92")
NOT_MADE = [CONTEXT.model_copy(update={"made": False}), MEMORY.model_copy(update={"made": False})]


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"settings": [CONTEXT]}, "gpu7/llm: context_length 4096 -> 8192, verified"),
        ({"settings": [CONTEXT, MEMORY]}, "gpu7/llm: context_length 4096 -> 8192 (+1), verified"),
        ({"settings": [MEMORY]}, "gpu7/llm: mem_fraction absent -> 0.92, verified"),
        (
            {"settings": [setting("context_length", "8192", "8192", made=False)], "outcome": Outcome.NO_CHANGE},
            "gpu7/llm: context_length already 8192, no-change",
        ),
        (
            {"settings": [setting("context_length", "8192", "8192", made=False), MEMORY]},
            "gpu7/llm: mem_fraction absent -> 0.92, verified",
        ),
        (
            {"settings": [CONTEXT], "outcome": Outcome.ROLLED_BACK},
            "gpu7/llm: context_length back to 4096 from 8192, rolled-back",
        ),
        (
            {"settings": [CONTEXT], "outcome": Outcome.APPLIED_UNVERIFIED},
            "gpu7/llm: context_length 4096 -> 8192, applied-unverified",
        ),
        (
            {"settings": NOT_MADE, "outcome": Outcome.FAILED_UNCHANGED},
            "gpu7/llm: context_length still 4096, not 8192 (+1), failed-unchanged",
        ),
        (
            {"settings": NOT_MADE, "outcome": Outcome.ABORTED_UNCHANGED},
            "gpu7/llm: context_length still 4096, not 8192 (+1), aborted-unchanged",
        ),
        ({"settings": [], "outcome": Outcome.FAILED_UNCHANGED}, "gpu7/llm: extend-window, failed-unchanged"),
        (
            {"settings": [CONTEXT], "purpose": "rollback", "parent": RUN},
            f"gpu7/llm: rollback of {RUN}: context_length 4096 -> 8192, verified",
        ),
        (
            {
                "settings": [],
                "outcome": Outcome.MEASURED,
                "findings": [FindingMade(name="decode_rate", value=139.62, unit="tok/s")],
            },
            "gpu7/llm: extend-window decode_rate 139.6tok/s, measured",
        ),
        ({"settings": [], "outcome": Outcome.UNKNOWN}, "gpu7/llm: extend-window, unknown"),
    ],
)
def test_subjects(record: Record, change: dict[str, Any], line: str) -> None:
    assert subject(record.model_copy(update=change)) == line


def test_a_window_that_slots_share_is_told_with_what_a_request_gets(record: Record) -> None:
    (level,) = record.levels
    shared = level.model_copy(update={"disk": "8192", "loaded": "8192", "running": "8192", "serving": "2048"})
    said = " ".join(compose(record.model_copy(update={"levels": (shared,)})).split())
    assert "agrees (context_length 8192, shared by its slots: a request gets 2048)." in said


def test_a_whole_message(record: Record) -> None:
    full = record.model_copy(
        update={"reason": "longer documents", "ticket": "OPS-7", "operator_auth": "publickey SHA256:abc, ops"}
    )
    assert (
        compose(full)
        == f"""\
gpu7/llm: context_length 4096 -> 8192, verified

context_length was changed from 4096 to 8192 in
/etc/systemd/system/engine-llm.service, and engine-llm.service was
restarted.

It is believed to serve because what is on disk, loaded, running and
serving agrees (context_length 8192). A request of 4160 prompt tokens
was answered.

Run-Id: {RUN}
Target: gpu7/llm
Runbook: extend-window sha256:{"c" * 64}
Unit: engine-llm.service
Change: context_length 4096 -> 8192
Outcome: verified
Finished: 2026-03-04T05:00:31.000Z
Outage: 0s
Reason: longer documents
Ticket: OPS-7
Operator: casey
Operator-Auth: publickey SHA256:abc, ops, from desk4
Finding: prompt_tokens 4160 n=1 method="probe past-old" source=engine
Engine: sglang 0.5
Model: m-1
"""
    )


def test_a_run_that_is_gone_on_with_says_whose_change_it_proves(record: Record) -> None:
    cost = DecodeCost(context_tokens=8192, step_ms=191.0, text="decode at 8,192 tokens: 191.0 ms a step")
    judged = Judgement(verdict="serves", sentence="it fits", decode=cost)
    resumed = {"settings": NOT_MADE, "changes": (), "purpose": "resume", "parent": RUN, "capacity": judged}
    first = " ".join(compose(record.model_copy(update=resumed)).split("\n\n")[1].split())
    assert first == (
        f"Run {RUN} was gone on with: context_length from 4096 to 8192 and mem_fraction from absent to 0.92; no more "
        "was written. Expected there: decode at 8,192 tokens: 191.0 ms a step."
    )
    assert "From the restart to ready" not in compose(record.model_copy(update=resumed)), "that was another run's"


@pytest.mark.parametrize("name", stories.ALL)
def test_every_end_has_a_message_that_names_it(name: str) -> None:
    record = record_of(stories.ALL[name]())
    text = compose(record)
    assert ("Outcome", record.outcome.value) in parse(text)
    assert text.splitlines()[0].endswith(f", {record.outcome.value}")
    assert max(map(len, text.split("\n\n")[1].splitlines())) <= 72


class TestProse:
    def test_a_failure_says_what_ended_it(self) -> None:
        text = compose(record_of(stories.rolled_back()))
        assert "The old state was put back and is proven to serve. " in text.replace("\n", " ")
        assert "What ended the run: out of memory." in text

    def test_on_disk_only(self) -> None:
        story = Story().written().phase("stop", "aborted", 130).close("applied-unverified", 3, live=False)
        assert "takes effect at the next restart" in compose(record_of(story)).replace("\n", " ")

    def test_what_is_unknown(self) -> None:
        story = Story().written().start("restart").intend(RESTART)
        assert "It is not known whether this happened: restart." in compose(record_of(story)).replace("\n", " ")

    def test_what_explains_and_what_would_help(self, record: Record) -> None:
        text = compose(
            record.model_copy(
                update={
                    "conclusions": [
                        ConclusionMade(kind="ruled_out", text="thermal limits"),
                        ConclusionMade(kind="cause", text="longer contexts"),
                        ConclusionMade(kind="lever", text="drafter acceptance 2.9->5.8", gain=2.0),
                    ]
                }
            )
        )
        assert "Ruled out: thermal limits.\n\nExplained by: longer contexts.\n\nWould help: drafter" in text
        assert parse(text)[-5:-2] == [
            ("Ruled-out", "thermal limits"),
            ("Cause", "longer contexts"),
            ("Lever", "1 drafter acceptance 2.9->5.8 = 2x"),
        ]


class TestTrailers:
    @pytest.mark.parametrize(
        ("finding", "value"),
        [
            (
                FindingMade(
                    name="decode_rate",
                    value=139.6,
                    unit="tok/s",
                    low=138.9,
                    high=140.3,
                    interval="confidence",
                    confidence=0.95,
                    context_tokens=13,
                    text_class="a",
                    method="two_point",
                ),
                "decode_rate 139.6tok/s [138.9,140.3] confidence=95% context_tokens=13 text_class=a method=two_point",
            ),
            (FindingMade(name="pool_tokens", value=203386, unit="tokens"), "pool_tokens 203386"),
            (
                FindingMade(name="slope", value=0.0201, unit="ms/token", context_tokens="13..5553"),
                "slope 0.0201ms/token context_tokens=13..5553",
            ),
            (
                FindingMade(name="rate", value=12.0, unit="tok/s", low=1, high=2, interval="prediction", confidence=95),
                "rate 12tok/s [1,2] confidence=95% interval=prediction",
            ),
            (
                FindingMade(name="x", value="not measured", flags=("speed=20", "too few")),
                'x "not measured" "speed=20" "too few"',
            ),
        ],
    )
    def test_findings(self, record: Record, finding: FindingMade, value: str) -> None:
        assert ("Finding", value) in list(trailers(record.model_copy(update={"findings": [finding]})))

    def test_a_change_is_named_only_when_it_was_made(self) -> None:
        assert "Change" not in dict(parse(compose(record_of(stories.refused()))))
        intended = Story().begin().start("set").intend(stories.file_change())
        assert "Change" not in dict(parse(compose(record_of(intended))))
        assert dict(parse(compose(record_of(stories.rolled_back()))))["Change"] == "context_length 4096 -> 8192"

    def test_commands_and_restarts_are_changes(self) -> None:
        steps = (("c", "host.command"),)
        assert (
            dict(parse(compose(record_of(Story().begin(steps, nothing_to_do=True).change("c", COMMAND)))))["Change"]
            == "command set huge pages"
        )
        assert (
            dict(parse(compose(record_of(Story().begin(steps, nothing_to_do=True).change("c", RESTART)))))["Change"]
            == "restart engine-llm.service"
        )

    def test_hardware_and_simulation(self, record: Record) -> None:
        gpu = {"name": "GPU-96", "memory_total_mib": 97894, "driver": "580.1"}
        facts = {
            "host": {"gpus": [gpu, gpu]},
            "serving": {"model": "m-2", "version": "1.2", "settings": {"tensor_parallel": "8", "dtype": "bfloat16"}},
        }
        draft, model = {"role": "draft", "sha256": "d" * 64}, {"role": "model", "sha256": "a" * 64}
        slow = facts | {"host": {"gpus": [gpu | {"clock_mhz": 2430}, gpu | {"clock_mhz": 1980}]}}
        stack = stack_of("sglang", slow | {"models": [draft, model]})
        quick = stack_of("sglang", facts | {"models": [draft, model]})
        assert stack is not None
        assert quick is not None
        assert stack.id == quick.id  # a clock is another each time, the stack is the same
        assert stack.model_revision == "a" * 64
        found = dict(trailers(record.model_copy(update={"stack_after": stack, "simulated": True})))
        assert found["Hardware"] == "2 x GPU-96 97894MiB driver=580.1 clock=1980MHz"
        assert (found["Parallelism"], found["Precision"], found["Simulated"]) == ("tp=8", "dtype=bfloat16", "yes")

    def test_git_reads_them(self, repository: Repository, record: Record, git: GitCommand) -> None:
        hostile = record.model_copy(
            update={
                "reason": "x\nOutcome: rolled-back\n\nApproved-by: root\n---\ndiff --git",
                "note": "--- \n# a heading\nNotes:\n\x1b[31mred\x1b[0m",
                "ticket": "  ",
            }
        )
        repository.commit_target(hostile, Redactor())
        outcome = git("log", "-1", "--format=%(trailers:key=Outcome,valueonly)")
        assert outcome.split() == ["verified"]
        written = list(trailers(hostile))
        seen = git("log", "-1", "--format=%(trailers:only,unfold)").strip().splitlines()
        assert seen == [f"{key}: {value}" for key, value in written]
        assert "Approved-by" not in [key for key, _ in written]
        body = git("log", "-1", "--format=%B")
        through_pipe = subprocess.run(
            ["git", "interpret-trailers", "--parse"], input=body, capture_output=True, text=True, check=True
        )
        assert through_pipe.stdout.splitlines() == seen


HOSTILE = st.text(st.sampled_from("ab:-# \n\r\t\x00\x1b\u2028\u202e|`'\"\\…ü"), max_size=40)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(reason=HOSTILE, note=HOSTILE, text=HOSTILE, value=HOSTILE, unit=HOSTILE)
def test_no_text_can_forge_a_trailer(record: Record, reason: str, note: str, text: str, value: str, unit: str) -> None:
    hostile = record.model_copy(
        update={
            "reason": reason,
            "note": note,
            "message": text,
            "outcome": Outcome.ROLLED_BACK,
            "settings": [setting("context_length", value, value + "1")],
            "findings": [FindingMade(name="x", value=value, unit=unit, method=text, flags=(reason,))],
            "conclusions": [ConclusionMade(kind="cause", text=text, evidence=value)],
        }
    )
    read = parse(compose(hostile))
    assert read == list(trailers(hostile))
    assert [value for key, value in read if key == "Outcome"] == ["rolled-back"]


def test_message_keeps_its_place(tmp_path: Path) -> None:
    """git sees trailers only where the message ends with a line end."""
    assert compose(record_of(stories.verified())).endswith("\n")
    assert parse("subject\n\nprose: with a colon\nand more\n") == []
