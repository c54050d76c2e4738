"""Will it fit, for a plan: the judgement of the command line it leads to, and whether that stops the run."""

from __future__ import annotations

from console.analysis.capacity.judge import judge
from console.analysis.capacity.setup import setup_of, with_settings
from console.analysis.capacity.situation import situation_of
from console.engines.base import Engine
from console.errors import RefusedError
from console.schema.capacity import STOPS, DecodeLaw, Judgement
from console.schema.facts import Facts
from console.schema.plan import Plan
from console.settings import resolve
from console.steps.capacity_check import CapacityCheck


def of_plan(plan: Plan, facts: Facts, engine: Engine, *, law: DecodeLaw | None = None) -> Judgement:
    """The judgement of the command line that a plan leads to.

    Where that is not words of the unit (a wrapper), the running one with the plan's settings behind it.
    """
    situation = situation_of(facts, engine)
    unit = resolve.unit_of(facts)
    environment = resolve.environment_on_disk(unit)
    words = list(plan.argv_after)
    if not words or (situation.setup.model_path and not setup_of(words, environment, engine).model_path):
        asked = {one.setting: one.after for one in (*plan.settings, *plan.unchanged) if one.after is not None}
        words = with_settings(situation.words, engine, asked)
        environment = {**facts.process.environment, **environment}
    return judge(situation, words, environment, engine, law=law)


def refuse(plan: Plan) -> None:
    """Refuse a plan whose `capacity.check` does not let it through, before anything is touched."""
    step = next((step for step in plan.steps if step.uses == CapacityCheck.uses and not step.skipped), None)
    judgement = plan.capacity
    if step is None or judgement is None or not plan.mutates():
        return
    require = CapacityCheck.model_validate(dict(step.fields)).require
    if judgement.verdict not in STOPS[require]:
        return
    again = f"console capacity {plan.target.name}"
    if judgement.verdict == "starts but cannot serve":
        hint = f"{again} shows what would make it fit; --set require=start accepts it"
    elif judgement.variable:
        hint = f"a smaller window, or {judgement.variable}=1 in the unit's environment"
    else:
        hint = f"{again} shows what would make it fit"
    raise RefusedError(f"{judgement.verdict}: {judgement.sentence}", where=plan.target.name, hint=hint)


def lines(judgement: Judgement) -> list[str]:
    """The verdict and its arithmetic, each as one line: the FITS? of a plan."""
    if judgement.verdict == "serves":
        said = [judgement.sentence]
    elif judgement.verdict == "unknown":
        said = [f"not judged before the restart: {judgement.sentence}; the run proves it after"]
    else:
        said = [f"NO, {judgement.verdict}: {judgement.sentence}"]
    said += judgement.lines
    said += [f"warning: {text}" for text in judgement.warnings]
    if judgement.decode:
        said.append(judgement.decode.text)
    if judgement.missing:
        said.append(f"not known: {'; '.join(judgement.missing)}")
    return said
