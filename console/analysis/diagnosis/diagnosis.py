"""Everything together: a complaint, what the log, the record and the host show, and what follows from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from console.analysis.diagnosis.changed import Compared
from console.analysis.diagnosis.complaint import Complaint, filled
from console.analysis.diagnosis.curve import Curve, fit_windows
from console.analysis.diagnosis.factors import Judged, judge_factors
from console.analysis.diagnosis.hardware import HardwareVerdict, judge
from console.analysis.diagnosis.levers import Lever, levers
from console.analysis.diagnosis.reconcile import EXPLAINED, NOT_ENOUGH, Reconciled, reconcile
from console.analysis.diagnosis.recorded import (
    Cell,
    Rate,
    curve_of,
    implied_acceptance,
    reference_of,
    what_baselines_were,
)
from console.analysis.diagnosis.window import Excluded, Passive, acceptance_over_time, mean_acceptance
from console.schema.gpu_state import Hardware

# A first token this early in a request leaves nothing for a parser, the queue or prefill to explain.
EARLY = 0.05
WORTH_SAYING_BEYOND = 1.3
# A text this much more predictable than the user's is another kind of text.
MUCH_MORE = 1.5


# A factor, as what somebody may have suspected.
HYPOTHESES = {
    "steps": "slower steps",
    "acceptance": "drafter or text",
    "queue": "waiting in the queue",
    "prefill": "prefill beside it",
    "graphs": "graphs off",
}


@dataclass(frozen=True)
class Recorded:
    """What the results repository holds of this target's speed. `source` names the record."""

    cells: tuple[Cell, ...] = ()
    rates: tuple[Rate, ...] = ()
    source: str = ""

    @property
    def acceptance(self) -> float | None:
        """Of the longest context measured: the text of a real request is rarely a dozen tokens."""
        return max(self.cells, key=lambda cell: cell.context_tokens).accept_length if self.cells else None


@dataclass(frozen=True)
class Evidence:
    """All that was looked at. What is None was not looked at or could not be."""

    complaint: Complaint
    passive: Passive
    recorded: Recorded = field(default_factory=Recorded)
    measured: tuple[Cell, ...] = ()  # a sweep of this very run
    hardware: Hardware | None = None
    compared: Compared | None = None
    ceiling: float | None = None  # the most tokens a step can commit
    positions: tuple[float, ...] = ()  # acceptance rate of each position of the draft


@dataclass(frozen=True)
class Said:
    text: str
    evidence: str = ""
    gain: float | None = None


@dataclass(frozen=True)
class Diagnosis:
    """`headline` is the subject of the commit without the target. Causes, ruled out and levers in their order."""

    headline: str
    verdict: str
    reconciled: Reconciled
    complaint: Complaint
    curve: Curve | None
    passive_curve: Curve | None
    causes: tuple[Said, ...] = ()
    ruled_out: tuple[Said, ...] = ()
    levers: tuple[Said, ...] = ()
    assumed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    excluded: tuple[Excluded, ...] = ()
    windows: int = 0
    accept_length: float | None = None  # of the log
    acceptance: tuple[tuple[float, float, int], ...] = ()
    factors: tuple[Judged, ...] = ()
    hardware: HardwareVerdict = field(default_factory=HardwareVerdict)


def diagnose(evidence: Evidence, quantile: Callable[[float, float], float]) -> Diagnosis:
    """The verdict on a complaint. `quantile(p, df)` is Student's t. Never a guess: what is missing is said."""
    passive_curve, passive = fit_windows(evidence.passive)
    cells = evidence.recorded.cells or evidence.measured
    source = evidence.recorded.source if evidence.recorded.cells else "the sweep of this run"
    recorded_curve = curve_of(cells, source)
    curve = recorded_curve or passive_curve
    complaint = filled(evidence.complaint, passive, evidence.recorded.acceptance)
    reference, known_cell = reference_of(complaint.baselines, cells)
    reconciled = reconcile(complaint, curve, reference, quantile)
    hardware = judge(evidence.hardware) if evidence.hardware else HardwareVerdict()
    user = complaint.accept_length.value if complaint.accept_length else None
    again = evidence.measured if evidence.recorded.cells else ()
    factors = judge_factors(
        passive, again, recorded_curve, known_cell.accept_length if known_cell else None, user, hardware
    )
    causes = _causes(reconciled, factors, recorded_curve)
    told = list(_of_other_rates(evidence, complaint, curve))
    explained = reconciled.verdict == EXPLAINED
    return Diagnosis(
        headline=_headline(complaint, reconciled, recorded_curve),
        verdict=reconciled.verdict,
        reconciled=reconciled,
        complaint=complaint,
        curve=curve,
        passive_curve=passive_curve,
        causes=(*causes, *told) if explained else tuple(causes),
        notes=(*(() if explained else (one.text for one in told)), *_changed(evidence.compared)),
        ruled_out=tuple(_ruled_out(evidence, complaint, reconciled, factors)),
        levers=tuple(_levers(evidence, complaint, curve, passive)),
        assumed=complaint.assumed,
        missing=tuple(_missing(evidence, passive, reconciled, factors)),
        excluded=passive.excluded,
        windows=len(passive.windows),
        accept_length=mean_acceptance(passive.windows),
        acceptance=acceptance_over_time(passive.windows),
        factors=tuple(factors),
        hardware=hardware,
    )


