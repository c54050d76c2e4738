"""What the log of a start says of a GPU's memory: weights, pool, and what is left after the graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from console.facts.journal import JournalLine
from console.schema.facts import MemoryLog, PoolLine


def memory_of(lines: Sequence[JournalLine]) -> MemoryLog:
    """Of rank 0 alone: the others say the same. A draft's lines come after the target's and do not count here.

    vLLM says how much memory is left for the pool before it says how many tokens that is.
    """
    weights: float | None = None
    free: float | None = None
    running: int | None = None
    pools: list[PoolLine] = []
    pool_ended = False
    left: float | None = None
    for line in lines:
        read = line.read
        if read is None or read.values.get("tp_rank", 0) or read.values.get("dp_rank", 0):
            continue
        values = read.values
        if read.kind == "weights" and "used_gib" in values:
            weights = weights if weights is not None else _number(values["used_gib"])
        elif read.kind == "pool" and "available_gib" in values:
            here = _number(values["available_gib"])
            left = here if left is None or here is None else min(left, here)
        elif read.kind in ("pool", "limits") and left is not None and "tokens" in values:
            pools = [PoolLine(tokens=int(_number(values["tokens"]) or 0), gib=left)]
        elif read.kind == "pool" and "tokens" in values and not pool_ended:
            pools.append(_pool(values))
        elif read.kind == "pool" and pools:
            pool_ended = True
        elif read.kind == "limits":
            free = _number(values.get("available_gib"))
            most = _number(values.get("max_running"))
            running = int(most) if most else None
    return MemoryLog(weights_gib=weights, pools=tuple(pools), free_gib=free, max_running=running)


def _pool(values: Mapping[str, object]) -> PoolLine:
    parts = [size for name in ("kv_gib", "k_gib", "v_gib") if (size := _number(values.get(name))) is not None]
    return PoolLine(
        tokens=int(_number(values.get("tokens")) or 0),
        gib=sum(parts) if parts else None,
        dtype=str(values.get("dtype") or "").removeprefix("torch."),
    )


def _number(value: object) -> float | None:
    try:
        return float(value) if isinstance(value, int | float | str) else None
    except ValueError:
        return None
