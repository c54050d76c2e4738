"""How many tokens the pool will hold under another command line, reckoned from the pool that runs.

SGLang and vLLM give the pool what is left of `mem_fraction` of a GPU after the weights, so a pool that runs says what
the weights took without asking anybody: a change of the share moves the pool by that share of the GPU's memory.
"""

from __future__ import annotations

from dataclasses import replace

from console.analysis.capacity.cache import GIB, Cell
from console.analysis.capacity.calibrate import calibrate
from console.analysis.capacity.prediction import Prediction
from console.analysis.capacity.setup import Setup
from console.analysis.capacity.shared_window import of_window
from console.analysis.capacity.situation import Situation, cell
from console.analysis.capacity.weights import moved_gib

# SGLang keeps the place of every token of every request: 4 bytes each (`ReqToTokenPool`).
_PLACE_BYTES = 4
# With speculative decoding and no `--max-running-requests`, SGLang sets this many.
_SPECULATING_REQUESTS = 48


def predict(situation: Situation, after: Setup, window: int | None) -> Prediction:
    """The pool under `after`, for a window of `window` tokens."""
    calibration = calibrate(situation)
    before, pool = situation.setup, situation.pool_tokens
    if after.engine == "llamacpp":
        return of_window(situation, after, window, calibration.cell)
    cell_before = calibration.cell
    cell_after = _cell_after(situation, after, calibration.agrees is False, cell_before)
    if pool is None:
        return _from_weights(situation, after, cell_after)
    if not resized(before, after):
        return _checked(situation, after, window, Prediction(pool, cell_after))
    missing = _not_seen(situation, after, cell_before, cell_after)
    if missing or cell_before is None or cell_after is None:
        return Prediction(None, cell_after, missing=(missing,))
    lines = [f"the pool holds {pool:,} tokens x {cell_before.pooled:,.0f} B = {_gib(pool * cell_before.pooled)} now"]
    room = pool * cell_before.pooled
    assumed: list[str] = list(calibration.assumed)
    weights = moved_gib(situation, after)
    if weights.reason:
        return Prediction(None, cell_after, missing=(f"the pool after this change: {weights.reason}",))
    room -= weights.more_gib * GIB
    lines += weights.lines
    assumed += weights.assumed
    if after.mem_fraction != before.mem_fraction:
        assert after.mem_fraction is not None
        assert before.mem_fraction is not None
        assert situation.gpu_gib is not None
        more = (after.mem_fraction - before.mem_fraction) * situation.gpu_gib
        of_pool = more * _cache_share(situation, cell_after)
        room += of_pool * GIB
        lines.append(
            f"mem_fraction {before.mem_fraction:g} -> {after.mem_fraction:g} of {situation.gpu_gib:.1f} GiB: "
            f"{more:+.3f} GiB"
        )
        if of_pool != more:
            lines.append(f"of these {of_pool:+.3f} GiB for tokens, the rest for states of linear layers")
        if not weights.assumed:
            assumed.append("weights and everything else stay as they are")
    if cell_after.pooled != cell_before.pooled:
        lines.append(f"a token then costs {cell_after.pooled:,.0f} B ({cell_after.how})")
    tokens = round(room / cell_after.pooled)
    lines.append(f"the pool then holds {_gib(room)} / {cell_after.pooled:,.0f} B = {tokens:,} tokens")
    if after.max_total_tokens is not None and after.max_total_tokens < tokens:
        tokens = after.max_total_tokens
        lines.append(f"max_total_tokens caps it at {tokens:,}")
    made = Prediction(tokens, cell_after, tuple(lines), tuple(assumed), rough=bool(weights.assumed))
    return _checked(situation, after, window, made, weights.more_gib)


def _not_seen(situation: Situation, after: Setup, cell_before: Cell | None, cell_after: Cell | None) -> str:
    """What would have to be known for this change and is not; empty where all is."""
    before, pool = situation.setup, situation.pool_tokens or 0
    if cell_before is None or cell_after is None:
        return f"the pool after this change: {situation.architecture.unknown or 'the type of the cache is not known'}"
    capped = before.max_total_tokens is not None and pool >= before.max_total_tokens
    if capped and after.max_total_tokens != before.max_total_tokens:
        return "the pool without its cap: how much fits was never seen"
    if after.mem_fraction != before.mem_fraction:
        if situation.gpu_gib is None:
            return "the pool after a change of mem_fraction: the GPU's memory is not seen"
        if after.mem_fraction is None or before.mem_fraction is None:
            return "the pool after a change of mem_fraction: mem_fraction as it runs is not seen"
    return ""


def _cache_share(situation: Situation, made: Cell) -> float:
    """How much of more memory goes to tokens: SGLang keeps `--mamba-full-memory-ratio` times as much for states."""
    setup = situation.setup
    if setup.engine != "sglang" or not made.per_request or setup.states_fixed:
        return 1.0
    return 1.0 / (1.0 + setup.state_ratio)


