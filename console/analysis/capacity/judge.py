"""The verdict on a window: limits first, then what this release refuses, then the pool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from console.analysis.capacity.cache import GIB
from console.analysis.capacity.decode import decode_cost
from console.analysis.capacity.limits import (
    OVERRIDES,
    Limit,
    dcp_refused,
    draft_is_a_model,
    override_is_set,
    spelling_refused,
)
from console.analysis.capacity.predict import predict, resized
from console.analysis.capacity.prediction import Prediction
from console.analysis.capacity.setup import Setup
from console.analysis.capacity.situation import Situation, planned_setup
from console.engines.base import Engine
from console.schema.capacity import DecodeLaw, Judgement, Verdict

# A pool predicted this close to the window may come out on either side of it.
_CLOSE = 0.01
# And one that rests on weights that nobody has seen in their new place this close.
_ROUGH = 0.10
# Engines that refuse to start with a pool that does not hold one request of full length.
_REFUSE_SMALL_POOLS = frozenset({"vllm"})


def judge(
    situation: Situation,
    words: Sequence[str],
    environment: Mapping[str, str],
    engine: Engine,
    *,
    law: DecodeLaw | None = None,
) -> Judgement:
    """The window of the command line `words`, started with `environment` on this host."""
    return judge_setup(situation, planned_setup(situation, words, environment, engine), engine, law=law)


def judge_setup(situation: Situation, after: Setup, engine: Engine, *, law: DecodeLaw | None = None) -> Judgement:
    limit, draft_limit = situation.limit(), situation.draft_limit()
    # A window that cannot be read is not the longest one: then there is none to judge.
    window = after.window or (limit.tokens if limit and after.window_text is None else None)
    prediction = predict(situation, after, window)
    notes = list(prediction.assumed)
    missing = [*situation.missing, *prediction.missing]
    if limit is None and not any("config.json" in text for text in missing):
        missing.append("the model's limit: its config.json names no length")
    if _draft_unknown(situation, after) and not any("draft" in text for text in missing):
        missing.append("the draft's limit: its config.json was not read")
    if law is None:
        missing.append("what decoding costs there: no sweep of three contexts is on record")
    warnings = [] if window is None else _let_through(situation, after, window, limit, draft_limit)
    verdict, sentence, variable = _verdict(situation, after, window, limit, draft_limit, prediction)
    pool = prediction.tokens
    one = pool if prediction.one_request is None else prediction.one_request
    largest = largest_request(engine, window, one, situation) if window and one and not prediction.at_most else None
    told = verdict in ("serves", "starts but cannot serve") and not prediction.at_most
    if told and window and one and after.engine != "llamacpp":
        warnings += _close(one, window, _ROUGH if prediction.rough else _CLOSE)
    return Judgement(
        verdict=verdict,
        sentence=_with_largest(sentence, verdict, largest),
        window_tokens=window,
        pool_tokens=pool if not prediction.at_most else None,
        pool_now_tokens=situation.pool_tokens,
        largest_tokens=largest,
        full_requests=round(pool / window, 2) if pool and window and not prediction.at_most else None,
        cell_bytes=prediction.cell.pooled if prediction.cell else None,
        lines=(*_needed(window, prediction), *prediction.lines),
        assumed=tuple(dict.fromkeys(notes)),
        missing=tuple(dict.fromkeys(missing)),
        warnings=tuple(warnings),
        variable=variable,
        decode=decode_cost(law, window) if law and window else None,
        law=law,
        load_s=situation.load_s,
    )


def largest_request(engine: Engine, window: int, pool: int, situation: Situation) -> int:
    """The largest request served: the longest prompt, and the one token without which it would be none."""
    prompt = engine.largest_request(window, pool, 1, situation.reserved_tokens if pool >= window else 0)
    return prompt + 1 if prompt else 0


def _verdict(
    situation: Situation,
    after: Setup,
    window: int | None,
    limit: Limit | None,
    draft_limit: Limit | None,
    prediction: Prediction,
) -> tuple[Verdict, str, str]:
    """Verdict, sentence, and the variable that would let it through."""
    variable = OVERRIDES.get(after.engine, "")
    overridden = override_is_set(after.override, after.engine, after.version)
    if after.window is None and after.window_text is not None:
        return "unknown", f"{after.window_text} is no number of tokens", ""
    if window is None:
        return "unknown", "neither the command line nor config.json says how long the window is", ""
    if after.window_text and (refused := spelling_refused(after.window_text, after.engine, after.version)):
        return "will not start", refused, ""
    if variable and limit is not None and window > limit.tokens and not overridden:
        beyond = f"{window:,} is beyond the model's {limit.tokens:,} ({limit.how}): it starts only with {variable}=1"
        return "beyond the model", f"{beyond}, and the model was not made to answer beyond that", variable
    speculates = draft_is_a_model(after.algorithm, after.draft_path)
    own = draft_limit if speculates and after.engine == "sglang" else None
    if own is not None and window > own.tokens and not overridden:
        beyond = f"{window:,} is beyond the draft's {own.tokens:,} ({own.how}), which is built with the same window"
        return "beyond the draft", f"{beyond}: it starts only with {variable}=1", variable
    dcp = after.parallel.decode_context
    if refused := dcp_refused(
        dcp,
        after.parallel.tensor,
        after.engine,
        after.version,
        speculates=bool(after.algorithm),
        kv_heads=situation.architecture.kv_heads,
    ):
        return "will not start", refused, ""
    return (*_by_pool(situation, after, window, limit, prediction), "")


def _by_pool(
    situation: Situation, after: Setup, window: int, limit: Limit | None, prediction: Prediction
) -> tuple[Verdict, str]:
    pool = prediction.tokens
    if prediction.refused:
        return "will not start", prediction.refused
    if pool is None:
        what = ", ".join(resized(situation.setup, after)) or "the pool"
        return (
            "unknown",
            f"the pool cannot be predicted ({what}): {'; '.join(prediction.missing) or 'nothing is known'}",
        )
    small: Verdict = "will not start" if after.engine in _REFUSE_SMALL_POOLS else "starts but cannot serve"
    one = pool if prediction.one_request is None else prediction.one_request
    if one < window and prediction.short:
        return small, prediction.short
    if prediction.missing and after.engine == "llamacpp":
        return "unknown", f"whether memory holds it is not known: {'; '.join(prediction.missing)}"
    if one < window:
        most = "at most " if prediction.at_most else ""
        return small, f"the pool will hold {most}{pool:,} tokens, one request of {window:,} needs more"
    if prediction.at_most:
        return "unknown", f"the pool will hold at most {pool:,} tokens; how much the rest takes was never seen"
    if window > (situation.window or 0):
        unknown = "model" if limit is None else "draft" if _draft_unknown(situation, after) else ""
        if unknown:
            said = f"the pool holds {pool:,} tokens, but how long a context the {unknown} was made for is not known"
            return "unknown", said
    if one > pool:
        said = f"one request may take {one:,} tokens, because window layers give back what they no longer see"
        return "serves", f"the pool will hold {pool:,} tokens; {said}"
    return "serves", f"the pool will hold {pool:,} tokens: {pool / window:.2f} requests of {window:,}"


def _draft_unknown(situation: Situation, after: Setup) -> bool:
    """Whether SGLang may refuse the window because of a draft whose limit was not read."""
    drafts = after.engine == "sglang" and draft_is_a_model(after.algorithm, after.draft_path)
    known = situation.draft_limit() is not None and after.draft_path == situation.setup.draft_path
    return drafts and not known and not override_is_set(after.override, after.engine, after.version)


def _with_largest(sentence: str, verdict: Verdict, largest: int | None) -> str:
    if verdict == "starts but cannot serve" and largest is not None:
        return f"{sentence}; the largest served would be {largest:,}"
    return sentence


def _let_through(
    situation: Situation, after: Setup, window: int, limit: Limit | None, draft_limit: Limit | None
) -> list[str]:
    """What a variable that is set lets through, or an engine takes without a word."""
    said = []
    overridden = override_is_set(after.override, after.engine, after.version)
    named = OVERRIDES.get(after.engine, "")
    if limit is not None and window > limit.tokens and (overridden or not named):
        how = f", let through by {named}" if named else ""
        said.append(f"beyond the model's {limit.tokens:,}{how}")
    if draft_limit is not None and window > draft_limit.tokens:
        if after.engine == "vllm":
            said.append(f"beyond {draft_limit.tokens:,} tokens nothing is drafted: the draft was not made for more")
        elif overridden:
            said.append(f"beyond the draft's {draft_limit.tokens:,}, let through by {named}: acceptance may fall")
    return said


def _needed(window: int | None, prediction: Prediction) -> list[str]:
    """What one request of full length takes on one GPU."""
    if window is None or prediction.cell is None:
        return []
    size = prediction.cell.request_bytes(window)
    each = f" x {prediction.cell.pooled:,.0f} B" if not prediction.cell.windowed else ""
    return [f"one request: {window:,} tokens{each} = {size / 1e9:.2f} GB = {size / GIB:.2f} GiB on a GPU"]


def _close(pool: int, window: int, near: float) -> list[str]:
    if abs(pool - window) <= near * window:
        return [f"pool and window are within {near:.0%}: it may come out on either side"]
    return []
