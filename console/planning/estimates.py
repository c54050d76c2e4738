"""How long it will take, from what this host's own journal shows. What is not known is said to be unknown."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from console.schema.facts import Facts
from console.schema.hosts import Target
from console.schema.plan import Plan


def load_time_s(target: Target, facts: Facts) -> float | None:
    """Start to ready: the median of the starts the journal still shows, else the inventory's word, else unknown."""
    if facts.load_times_s:
        return statistics.median(facts.load_times_s)
    return target.service.load_time


def span(seconds: float) -> str:
    """A duration for people: `45 s`, `12 min`, `1 h 05 min`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"


def loads(seen: Sequence[float]) -> str:
    """How many starts the figure is from, and how far they lie apart."""
    if len(seen) < 2:
        return "as the last start" if seen else ""
    return f"{len(seen)} starts: {span(min(seen))} to {span(max(seen))}"


def outage(target: Target, facts: Facts) -> list[str]:
    """The plan's answer to how long nothing is served, and for whom."""
    if facts.unit.active_state != "active":
        return [f"none: the unit is {facts.unit.active_state or 'not running'} now"]
    load = load_time_s(target, facts)
    if load is None:
        first = "length unknown: no earlier start is in the journal"
    else:
        source = loads(facts.load_times_s) or "load_time in hosts.toml"
        first = f"about {span(load)} ({source})"
    running = facts.serving.running_requests if facts.serving else None
    return [f"{first}, {'requests in flight not visible' if running is None else f'{running} requests in flight'}"]


def probe_s(facts: Facts, tokens: int) -> float | None:
    """Seconds to prefill a prompt, from the rate the engine last logged."""
    return tokens / facts.prefill_tok_s if facts.prefill_tok_s else None


def prices(plan: Plan, *, restarted: bool) -> dict[str, str]:
    """What each choice after a stop costs, in time without service."""
    load = span(plan.load_estimate_s) if plan.load_estimate_s is not None else "an unknown load time"
    if not restarted:
        return {
            "leave": "the file stays changed and takes effect at the next restart",
            "rollback": "the file is put back at once; the service is not touched",
            "wait": "go on",
        }
    return {
        "leave": "the new process goes on loading; nothing more is proven",
        "rollback": f"file back and another restart: about {load} without service",
        "wait": f"go on waiting, up to {load}",
    }
