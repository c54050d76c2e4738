"""The running instance as the measure of the arithmetic: its pool and its size against the computed bytes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from console.analysis.capacity.cache import GIB, Cell, cache_dtype, cell_of
from console.analysis.capacity.situation import Situation, cell

# What the arithmetic may be off by before an assumption of it is wrong.
TOLERANCE = 0.01
# A built-in draft keeps a layer or a few more; a count that is no whole number is no count of layers.
_LAYERS_BESIDE = 4
_WHOLE_LAYER = 0.1
# Sizes are logged with two decimals.
_ROUNDING_GIB = 0.005


@dataclass(frozen=True)
class Calibration:
    """`cell`: the bytes to reckon with, measured where the computed ones are off. None: neither is known."""

    cell: Cell | None
    agrees: bool | None  # None: there is nothing to compare
    measured_bytes: float | None = None
    lines: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()


def calibrate(situation: Situation) -> Calibration:
    """Compare the logged size of the pool with the computed one; name the assumption where they differ."""
    computed = cell(situation.setup, situation.architecture, situation.draft)
    measured = measured_bytes(situation)
    dtype = cache_dtype(situation.setup.cache_dtype, situation.architecture)
    lines = []
    if computed is not None:
        draft = f" + {computed.draft:,.0f} B of the draft" if computed.draft else ""
        lines.append(f"a token costs {computed.target:,.0f} B on one GPU ({dtype}: {computed.how}){draft}")
    if measured is None:
        seen = "the log of this start shows no size of the pool" if situation.pool_tokens else "nothing runs to compare"
        return Calibration(computed, None, None, (*lines, f"not calibrated: {seen}"))
    tokens, gib = _logged(situation)
    said = f"the log says {tokens:,} tokens in {gib:.2f} GiB: {measured:,.0f} B a token"
    if computed is None:
        return Calibration(Cell(measured, how="as logged"), None, measured, (*lines, f"{said}; not computed"))
    slack = max(TOLERANCE, _ROUNDING_GIB / gib if gib else 0.0)
    # vLLM logs the memory of all layers, SGLang a line for the model and one for its draft.
    all_layers = situation.setup.engine == "vllm"
    part = situation.setup.engine == "llamacpp" and computed.growing > 0
    error = measured / (computed.growing if part else computed.pooled if all_layers else computed.target) - 1
    if abs(error) <= slack:
        return Calibration(computed, True, measured, (*lines, f"{said}, {abs(error):.2%} off: calibrated"))
    why = _explained(situation, measured, slack)
    corrected = replace(computed, growing=measured, windowed=computed.windowed if part else 0.0, how="as logged")
    corrected = corrected.with_draft(0.0) if all_layers else corrected
    return Calibration(
        corrected, False, measured, (*lines, f"{said}, {error:+.1%} off: {why}"), (f"{why}; the logged bytes are used",)
    )


def measured_bytes(situation: Situation) -> float | None:
    """Bytes of a token as the log of this start shows them; the target's alone."""
    tokens, gib = _logged(situation)
    return gib * GIB / tokens if tokens and gib else None


def _logged(situation: Situation) -> tuple[int, float]:
    sizes = [line.gib for line in situation.log.pools]
    if not sizes or any(size is None for size in sizes):
        return 0, 0.0
    # A pool split over ranks is told in tokens of all of them (decode context parallelism), its size on one.
    tokens = max(line.tokens for line in situation.log.pools)
    if situation.setup.engine == "llamacpp":  # a line for the layers that keep all tokens, one for those with a window
        return tokens, max(line.gib or 0.0 for line in situation.log.pools if line.tokens == tokens)
    if situation.setup.parallel.decode_context > 1 and situation.pool_tokens:
        tokens = situation.pool_tokens
    return tokens, sum(size for size in sizes if size is not None)


def _explained(situation: Situation, measured: float, slack: float) -> str:
    """The assumption that, changed, makes the computed bytes right."""
    setup, architecture = situation.setup, situation.architecture
    resolved = cache_dtype(setup.cache_dtype, architecture)
    part = setup.engine == "llamacpp"  # of which the layers that keep all tokens are measured
    for dtype in ("f16", "q8_0", "q4_0") if part else ("bfloat16", "fp8_e4m3", "nvfp4", "float32"):
        other = cell_of(architecture, setup.parallel, dtype, window_share=setup.window_share)
        size = None if other is None else other.growing if part else other.target
        if dtype != resolved and size and abs(measured / size - 1) <= slack:
            return f"the cache is kept as {dtype}, not as {resolved}"
    alone = cell_of(architecture, replace(setup.parallel, tensor=1, attention_data=1), resolved)
    if alone is not None and setup.parallel.tensor > 1:
        if abs(measured / alone.target - 1) <= slack:
            return f"every rank keeps the whole cache, it is not split over TP{setup.parallel.tensor}"
        if abs(measured * setup.parallel.tensor / alone.target - 1) <= slack:
            return f"the cache is split over all {setup.parallel.tensor} ranks, it is not kept whole on each"
    own = cell_of(architecture, setup.parallel, resolved, window_share=setup.window_share)
    if own is not None and own.windowed and own.growing and setup.engine == "sglang":
        share = (measured - own.growing) / own.windowed
        if 0 <= share <= 1 + slack:
            return f"window layers keep {share:.2f} of the others' tokens, not {setup.window_share:g}"
    layers = architecture.caching_layers
    if own is not None and layers:
        counted = measured / (own.target / layers)
        near = abs(round(counted) - layers)
        if abs(counted - round(counted)) <= _WHOLE_LAYER and 0 < near <= _LAYERS_BESIDE:
            return f"{round(counted)} layers keep a cache, not {layers}"
    return "neither type, ranks nor layers of the cache explain it"
