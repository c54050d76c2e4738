"""How far each change leads: the limits, what is served now, then the lossless changes, then the lossy ones."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

from console.analysis.capacity.cache import cache_dtype, dtype_bytes
from console.analysis.capacity.limits import dcp_refused, draft_is_a_model
from console.analysis.capacity.predict import predict, requests_bytes
from console.analysis.capacity.prediction import Prediction
from console.analysis.capacity.setup import Setup
from console.analysis.capacity.shared_window import largest_window
from console.analysis.capacity.situation import Situation
from console.engines.base import Engine
from console.schema.capacity import Rung

# Left free on a GPU after the graphs, for activations and what moves; SGLang's own advice is 5 to 8 GB.
RESERVE_GIB = 5.0
_FEW_REQUESTS = 16
_GIB = 1024**3


def ladder(situation: Situation, engine: Engine) -> tuple[Rung, ...]:
    """Every rung that can be reckoned; one that cannot be taken says why."""
    return tuple(_of_window(situation) if engine.name == "llamacpp" else _rungs(situation, engine))


def ceiling(situation: Situation) -> int | None:
    """The longest window that model and draft were made for."""
    limits = [limit.tokens for limit in (situation.limit(), situation.draft_limit()) if limit is not None]
    return min(limits, default=None)


def _rungs(situation: Situation, engine: Engine) -> Iterator[Rung]:
    now = situation.setup
    yield _rung("as it runs", "", situation, now)
    fraction = largest_fraction(situation)
    raised = replace(now, mem_fraction=fraction) if fraction is not None else None
    if raised is not None and now.mem_fraction is not None and fraction is not None:
        yield _rung("a larger memory share", f"mem_fraction={fraction:g}", situation, raised)
    elif situation.log.free_gib is None:
        yield Rung(name="a larger memory share", note="not judged: what is free after the graphs was not logged")
    else:
        yield Rung(name="a larger memory share", note=f"{situation.log.free_gib:.1f} GiB free: nothing to spare")
    yield _split(situation, now)
    yield _fewer(situation, now)
    lossy = _eight_bits(engine, situation, now)
    if lossy is None:
        return
    yield _rung("an 8-bit cache", f"kv_cache_dtype={lossy.cache_dtype}", situation, lossy, lossy=True)
    if raised is not None:
        both = replace(lossy, mem_fraction=raised.mem_fraction)
        sets = f"kv_cache_dtype={both.cache_dtype} mem_fraction={both.mem_fraction:g}"
        yield _rung("an 8-bit cache and a larger share", sets, situation, both, lossy=True)


def _of_window(situation: Situation) -> Iterator[Rung]:
    """Of an engine whose cache follows the window: how large a window the free memory holds."""
    now, limit = situation.setup, situation.limit()
    window = now.window or situation.window
    yield _window_rung("as it runs", "", situation, now, window)
    if now.slots > 1 and not now.unified:
        note = "--kv-unified: any slot may take all of the window"
        yield _window_rung("one window for all slots", "", situation, replace(now, unified=True), window, note=note)
    eight = replace(now, cache_dtype="q8_0", value_cache_dtype="q8_0")
    for lossy, setup in ((False, now), (True, eight)):
        name = "an 8-bit cache" if lossy else "a larger window"
        note = "--cache-type-k q8_0 --cache-type-v q8_0 (values in 8 bits need flash attention)" if lossy else ""
        most = largest_window(situation, setup, limit.tokens if limit else None)
        if most is None:
            yield Rung(name=name, lossy=lossy, note=note or "not judged: free memory or a token's bytes are not known")
        elif lossy or most > (window or 0):
            yield _window_rung(name, f"context_length={most}", situation, setup, most, lossy=lossy, note=note)
        else:
            yield Rung(name=name, lossy=lossy, note="it is as large as memory or the model allow already")


def _window_rung(
    name: str, sets: str, situation: Situation, setup: Setup, window: int | None, *, lossy: bool = False, note: str = ""
) -> Rung:
    made = predict(situation, setup, window)
    one = made.one_request
    return Rung(
        name=name,
        sets=sets,
        lossy=lossy,
        pool_tokens=made.tokens,
        window_tokens=one,
        full_requests=round(made.tokens / one, 2) if made.tokens and one else None,
        note=note or made.refused,
    )


def _rung(name: str, sets: str, situation: Situation, setup: Setup, *, lossy: bool = False, note: str = "") -> Rung:
    top = ceiling(situation)
    made: Prediction = predict(situation, setup, top)
    if made.tokens is None or made.at_most:
        return Rung(name=name, sets=sets, lossy=lossy, note=note or "; ".join(made.missing) or "only an upper bound")
    window = min(made.tokens, top) if top is not None else made.tokens
    if made.refused:
        note = made.refused
    elif not note and top is None:
        note = "the model's limit is not known"
    return Rung(
        name=name,
        sets=sets,
        lossy=lossy,
        pool_tokens=made.tokens,
        window_tokens=window,
        full_requests=round(made.tokens / window, 2) if window else None,
        note=note,
    )


def largest_fraction(situation: Situation) -> float | None:
    """The largest share, in hundredths, that leaves `RESERVE_GIB` on a GPU after the graphs; None where none does."""
    now, free, gpu = situation.setup.mem_fraction, situation.log.free_gib, situation.gpu_gib
    if now is None or free is None or gpu is None:
        return None
    window = ceiling(situation) or situation.window or 0
    growth = requests_bytes(situation.setup, situation, window, situation.pool_tokens)
    growth -= requests_bytes(situation.setup, situation, situation.window or window, situation.pool_tokens)
    spare = free - RESERVE_GIB - max(growth, 0.0) / _GIB
    share = math.floor((now + spare / gpu) * 100 + 1e-6) / 100
    return min(share, 0.97) if share > now + 1e-9 else None


def _split(situation: Situation, now: Setup) -> Rung:
    ways, heads = now.parallel.tensor, situation.architecture.kv_heads
    if now.engine == "vllm" and heads and ways > heads:
        ways //= heads
    name, sets = "the context split over ranks", f"decode_context_parallel={ways}"
    if ways <= 1 or now.parallel.decode_context > 1:
        return Rung(name=name, note="one rank" if ways <= 1 else "it is split already")
    refused = dcp_refused(
        ways, now.parallel.tensor, now.engine, now.version, speculates=bool(now.algorithm), kv_heads=heads
    )
    if refused:
        return Rung(name=name, sets=sets, note=refused)
    return _rung(name, sets, situation, replace(now, parallel=replace(now.parallel, decode_context=ways)))


def _fewer(situation: Situation, now: Setup) -> Rung:
    name, sets = "fewer running requests", f"max_running_requests={_FEW_REQUESTS}"
    if now.engine != "sglang":
        return Rung(name=name, note="moves no pool on this engine")
    window = ceiling(situation) or situation.window or 0
    few = replace(now, max_running=_FEW_REQUESTS)
    spared = requests_bytes(now, situation, window, situation.pool_tokens)
    spared -= requests_bytes(few, situation, window, situation.pool_tokens)
    note = f"spares {max(spared, 0.0) / _GIB:.2f} GiB beside the pool at {window:,}, moves no pool by itself"
    return _rung(name, sets, situation, few, note=note)


def _eight_bits(engine: Engine, situation: Situation, now: Setup) -> Setup | None:
    each = dtype_bytes(cache_dtype(now.cache_dtype, situation.architecture))
    if each is not None and each <= 33 / 32:
        return None
    names: Mapping[str, str] = {"sglang": "fp8_e4m3", "vllm": "fp8", "llamacpp": "q8_0"}
    name = names.get(engine.name, "fp8")
    draft = now.draft_cache_dtype
    if draft_is_a_model(now.algorithm, now.draft_path) and not draft:
        draft = name
    return replace(now, cache_dtype=name, draft_cache_dtype=draft)
