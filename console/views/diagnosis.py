"""A diagnosis as it is read at night: the sentence, the way from the rate expected to the rate seen, what follows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from console.schema.events import ConclusionMade, FindingMade
from console.views.cells import wrap

# Kinds of conclusion in the order they are read, with the word before them.
KINDS = (
    ("cause", "because"),
    ("noted", "noted"),
    ("ruled_out", "ruled out"),
    ("lever", "would help"),
    ("assumed", "assumed"),
    ("missing", "not known"),
)
COLUMN = 12
BAR = 24


def diagnosis_lines(
    findings: Sequence[FindingMade], conclusions: Sequence[ConclusionMade], width: int = 80
) -> list[str]:
    """Nothing where the run made no diagnosis."""
    headline = next((str(one.value) for one in findings if one.name == "diagnosis"), "")
    if not headline:
        return []
    said = [headline, ""]
    for one in conclusions:
        if one.kind == "verdict":
            said += [*wrap(one.text, width), ""]
    said += _waterfall(findings)
    for kind, word in KINDS:
        texts = [_told(one) for one in conclusions if one.kind == kind]
        for number, text in enumerate(texts):
            said += wrap(text, width, first=f"{word if not number else '':<{COLUMN}}", rest=" " * COLUMN)
    return said


def _told(one: ConclusionMade) -> str:
    gain = f": {one.gain:.2g}x" if one.gain is not None else ""
    evidence = f" ({one.evidence})" if one.evidence else ""
    return f"{one.text}{gain}{evidence}"


def _waterfall(findings: Sequence[FindingMade]) -> Iterator[str]:
    """Each factor's ratio with a bar; the longer, the more it takes. What is left is the rest."""
    factors = {
        one.name.removeprefix("factor_"): float(one.value)
        for one in findings
        if one.name.startswith("factor_") and isinstance(one.value, int | float)
    }
    for name, ratio in factors.items():
        taken = round(BAR * abs(1.0 - min(ratio, 1.0 / ratio if ratio else 0.0)))
        yield f"  {name:<14} x{ratio:<6.3g} {'-' * taken if ratio < 1 else '+' * taken}".rstrip()
    if factors:
        yield ""
