"""How long it will take, from what this host's own journal shows. What is not known is said to be unknown."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from console.engines.base import Engine
from console.schema.facts import Facts
from console.schema.hosts import Target
from console.schema.plan import Plan
from console.steps.levels import levels_of

PROOF_S = 300.0  # lock, ledger, reload, and one request past the old limit


def load_time_s(target: Target, facts: Facts) -> float | None:
    """Start to ready: the median of the starts the journal still shows, else the inventory's word, else unknown."""
    if facts.load_times_s:
        return statistics.median(facts.load_times_s)
    return target.service.load_time


def may_last_s(plan: Plan) -> float:
    """How long a run may take: a start twice as slow as the known ones, or all that is allowed; proof and budgets."""
    if not plan.mutates():
        return 0.0
    load_s = 2 * plan.load_estimate_s if plan.load_estimate_s is not None else plan.load_allowed_s
    budgets = (step.fields.get("budget") for step in plan.steps if not step.skipped)
    return load_s + PROOF_S + sum(float(budget) for budget in budgets if isinstance(budget, int | float))


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
    state = facts.unit.active_state
    if state in ("inactive", "failed", ""):
        return [f"none: the unit is {state or 'not running'} now"]
    load = load_time_s(target, facts)
    if load is None:
        first = "length unknown: no earlier start is in the journal"
    else:
        source = loads(facts.load_times_s) or "load_time in hosts.toml"
        first = f"about {span(load)} ({source})"
    if state in ("activating", "deactivating"):
        return [f"{first}: the unit is {state} ({facts.unit.sub_state}) now, the restart begins anew"]
    running = facts.serving.running_requests if facts.serving else None
    return [f"{first}, {'requests in flight not visible' if running is None else f'{running} requests in flight'}"]


def old_limit_tokens(facts: Facts, engine: Engine, *, edited: bool) -> int | None:
    """The window served before this run: what a proof has to go past. None where nothing seen tells it.

    The engine's word, else that of the running process. With neither, the smallest window that the files, or systemd,
    give before the edit; a file that holds the wanted window already (not `edited`) says nothing of what was served.
    """
    levels = levels_of(facts, engine, "context_length")
    for level in (levels.serving, levels.running):
        if (tokens := _tokens(engine, level.value)) is not None:
            return tokens
    known = [tokens for level in (levels.disk, levels.loaded) if (tokens := _tokens(engine, level.value)) is not None]
    return min(known) if edited and known else None


def _tokens(engine: Engine, value: str | None) -> int | None:
    try:
        return None if value is None else int(engine.parse_value("context_length", value))
    except ValueError:
        return None


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
