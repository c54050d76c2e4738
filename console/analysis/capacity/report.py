"""All that is known of what fits on a target as it stands: limits, calibration, and a verdict or the ladder."""

from __future__ import annotations

from collections.abc import Mapping

from console.analysis.capacity.calibrate import calibrate
from console.analysis.capacity.judge import judge, largest_request
from console.analysis.capacity.ladder import ladder
from console.analysis.capacity.setup import with_settings
from console.analysis.capacity.situation import situation_of
from console.engines.base import Engine
from console.schema.capacity import CapacityReport, DecodeLaw
from console.schema.facts import Facts


def reported(
    facts: Facts, engine: Engine, settings: Mapping[str, str], *, law: DecodeLaw | None = None
) -> CapacityReport:
    """With `settings` the judgement of those, without them the ladder.

    Raises RefusedError for a setting that the engine does not have.
    """
    situation = situation_of(facts, engine)
    limit, draft = situation.limit(), situation.draft_limit()
    calibration = calibrate(situation)
    judgement = None
    if settings:
        words = with_settings(situation.words, engine, settings)
        judgement = judge(situation, words, situation.environment, engine, law=law)
    window, pool = situation.window, situation.pool_tokens
    serving = facts.serving
    return CapacityReport(
        target=facts.target,
        engine=engine.name,
        version=(serving.version if serving else None) or "",
        model=(serving.model if serving else None) or situation.setup.model_path,
        model_type=situation.architecture.model_type,
        model_limit_tokens=limit.tokens if limit else None,
        model_limit_how=limit.how if limit else "",
        draft_limit_tokens=draft.tokens if draft else None,
        draft_limit_how=draft.how if draft else "",
        served_tokens=window,
        pool_tokens=pool,
        largest_tokens=largest_request(engine, window, pool, situation) if window and pool else None,
        calibration=calibration.lines,
        calibrated=calibration.agrees,
        judgement=judgement,
        rungs=() if settings else ladder(situation, engine),
        missing=judgement.missing if judgement else situation.missing,
        simulated=facts.host.simulated,
    )
