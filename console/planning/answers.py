"""The four questions: will it fit? will it come back? what else goes live? who else is touched?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from console.engines.base import Engine
from console.planning import blast_radius, capacity, differences, estimates, nodes
from console.schema.capacity import DecodeLaw
from console.schema.facts import ABLE, Facts
from console.schema.plan import Answers, Plan
from console.schema.serving import Serving
from console.steps.coming_back import comes_back, reasons, verdict
from console.steps.service_verify import ServiceVerify, probe_size
from console.untrusted import one_line


def answered(plan: Plan, facts: Facts, engine: Engine, *, law: DecodeLaw | None = None) -> Plan:
    """The plan with its judgement and the answers to its questions."""
    plan = judged(plan, facts, engine, law=law)
    return plan.model_copy(update={"answers": answer(plan, facts, engine)})


def judged(plan: Plan, facts: Facts, engine: Engine, *, law: DecodeLaw | None = None) -> Plan:
    """The plan with what is to be thought of its window, where it changes what that depends on."""
    if "context_length" in planned_values(plan) or resizing(plan):
        return plan.model_copy(update={"capacity": capacity.of_plan(plan, facts, engine, law=law)})
    return plan


def answer(plan: Plan, facts: Facts, engine: Engine) -> Answers:
    """Every answer from what was seen; what cannot be judged says so."""
    restarts = any(change.kind == "restart" for change in plan.changes)
    load = estimates.load_time_s(plan.target, facts)
    about = f"about {estimates.span(load)}" if load is not None else "an unknown load time"
    seen_by = list(nodes.shares(plan, facts))
    return Answers(
        fits=tuple(capacity.lines(plan.capacity)) if plan.capacity else ("the window does not change",),
        comes_back=tuple(f"{at}{line}" for at, _, seen in _placed(seen_by) for line in comeback(seen)),
        also_live=tuple(also_live(plan)),
        also_hit=tuple(
            f"{at}{line}"
            for at, own, seen in _placed(seen_by)
            for line in blast_radius.also_hit(
                seen, own.edits, reloads=any(change.kind == "reload" for change in own.changes), restarts=restarts
            )
        )
        or ("nobody that could be seen",),
        outage=tuple(estimates.outage(plan.target, facts)) if restarts else ("none",),
        proof=tuple(proof(plan, facts, engine)),
        undo=tuple(
            f"{at}{line}"
            for at, own, _ in _placed(seen_by)
            for line in blast_radius.undo(own.edits, own.target.host.state_folder, about)
        ),
        blocked_by=tuple(f"{at}{line}" for at, _, seen in _placed(seen_by) for line in blocked_by(seen)),
    )


def _placed(seen_by: Sequence[tuple[Plan, Facts]]) -> Iterator[tuple[str, Plan, Facts]]:
    """Each place's share with the words before what is said of it: none where there is one place alone."""
    pair = any(share.target.part for share, _ in seen_by)  # of which two may be on one host
    for share, seen in seen_by:
        name = share.target.name if pair else share.target.host_name
        yield (f"{name}: " if len(seen_by) > 1 else ""), share, seen


def comeback(facts: Facts) -> list[str]:
    """The verdict first; on a host of which nothing could be seen there is none that could be relied on."""
    seen = ", ".join(comes_back(facts))
    if reasons(facts):
        return [verdict(facts), *([seen] if seen else []), *facts_warn(facts)]
    return [f"{verdict(facts)}: {seen}" if seen else "nothing could be seen", *facts_warn(facts)]


def facts_warn(facts: Facts) -> list[str]:
    return [facts.host.xid_lines[-1]] if facts.host.xid_lines else []


def proof(plan: Plan, facts: Facts, engine: Engine) -> list[str]:
    """What the proof will ask of the engine, and for how long; nothing where it generates nothing."""
    step = next((step for step in plan.steps if step.uses == ServiceVerify.uses and not step.skipped), None)
    if step is None or plan.nothing_to_do:
        return []
    seen, planned = facts.serving or Serving(), planned_values(plan)
    window = seen.context_length
    if "context_length" in planned:
        try:
            window = int(engine.parse_value("context_length", planned["context_length"]))
        except ValueError:
            return [f"not judged: {planned['context_length']} is no number of tokens"]
    pool = plan.capacity.pool_tokens if plan.capacity else None if resizing(plan) else seen.pool_tokens
    restarts = any(change.kind == "restart" for change in plan.changes)
    tokens, kind = probe_size(
        ServiceVerify.model_validate(dict(step.fields)).probe,
        engine,
        replace(seen, context_length=window, pool_tokens=pool),
        old_limit_tokens=plan.old_limit_tokens,
        window_set="context_length" in planned,
        # A process that has just started has served nobody and logged no rate yet: the step knows neither then.
        quiet=facts.foreign_requests_60s == 0 and not restarts,
        prefill_tok_s=None if restarts else facts.prefill_tok_s,
    )
    at_most = "up to " if kind == "full" and pool is None else ""
    seconds = estimates.probe_s(facts, tokens)
    time = f"about {estimates.span(seconds)}" if seconds is not None else "time unknown: no prefill rate seen yet"
    return [f"one request of {at_most}{tokens:,} tokens ({kind}), {time}"]


def planned_values(plan: Plan) -> dict[str, str]:
    return {change.setting: change.after or "" for change in (*plan.settings, *plan.unchanged)}


def resizing(plan: Plan) -> list[str]:
    """The settings that this plan changes and that decide the size of the KV pool."""
    return sorted(set(planned_values(plan)) & RESIZING - unchanged_names(plan))


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
    said += [f"open run {entry.run} of {entry.operator}: {entry.summary}" for entry in facts.ledger if entry.open]
    if facts.host.sudo not in ABLE and not facts.ledger:
        # The ledger is root's. The lock is for everybody to read.
        lock = [] if facts.lock.held else ["no lock"]
        return [*said, *lock, f"open runs not visible: the ledger is root's, and sudo is {SUDO[facts.host.sudo]}"]
    return said or ["no open run or lock"]


RESIZING = {
    "mem_fraction", "kv_cache_dtype", "max_total_tokens", "tensor_parallel", "pipeline_parallel", "data_parallel",
    "dp_attention", "attention_data_parallel", "decode_context_parallel", "speculative_algorithm", "draft_model_path",
    "max_running_requests",
}  # fmt: skip
SUDO = {
    "each_call": "asking for an approval at each call",
    "talks": "writing into the answers",
    "one_time": "asking for something new at each call",
    "password": "asking for a password",
    "tty": "asking for a terminal",
    "refused": "not allowed",
    "absent": "not there",
}
