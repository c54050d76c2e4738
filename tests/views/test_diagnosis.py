"""A diagnosis as it is read: the sentence, the way down, and every conclusion with its number."""

from __future__ import annotations

from console.schema.events import ConclusionMade, FindingMade
from console.views.diagnosis import diagnosis_lines

FINDINGS = [
    FindingMade(name="diagnosis", value="32 tok/s at 3.45k tokens: explained, not a regression"),
    FindingMade(name="factor_accept_length", value=0.61),
    FindingMade(name="factor_context", value=0.35),
    FindingMade(name="factor_rest", value=1.05),
]
CONCLUSIONS = [
    ConclusionMade(kind="verdict", text="32 tok/s were observed; 2.9 tokens a step of 95.6 ms make 30.3"),
    ConclusionMade(kind="lever", text="drafter acceptance 2.9->5.8", gain=2.0, evidence="proportional"),
    ConclusionMade(kind="ruled_out", text="parser change", evidence="ttft 0.06s"),
    ConclusionMade(kind="cause", text="two factors: accept_length and context"),
]


def test_what_it_says_and_in_which_order() -> None:
    told = diagnosis_lines(FINDINGS, CONCLUSIONS)
    assert told[0] == "32 tok/s at 3.45k tokens: explained, not a regression"
    words = [line[:12].strip() for line in told if line[:12].strip() in ("because", "ruled out", "would help")]
    assert words == ["because", "ruled out", "would help"]
    text = "\n".join(told)
    assert "parser change (ttft 0.06s)" in text
    assert "drafter acceptance 2.9->5.8: 2x (proportional)" in text
    assert all(len(line) <= 80 for line in told)


def test_the_bar_is_as_long_as_what_is_taken() -> None:
    bars = {line.split()[0]: line.count("-") for line in diagnosis_lines(FINDINGS, []) if line.startswith("  ")}
    assert bars["context"] > bars["accept_length"] > bars["rest"] == 0


def test_a_run_without_a_diagnosis_has_none_of_it() -> None:
    assert diagnosis_lines([FindingMade(name="pool_tokens", value=7)], CONCLUSIONS) == []
