"""The four questions: will it fit? will it come back? what else goes live? who else is touched?"""

from __future__ import annotations

from console.engines.base import Engine
from console.planning import blast_radius, differences, estimates
from console.schema.facts import Facts
from console.schema.plan import Answers, Plan
from console.schema.serving import Serving
from console.steps.host_preflight import comes_back
from console.untrusted import one_line


def answer(plan: Plan, facts: Facts, engine: Engine) -> Answers:
    """Every answer from what was seen; what cannot be judged says so."""
    restarts = any(change.kind == "restart" for change in plan.changes)
    load = estimates.load_time_s(plan.target, facts)
    about = f"about {estimates.span(load)}" if load is not None else "an unknown load time"
    return Answers(
        fits=tuple(fits(plan, facts, engine)),
        comes_back=(", ".join(comes_back(facts)) or "nothing could be seen", *facts_warn(facts)),
        also_live=tuple(also_live(plan)),
        also_hit=tuple(
            blast_radius.also_hit(
                facts, plan.edits, reloads=any(change.kind == "reload" for change in plan.changes), restarts=restarts
            )
        )
        or ("nobody that could be seen",),
        outage=tuple(estimates.outage(plan.target, facts)) if restarts else ("none",),
        undo=tuple(blast_radius.undo(plan.edits, plan.target.host.state_folder, about)),
        blocked_by=tuple(blocked_by(facts)),
    )


def facts_warn(facts: Facts) -> list[str]:
    return [facts.host.xid_lines[-1]] if facts.host.xid_lines else []


def fits(plan: Plan, facts: Facts, engine: Engine) -> list[str]:
    """Whether the KV pool, as it is now, holds one request of the planned length.

    The pool after a change of memory share or KV type is not computed here; the run proves it after the restart.
    """
    serving = facts.serving or Serving()
    planned = {change.setting: change.after or "" for change in (*plan.settings, *plan.unchanged)}
    if "context_length" not in planned:
        return ["the window does not change"]
    resized = sorted(set(planned) & {"mem_fraction", "kv_cache_dtype", "max_total_tokens"} - unchanged_names(plan))
    if serving.pool_tokens is None:
        return [f"not judged: the running pool cannot be seen ({facts.serving_reason or 'not reported'})"]
    try:
        window = int(engine.parse_value("context_length", planned["context_length"]))
    except ValueError:
        return [f"not judged: {planned['context_length']} is no number of tokens"]
    now = f"the pool holds {serving.pool_tokens:,} tokens now"
    if resized:
        return [f"not judged before the restart: {now}, {' and '.join(resized)} changes it; the run proves it after"]
    if serving.pool_tokens >= window:
        return [f"{now}: serves one request of {window:,}"]
    largest = engine.largest_request(window, serving.pool_tokens, 0)
    return [f"NO: {now}, one request of {window:,} needs more; the largest served would be {largest:,}"]


def unchanged_names(plan: Plan) -> set[str]:
    return {change.setting for change in plan.unchanged}


def also_live(plan: Plan) -> list[str]:
    lines = differences.pair(plan.activation)
    if lines:
        lines = [f"{line}   on disk, never restarted: needs --accept-pending" for line in lines]
    lines += [f"environment {line}" for line in plan.activation.environment]
    if plan.activation.reason:
        lines.append(plan.activation.reason)
    return [one_line(line, 200) for line in lines] or ["nothing"]


def blocked_by(facts: Facts) -> list[str]:
    said = []
    if facts.lock.held:
        said.append(f"lock of run {facts.lock.run} ({facts.lock.operator}) since {facts.lock.since}")
    said += [
        f"open run {entry.run} of {entry.operator}: {entry.summary}" for entry in facts.ledger if entry.state == "open"
    ]
    return said or ["no open run or lock"]
