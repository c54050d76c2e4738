"""A diagnosis as the events that a record is made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from console.analysis.diagnosis.diagnosis import Diagnosis
from console.analysis.diagnosis.group import Replica, odd_members, side_by_side
from console.schema.events import ConclusionMade, Event, FindingMade
from console.schema.facts import Facts


def events(target: str, found: Diagnosis, notes: Sequence[str]) -> Iterator[Event]:
    """What the run says of a diagnosis, the headline first: it is the subject of the commit."""
    yield FindingMade(
        target=target, name="diagnosis", value=found.headline, method="reconciliation", flags=(found.verdict,)
    )
    done, source = found.reconciled, found.curve.source if found.curve else ""
    if done.predicted:
        yield FindingMade(
            target=target,
            name="predicted_rate",
            value=round(done.predicted, 2),
            unit="tok/s",
            low=round(done.low, 2),
            high=round(done.high, 2),
            interval="prediction",
            confidence=0.95,
            context_tokens=round(done.context_tokens),
            method="accept_length/step_time",
            source=source,
        )
        for factor in done.factors:
            yield FindingMade(
                target=target, name=f"factor_{factor.name}", value=round(factor.ratio, 3), method="waterfall"
            )
        yield FindingMade(target=target, name="factor_rest", value=round(done.rest, 3), method="waterfall")
    curve = found.passive_curve
    if curve is not None:
        span = f"{curve.contexts[0]:.0f}..{curve.contexts[1]:.0f}"
        common: dict[str, Any] = {
            "target": target, "context_tokens": span, "n": found.windows, "method": "passive", "source": "log",
        }  # fmt: skip
        yield FindingMade(name="step_time_intercept", value=round(curve.intercept_ms, 3), unit="ms", **common)
        yield FindingMade(name="step_time_slope", value=round(curve.slope_ms, 6), unit="ms/token", **common)
        if found.complaint.context_tokens is not None:
            at = found.complaint.context_tokens
            yield FindingMade(
                target=target,
                name="log_step_time",
                value=round(curve.step_ms(at), 3),
                unit="ms",
                context_tokens=round(at),
                n=found.windows,
                method="passive",
                source="log",
            )
    for one in found.excluded:
        yield FindingMade(target=target, name="windows_excluded", value=one.count, source=one.reason)
    if found.accept_length is not None:
        yield FindingMade(
            target=target,
            name="log_accept_length",
            value=round(found.accept_length, 3),
            n=found.windows,
            method="passive",
            source="log",
        )
    if len(found.acceptance) > 1:
        parts = " ".join(f"{mean:.2f}" for _, mean, _ in found.acceptance)
        yield FindingMade(
            target=target, name="accept_length_over_time", value=parts, n=found.windows, method="passive", source="log"
        )
    for sign in found.hardware.signs:
        yield ConclusionMade(target=target, kind="hardware", text=sign.text, evidence=sign.kind)
    yield ConclusionMade(target=target, kind="verdict", text=verdict(found))
    for kind, said in (("cause", found.causes), ("ruled_out", found.ruled_out), ("lever", found.levers)):
        for item in said:
            yield ConclusionMade(target=target, kind=kind, text=item.text, gain=item.gain, evidence=item.evidence)
    for kind, texts in (("assumed", found.assumed), ("noted", found.notes), ("missing", (*found.missing, *notes))):
        for text in texts:
            yield ConclusionMade(target=target, kind=kind, text=text)


def replica_of(found: Diagnosis, facts: Facts) -> Replica:
    """A diagnosis as what it is compared by with those of other replicas."""
    curve = found.passive_curve
    return Replica(
        intercept_ms=curve.intercept_ms if curve else None,
        slope_ms=curve.slope_ms if curve else None,
        context_tokens=found.complaint.context_tokens,
        accept_length=found.accept_length,
        version=(facts.serving.version if facts.serving else None) or "",
        signs=tuple(sign.text for sign in found.hardware.signs),
    )


def beside_others(target: str, replicas: Mapping[str, Replica]) -> Iterator[Event]:
    """Who of the replicas is odd, in the record of each of them; nothing where there is one only."""
    if len(replicas) < 2:
        return
    at, members = side_by_side(replicas)
    odd = odd_members(members)
    for one in odd:
        yield FindingMade(
            target=target,
            name="odd_member",
            value=one.target,
            context_tokens=round(at) if at is not None else None,
            n=len(replicas),
            method="side by side",
            source=one.text,
        )
        who = "this one is odd" if one.target == target else f"{one.target} is odd"
        text = f"among {len(replicas)} replicas {who}: {one.text}"
        yield ConclusionMade(target=target, kind="noted", text=text, evidence="side by side")
    if not odd:
        text = f"side by side with {len(replicas) - 1} other replicas: no member is odd"
        yield ConclusionMade(target=target, kind="noted", text=text)


def verdict(found: Diagnosis) -> str:
    """One sentence with the arithmetic."""
    done, complaint = found.reconciled, found.complaint
    if not done.predicted or complaint.observed is None or complaint.accept_length is None:
        return done.sentence
    batch = f" in a batch of {complaint.batch:g}" if complaint.batch and complaint.batch != 1 else ""
    return (
        f"{complaint.observed.value:.4g} tok/s were observed; {complaint.accept_length.value:.3g} tokens a step of "
        f"{done.step_ms:.1f} ms at {done.context_tokens:,.0f} tokens{batch} make {done.predicted:.1f}: {done.sentence}"
    )