def resized(before: Setup, after: Setup) -> list[str]:
    """The settings that differ and move the pool."""
    pairs = {
        "mem_fraction": (before.mem_fraction, after.mem_fraction),
        "kv_cache_dtype": (before.cache_dtype, after.cache_dtype),
        "max_total_tokens": (before.max_total_tokens, after.max_total_tokens),
        "tensor_parallel": (before.parallel, after.parallel),
        "speculative_algorithm": (before.algorithm, after.algorithm),
        "draft_model_path": (before.draft_path, after.draft_path),
        "draft_kv_cache_dtype": (before.draft_cache_dtype, after.draft_cache_dtype),
        "--swa-full-tokens-ratio": (before.window_share, after.window_share),
    }
    return [name for name, (old, new) in pairs.items() if old != new]


def pool_beside_weights(
    gpu_bytes: float, weights_bytes: float, ranks: int, cell_bytes: float, *, fraction: float = 1.0
) -> int:
    """Tokens that fit beside evenly split weights when nothing else takes memory: an upper bound."""
    return max(int((gpu_bytes * fraction - weights_bytes / ranks) // cell_bytes), 0)


def requests_bytes(setup: Setup, situation: Situation, window: int, pool: int | None) -> float:
    """What the table of requests takes on a GPU, which grows with the window and not with the pool."""
    if setup.engine != "sglang":
        return 0.0
    return running_requests(setup, situation, window, pool) * (window + 4) * _PLACE_BYTES


def running_requests(setup: Setup, situation: Situation, window: int, pool: int | None) -> int:
    """Requests decoded at a time: as asked, as logged, else by SGLang's rule."""
    if setup.max_running:
        return setup.max_running
    if situation.log.max_running:
        return situation.log.max_running
    if setup.algorithm:
        return _SPECULATING_REQUESTS
    return min(max(int((pool or 0) / max(window, 1) * 512), 2048), 4096)


def _cell_after(situation: Situation, after: Setup, off: bool, before: Cell | None) -> Cell | None:
    """The computed cell, scaled by what the running one was off by."""
    made = cell(after, situation.architecture, situation.draft)
    if made is None or before is None:
        return made if made is not None else before if not resized(situation.setup, after) else None
    computed = cell(situation.setup, situation.architecture, situation.draft)
    if not off or computed is None:
        return made
    if made == computed:
        return before
    scale = before.target / computed.target
    return replace(made, growing=made.growing * scale, windowed=made.windowed * scale)


def _checked(
    situation: Situation, after: Setup, window: int | None, made: Prediction, weights_gib: float = 0.0
) -> Prediction:
    """Whether weights and graphs leave room for what this takes more; and a pool of nothing.

    `weights_gib`: what the weights take more than now.
    """
    pool = made.tokens
    refused = "weights and the rest leave nothing for the pool" if pool is not None and pool <= 0 else ""
    free = situation.log.free_gib
    lines, table = list(made.lines), ""
    if free is not None and made.cell is not None and pool is not None and situation.pool_tokens is not None:
        old_cell = calibrate(situation).cell
        if old_cell is not None:
            free -= (pool * made.cell.pooled - situation.pool_tokens * old_cell.pooled) / GIB + weights_gib
        if window and situation.window:
            growth = requests_bytes(after, situation, window, pool)
            growth -= requests_bytes(situation.setup, situation, situation.window, situation.pool_tokens)
            free -= growth / GIB
            if abs(growth) >= GIB / 100:
                table = f"; the table of requests takes {growth / GIB:+.2f}"
        lines.append(f"left on a GPU after the graphs: {free:.2f} GiB (now {situation.log.free_gib:.2f}{table})")
        if free < 0:
            refused = refused or f"{-free:.2f} GiB too little for pool, graphs and table of requests"
    one = None
    if made.cell is not None and made.cell.windowed and after.engine == "vllm" and pool is not None:
        # Any layer may have any block, and window layers give theirs back: one request may be longer than the pool.
        one = made.cell.longest_request(pool * made.cell.pooled)
    return replace(made, lines=tuple(lines), free_gib=free, refused=refused, one_request=one)


def _from_weights(situation: Situation, after: Setup, made: Cell | None) -> Prediction:
    """Nothing runs: what fits beside the weights at most."""
    missing = tuple(text for text in situation.missing if text.startswith("the running pool"))
    if made is None or situation.gpu_gib is None or situation.weights_gib is None or after.mem_fraction is None:
        return Prediction(None, made, missing=missing or ("the running pool",))
    room = after.mem_fraction * situation.gpu_gib - situation.weights_gib
    tokens = max(int(room * GIB // made.pooled), 0)
    share = f"{after.mem_fraction:g} of {situation.gpu_gib:.1f} GiB"
    line = f"{share} less {situation.weights_gib:.2f} GiB of weights: at most {room:.2f} GiB = {tokens:,} tokens"
    refused = "" if tokens else "the weights leave nothing for the pool"
    assumed = ("nothing but the weights takes memory",)
    return Prediction(tokens, made, (line,), assumed, missing, at_most=True, refused=refused)


def _gib(size: float) -> str:
    return f"{size / GIB:.3f} GiB"
