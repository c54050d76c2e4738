"""Before the first change: look, plan, ask. Nothing is written on the host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from console.errors import AbortedError, ConsoleError, InternalError
from console.facts.collect import collect
from console.planning.decide import decide
from console.runner import describe
from console.runner.ask import Question
from console.schema.events import FactsRead, TargetStarted

if TYPE_CHECKING:
    from console.runner.target_run import TargetRun


async def prepare(run: TargetRun) -> bool:
    """Connect, collect facts, plan. False when the target refused; the refusal is an event then."""
    service = run.target.service
    run.context.emit(
        TargetStarted(
            target=run.target.name,
            unit=service.unit,
            engine=service.engine,
            router=run.context.routers.get(run.target.name, ""),
        )
    )
    started = run.context.clock.monotonic()
    try:
        await run.stop.race(_look_and_plan(run))
    except AbortedError as error:
        run.phase("plan", "aborted", error.message, started, error)
        return False
    except ConsoleError as error:
        run.phase("plan", "refused", str(error), started, error)
        return False
    except Exception as error:  # noqa: BLE001 - a bug of ours ends in a record, too
        run.phase("plan", "failed", f"{type(error).__name__}: {error}", started, InternalError(str(error)))
        return False
    return True


async def _look_and_plan(run: TargetRun) -> None:
    context = run.context
    run.reader = reader = await run.open_reader()
    run.facts = facts = await collect(reader, run.engine)
    context.emit(FactsRead(target=run.target.name, when="plan", facts=describe.facts(facts)))
    decision = await decide(
        facts,
        lambda: run.planner(facts, reader),
        own_runs=[context.options.parent, context.options.root],
        consent=context.options.consent,
        undoes=context.options.purpose != "run",
        login=(reader.certificate_ends, context.clock.now()),
    )
    run.plan = decision.plan
    if decision.plan is not None:
        for event in describe.plan_events(decision.plan, facts, run.engine):
            context.emit(event)
    if decision.refusal is not None:
        raise decision.refusal


async def confirm(run: TargetRun) -> bool:
    """Ask before the first change; not when nothing changes, and not with --yes."""
    plan, options, protected = run.planned(), run.context.options, run.target.protected
    if not plan.mutates() or (options.yes and not (protected and not options.reason)):
        return True
    if not options.terminal and not protected:
        return True  # policy.attended let it begin: the runbook says proceed
    answer = await run.context.desk.put(
        Question(
            id="confirm",
            target=run.target.name,
            text=plan.confirm or f"Change {plan.target.service.unit} on {plan.target.host_name}?",
            choices=("yes", "no"),
            default="no",
            typed=plan.target.host_name if protected else "",
        )
    )
    if answer == "yes":
        return True
    run.phase("confirm", "aborted", "the answer was no", run.context.clock.monotonic(), AbortedError("no"))
    return False
