"""What a record says, its commit says, and reads back: whatever stands in it, and with git's own tools as well."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from console.results.message import compose, parse
from console.results.stack import trailers as stack_trailers
from console.results.told import (
    STACK,
    ChangeTold,
    Told,
    finding_told,
    observed_told,
    read_change,
    read_finding,
    read_observed,
    read_trailers,
)
from console.results.words import cut, split, unword, word
from console.schema.events import FindingMade
from console.schema.record import ObservedSetting, Record, RecordSetting, Stack
from console.untrusted import one_line
from tests.results.conftest import record_of
from tests.runs import stories

few = settings(max_examples=60, deadline=None)
HOSTILE = st.text(st.sampled_from("ab:-#>= \n\r\t\x00\x1b\u2028\u202e\ud800\x9b|`'\"\\…ü[],0.9%"), max_size=30)
WORDS = st.one_of(
    HOSTILE, st.sampled_from(["absent", "->", '"', "absent -> x", "12tok/s", "[1,2]", "n=4", "unit=ms", ""])
)
AMOUNT = st.one_of(st.integers(-(10**9), 10**9), st.floats(allow_nan=True, allow_infinity=True), WORDS)


@few
@given(WORDS)
def test_a_word_reads_back(value: str) -> None:
    said = word(value)
    assert unword(said) == value
    assert split(f"a {said} b") == ["a", said, "b"]
    assert one_line(said) == said
    assert unword(word(None)) is None


def test_a_long_word_is_cut() -> None:
    assert unword(word("x" * 5000)) == cut("x" * 5000)
    assert len(word("x" * 5000)) == 1000


FINDINGS = st.builds(
    FindingMade,
    name=WORDS.filter(bool),
    value=AMOUNT,
    unit=st.one_of(st.sampled_from(["", "tok/s", "ms", "tokens"]), WORDS),
    low=st.one_of(st.none(), st.floats(-1e6, 1e6)),
    high=st.one_of(st.none(), st.floats(-1e6, 1e6)),
    interval=st.sampled_from(["", "confidence", "prediction"]),
    confidence=st.one_of(st.none(), st.floats(0.5, 0.99)),
    n=st.one_of(st.none(), st.integers(0, 99)),
    context_tokens=st.one_of(st.none(), st.integers(0, 10**6), WORDS),
    text_class=WORDS,
    method=WORDS,
    source=WORDS,
    flags=st.lists(WORDS, max_size=2),
    figures=st.dictionaries(st.sampled_from(["step_ms", "accept_length", "slope_ms_per_token"]), st.floats(0, 1e6)),
)


@few
@given(FINDINGS)
def test_a_finding_reads_back(finding: FindingMade) -> None:
    told = finding_told(finding)
    assert read_finding(told.line) == told
    assert one_line(told.line) == told.line


@few
@given(WORDS, st.one_of(st.none(), WORDS), st.one_of(st.none(), WORDS), WORDS)
def test_changes_and_what_was_observed_read_back(name: str, before: str | None, after: str | None, how: str) -> None:
    told = ChangeTold(name, before, after)
    assert read_change(told.sentence) == told
    seen = observed_told(
        ObservedSetting(setting=name, before=before, after=after, how=how, since="2026-01-01T00:00:00Z", until=how)
    )
    assert read_observed(seen.line) == seen


def told_of(record: Record) -> Told:
    """What the message of a record should tell, taken from the record itself."""

    def free(text: str) -> str:
        return one_line(text, 400)

    levers = sorted((c for c in record.conclusions if c.kind == "lever"), key=lambda c: -(c.gain or 0))
    stack = {key: free(value) for key, value in stack_trailers(record)}
    auth = ", ".join(
        part for part in (record.operator_auth, f"from {record.from_host}" if record.from_host else "") if part
    )
    return Told(
        run=record.run,
        target=record.target,
        outcome=record.outcome.value,
        runbook=record.runbook,
        runbook_sha256=record.runbook_sha256,
        parent=record.parent,
        unit=record.unit,
        changes=tuple(ChangeTold(s.setting, s.before, s.after).sentence for s in record.settings if s.made),
        observed=tuple(observed_told(one) for one in record.observed),
        finished=record.finished_at,
        outage_s="" if record.outage_s is None else f"{record.outage_s:.0f}",
        reason=free(record.reason),
        ticket=free(record.ticket),
        operator=free(record.operator),
        operator_auth=free(auth),
        finding_lines=tuple(finding_told(one).line for one in record.findings),
        causes=tuple(free(c.text) for c in record.conclusions if c.kind == "cause" and free(c.text)),
        levers=tuple(f"{rank} {c.text}" for rank, c in enumerate(levers, 1)),
        stack=tuple((key, stack[key]) for key in STACK if stack.get(key)),
        simulated=record.simulated,
    )


SETTINGS = st.lists(
    st.builds(
        RecordSetting,
        setting=WORDS.filter(bool),
        before=st.one_of(st.none(), WORDS),
        after=st.one_of(st.none(), WORDS),
        made=st.just(True),
    ),
    min_size=1,
    max_size=3,
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    asked=SETTINGS,
    findings=st.lists(FINDINGS, max_size=2),
    texts=st.fixed_dictionaries(dict.fromkeys(("reason", "ticket", "operator", "note", "message"), HOSTILE)),
    model=HOSTILE,
    simulated=st.booleans(),
)
def test_record_to_message_to_trailers_to_record(
    record: Record,
    asked: list[RecordSetting],
    findings: list[FindingMade],
    texts: dict[str, str],
    model: str,
    simulated: bool,
) -> None:
    hostile = record.model_copy(
        update={
            **texts,
            "settings": tuple(asked),
            "findings": tuple(findings),
            "simulated": simulated,
            "stack_after": Stack(engine="sglang", model=model, scheduler={"max_running_requests": "8"}),
        }
    )
    text = compose(hostile)
    assert read_trailers(parse(text)) == told_of(hostile)
    assert max(len(line) for line in text.split("\n")[:1]) < 400


EXAMPLES: list[dict[str, Any]] = [
    {"reason": "Notes: a\n---\nOutcome: rolled-back", "note": "---\ndiff --git a b"},
    {"settings": (RecordSetting(setting="context_length", before="4096", after='8192" -> "x\nRun-Id: 1', made=True),)},
    {"findings": (FindingMade(name="x y", value="a\n\nFinding: z 1", flags=("n=5", "two words")),)},
    {"ticket": "  ", "operator": "# comment\tx", "operator_auth": "\u202egpj.exe"},
]


@pytest.mark.parametrize("change", EXAMPLES)
def test_git_reads_what_we_read(tmp_path: Path, change: dict[str, Any]) -> None:
    text = compose(record_of(stories.verified()).model_copy(update=change))
    ours = [f"{key}: {value}" for key, value in parse(text)]
    piped = subprocess.run(
        ["git", "interpret-trailers", "--parse", "--no-divider"], input=text.encode(), capture_output=True, check=True
    )
    assert piped.stdout.decode().splitlines() == ours
    git = ["git", "-C", str(tmp_path)]
    subprocess.run([*git, "init", "-q"], check=True)
    words = ["commit", "-q", "--allow-empty", "--cleanup=whitespace", "-F", "-"]
    subprocess.run([*git, *words], input=text.encode(), check=True, env=os.environ)
    form = "--format=%(trailers:only,unfold)"
    logged = subprocess.run([*git, "log", "-1", form], capture_output=True, check=True)
    assert logged.stdout.decode().strip().splitlines() == ours
