"""A sign of what limits a service: its evidence, what would confirm it, and which layer is next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

Kind = Literal["decode bandwidth", "KV capacity", "placement", "prefill", "queueing", "client"]

NEXT: Mapping[Kind, tuple[str, str]] = {
    "decode bandwidth": (
        "the same load with a drafter, or with another precision of weights: tokens a step or bytes a step",
        "speculation and quantisation of weights; more streams cost little, so batch more",
    ),
    "KV capacity": (
        "the same load with half the context: usage, retractions and lost hits must fall",
        "fp8 KV cache, a larger memory share, decode context parallelism, a CPU cache tier; then fewer streams",
    ),
    "placement": (
        "each member alone with the same load: all must be alike",
        "the router: cache-aware routing, balance by load, warm caches after a scale-out",
    ),
    "prefill": (
        "the same load with prompts that are in the cache: the first token must come at once",
        "prefix cache and routing for it, chunk size, then prefill apart from decode",
    ),
    "queueing": (
        "the same load with a higher limit of requests at once: the queue must go and the step grow",
        "max running requests, then replicas",
    ),
    "client": (
        "the same load from a machine of its own",
        "none: the client was measured, not the service",
    ),
}

SESSIONS = (
    "the same trace with half the sessions at once, or at half its speed: long sessions must be found again",
    "a CPU cache tier, fp8 KV cache, decode context parallelism; then each session to one replica, and fewer at once",
)
COLD = (
    "look again once it has run as long as the others: its share must have risen by itself",
    "the router: less load to a new member until its cache is warm, or warm it before it is put in",
)


@dataclass(frozen=True)
class Sign:
    """`strong`: enough to name it, if nothing else is as strong."""

    kind: Kind
    strong: bool
    evidence: str
    special: tuple[str, str] | None = None  # what would confirm it and the next layer, where they are not its kind's

    @property
    def confirm(self) -> str:
        return (self.special or NEXT[self.kind])[0]

    @property
    def layer(self) -> str:
        return (self.special or NEXT[self.kind])[1]


def merged(signs: Sequence[Sign]) -> tuple[Sign, ...]:
    """One sign a kind, the strong ones' evidence before that of the others."""
    found: dict[Kind, Sign] = {}
    for one in sorted(signs, key=lambda sign: not sign.strong):
        before = found.get(one.kind)
        found[one.kind] = one if before is None else replace(before, evidence=f"{before.evidence}; {one.evidence}")
    return tuple(found.values())