def _headline(complaint: Complaint, reconciled: Reconciled, recorded: Curve | None) -> str:
    if complaint.observed is None or complaint.context_tokens is None:
        return NOT_ENOUGH
    at = f"{complaint.observed.value:.3g} tok/s at {_short(complaint.context_tokens)} tokens"
    if reconciled.verdict == NOT_ENOUGH:
        return f"{at}: {NOT_ENOUGH}"
    if reconciled.verdict == EXPLAINED:
        return f"{at}: explained, not a regression" if recorded else f"{at}: explained by the log's own curve"
    if reconciled.rest > 1.0:
        return f"{at}: not explained, faster than the curve"
    return f"{at}: not explained, steps {1.0 / reconciled.rest:.1f}x slower than the curve"


def _short(tokens: float) -> str:
    return f"{tokens / 1000:.3g}k" if tokens >= 1000 else f"{tokens:.0f}"


def _of_other_rates(evidence: Evidence, complaint: Complaint, curve: Curve | None) -> Iterator[Said]:
    """What the rates quoted, and those on record at like context, were made of."""
    context = complaint.context_tokens
    if curve is None or context is None:
        return
    source = "recorded sweep" if evidence.recorded.cells else "the log's own curve"
    for text in what_baselines_were(complaint.baselines, evidence.recorded.cells, curve, context):
        yield Said(text, source)
    if implied := implied_acceptance(evidence.recorded.rates, curve, context):
        low, high, count = implied
        user = complaint.accept_length
        predictable = user is not None and low > MUCH_MORE * user.value
        rates = f"{count} rates on record at like context imply an accept_length of {low:.1f} to {high:.1f}"
        yield Said(rates, "their text was predictable" if predictable else "")


def _causes(reconciled: Reconciled, factors: Sequence[Judged], recorded: Curve | None) -> list[Said]:
    """What explains the rate; of one that is not explained, only what is seen to have moved. Nothing is guessed."""
    if reconciled.verdict == NOT_ENOUGH:
        return []
    if reconciled.verdict == EXPLAINED:
        evidence = f"predicted {reconciled.predicted:.1f} tok/s [{reconciled.low:.1f},{reconciled.high:.1f}]"
        causes = [Said(_by(reconciled), evidence)]
        causes += [Said(f"{one.name} x{one.ratio:.2f}", one.text) for one in reconciled.telling]
        if recorded is None:
            causes.append(Said("no recorded sweep: that the steps were faster before is not ruled out"))
        return causes
    if reconciled.rest < 1.0:
        return [Said(one.text) for one in factors if one.moved and one.name != "acceptance"]
    return []


def _by(reconciled: Reconciled) -> str:
    """`two factors: accept_length and context`, or what the curve says by itself."""
    words = reconciled.sentence.partition(";")[0]
    return words.removeprefix("explained by ").removeprefix("explained: ")


def _ruled_out(
    evidence: Evidence, complaint: Complaint, reconciled: Reconciled, factors: Sequence[Judged]
) -> list[Said]:
    ruled = []
    ttft, observed, tokens = complaint.ttft_s, complaint.observed, complaint.output_tokens
    if ttft is not None and observed is not None and tokens:
        share = ttft.value / (tokens / observed.value)
        if share < EARLY:
            by = f"ttft {ttft.value:g}s"
            if reconciled.verdict == EXPLAINED:
                ruled.append(Said("parser change", by))
            ruled.append(Said("queue and prefill", f"{by} of {tokens / observed.value:.1f}s"))
    told = {"queue", "prefill"} if ruled else set()
    for one in factors:
        if one.moved is False and one.name not in told:
            hypothesis = HYPOTHESES.get(one.name)
            ruled.append(Said(hypothesis, one.text) if hypothesis else Said(one.text))
    if evidence.compared is not None and evidence.compared.same:
        ruled.append(Said("a change of " + ", ".join(evidence.compared.same), f"same as {evidence.compared.since}"))
    return ruled


def _levers(evidence: Evidence, complaint: Complaint, curve: Curve | None, passive: Passive) -> list[Said]:
    if curve is None or complaint.context_tokens is None or complaint.accept_length is None:
        return []
    found: list[Lever] = levers(
        curve,
        complaint.context_tokens,
        complaint.batch or 1.0,
        complaint.accept_length.value,
        speculative=passive.speculative is not False,
        positions=evidence.positions or _positions(evidence),
        ceiling=evidence.ceiling,
    )
    return [Said(one.text, one.evidence, one.gain) for one in found]


def _positions(evidence: Evidence) -> tuple[float, ...]:
    """Of the longest context that a sweep kept them for, the newest sweep first: a log may not tell them."""
    cells = [*evidence.measured] or [*evidence.recorded.cells]
    told = [cell for cell in cells if cell.draft_positions]
    return max(told, key=lambda cell: cell.context_tokens).draft_positions if told else ()


def _changed(compared: Compared | None) -> Iterator[str]:
    if compared is not None:
        yield from (f"changed since {compared.since}: {text}" for text in compared.differs)


def _missing(evidence: Evidence, passive: Passive, reconciled: Reconciled, factors: Sequence[Judged]) -> list[str]:
    told = [*reconciled.missing, *passive.notes, *(one.text for one in factors if one.moved is None)]
    if evidence.compared is None:
        told.append("no good record to compare with: whether something changed cannot be told")
    else:
        told += [f"{name} cannot be compared with {evidence.compared.since}" for name in evidence.compared.unknown]
    if reconciled.beyond > WORTH_SAYING_BEYOND:
        told.append(f"extrapolated {reconciled.beyond:.1f}-fold beyond the contexts of the curve")
    if (mean := mean_acceptance(passive.windows)) and complaint_differs(evidence.complaint, mean):
        told.append(f"the log's own accept_length is {mean:.2f}")
    return list(dict.fromkeys(told))


def complaint_differs(complaint: Complaint, mean: float) -> bool:
    """Whether the acceptance told is not the log's."""
    given = complaint.accept_length
    return given is not None and abs(given.value / mean - 1.0) > 0.1
