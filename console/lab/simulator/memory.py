"""How many tokens the KV pool holds, and the largest request that leaves room for."""

from __future__ import annotations

from dataclasses import dataclass

from .options import Options

GIB = 1024**3
BYTES_OF = {"fp8_e4m3": 1, "fp8_e5m2": 1}


@dataclass(frozen=True)
class Memory:
    """Tokens and GiB of one GPU. The latent of MLA is kept whole on every rank, so TP changes nothing."""

    pool_tokens: int
    bytes_per_token: int
    pool_gib: float
    free_gib: float  # after the pool


def plan_memory(
    options: Options, mem_fraction: float, kv_cache_dtype: str, cap: int | None, share: float = 1.0
) -> Memory:
    """Pool = (mem_fraction × GPU − weights and the like) ÷ bytes a token, at most `--max-total-tokens`.

    `share` below 1 is the fault of a pool that comes out smaller than that.
    """
    bytes_per_token = options.kv_elements * BYTES_OF.get(kv_cache_dtype, 2)
    room = (mem_fraction * options.gpu_gib - options.static_gib) * GIB * share
    pool = int(room // bytes_per_token)
    if cap is not None:
        pool = min(pool, cap)
    pool_gib = max(pool, 0) * bytes_per_token / GIB
    return Memory(pool, bytes_per_token, pool_gib, options.gpu_gib - options.static_gib - pool_gib)


@dataclass(frozen=True)
class Limits:
    """What one request may ask for. `max_input`: a prompt must be shorter than this."""

    context: int
    pool: int

    @property
    def max_total(self) -> int:
        return min(self.context, self.pool) - 1

    @property
    def max_input(self) -> int:
        return self.max_total - 5
