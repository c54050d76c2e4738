"""llama.cpp makes its cache as large as the window it is given, for all slots, and starts where memory holds that."""

from __future__ import annotations

from console.analysis.capacity.cache import GIB, Cell
from console.analysis.capacity.prediction import Prediction
from console.analysis.capacity.setup import Setup
from console.analysis.capacity.situation import Situation, cell

# `GGML_PAD(n_ctx, 256)`; a cache of window layers is padded likewise.
_BLOCK = 256


def of_window(situation: Situation, after: Setup, window: int | None, measured: Cell | None) -> Prediction:
    """What one request will get of the window, and whether the memory that is free holds what the cache grows by.

    `measured`: the cell of the running instance, as its log calibrates it.
    """
    if window is None:
        return Prediction(None, measured, missing=("the window: neither the command line nor the header says it",))
    each = _each(after, window)
    trained = situation.limit()
    short = ""
    if after.slots > 1 and not after.unified:
        short = f"{after.slots} slots share the window, a request gets {each:,} of it"
    if trained is not None and each > trained.tokens:
        each = trained.tokens
        short = f"a slot is cut to the {each:,} tokens the model was made for"
    same_types = (after.cache_dtype, after.value_cache_dtype) == (
        situation.setup.cache_dtype,
        situation.setup.value_cache_dtype,
    )
    made = measured if measured is not None and same_types else cell(after, situation.architecture, None)
    tokens = _whole(window)
    if made is None:
        why = situation.architecture.unknown or "the type of the cache is not known"
        return Prediction(tokens, None, one_request=each, short=short, missing=(f"memory of the cache: {why}",))
    lines, missing, refused = [], [], ""
    size = cache_bytes(made, after, window)
    lines.append(f"the cache of {tokens:,} tokens takes {size / GIB:.2f} GiB, of all GPUs together")
    now_tokens = (situation.window or 0) * (1 if situation.setup.unified else situation.setup.slots)
    before = cell(situation.setup, situation.architecture, None) if not same_types else made
    if not now_tokens or before is None:
        missing.append("the running cache: nothing runs, so what else takes memory is not seen")
    elif not after.offloaded:
        if tokens > now_tokens:
            missing.append("the host's free memory, where the cache is kept (no layers on a GPU)")
    else:
        more = (size - cache_bytes(before, situation.setup, now_tokens)) / GIB
        free = situation.gpus_free_gib
        if free is None:
            missing.append("the GPUs' free memory")
        else:
            lines.append(f"{more:+.2f} GiB more than now, {free:.2f} GiB are free on {situation.gpus} GPUs")
            refused = f"the cache grows by {more:.2f} GiB, only {free:.2f} GiB are free" if more > free else ""
    assumed: tuple[str, ...] = ("the layers lie evenly on the GPUs",) if situation.gpus > 1 else ()
    if after.draft_path:
        assumed = (*assumed, "the draft's own cache is not counted")
    return Prediction(
        tokens,
        made,
        tuple(lines),
        assumed,
        tuple(missing),
        refused=refused,
        one_request=each,
        short=short,
    )


def largest_window(situation: Situation, setup: Setup, limit: int | None) -> int | None:
    """The longest window whose cache the memory holds that is free now, or that the model was made for."""
    made, before = (cell(one, situation.architecture, None) for one in (setup, situation.setup))
    free = situation.gpus_free_gib
    if made is None or before is None or free is None or not setup.offloaded or not situation.window:
        return None
    now = situation.window * (1 if situation.setup.unified else situation.setup.slots)
    room = free * GIB + cache_bytes(before, situation.setup, now)
    most = limit * (1 if setup.unified else setup.slots) if limit else 1 << 24
    low, high = 0, most // _BLOCK
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if cache_bytes(made, setup, middle * _BLOCK) <= room else (low, middle - 1)
    return low * _BLOCK


def cache_bytes(made: Cell, setup: Setup, window: int) -> float:
    """The cache of all slots; window layers keep their window for each, and a batch beside it."""
    streams = 1 if setup.unified else setup.slots
    every = _whole(window)
    if setup.window_share >= 1.0:
        kept = every
    else:
        own = made.window_tokens * (setup.slots if setup.unified else 1) + setup.batch_tokens
        kept = min(_whole(window // streams), _whole(own)) * streams
    return made.growing * every + made.windowed * kept + made.per_request * setup.slots


def _each(setup: Setup, window: int) -> int:
    """What a slot gets of it."""
    return window if setup.unified else _whole(window // max(setup.slots, 1))


def _whole(tokens: int) -> int:
    return (tokens + _BLOCK - 1) // _BLOCK * _BLOCK
