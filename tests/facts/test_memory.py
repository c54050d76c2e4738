"""What a start's log says of memory: of rank 0, the target's and not the draft's."""

from __future__ import annotations

from console.facts.journal import JournalLine
from console.facts.memory import memory_of
from console.schema.facts import PoolLine
from tests.fakes import SGLANG

LOG = """\
[2026-03-01 10:00:01 TP0] Load weight end. type=DeepseekV3ForCausalLM, dtype=torch.bfloat16, avail mem=20.10 GB, mem usage=73.58 GB.
[2026-03-01 10:00:01 TP1] Load weight end. type=DeepseekV3ForCausalLM, dtype=torch.bfloat16, avail mem=20.10 GB, mem usage=70.00 GB.
[2026-03-01 10:00:02 TP1] KV Cache is allocated. #tokens: 101134, KV size: 6.62 GB
[2026-03-01 10:00:02 TP0] KV Cache is allocated. #tokens: 101134, KV size: 6.62 GB
[2026-03-01 10:00:03 TP0] Memory pool end. avail mem=14.34 GB
[2026-03-01 10:00:04 TP0] Load weight end. type=LlamaForCausalLMEagle3, dtype=torch.bfloat16, avail mem=12.00 GB, mem usage=2.00 GB.
[2026-03-01 10:00:05 TP0] KV Cache is allocated. #tokens: 101134, K size: 0.10 GB, V size: 0.10 GB
[2026-03-01 10:00:06 TP0] max_total_num_tokens=101134, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=48, context_len=32768, available_gpu_mem=11.90 GB
"""  # noqa: E501 - lines as they are


def lines(text: str) -> list[JournalLine]:
    return [JournalLine(line, 0.0, "", "", SGLANG.read_log(line)) for line in text.splitlines()]


def test_the_target_of_rank_0() -> None:
    seen = memory_of(lines(LOG))
    assert seen.pools == (PoolLine(tokens=101_134, gib=6.62),)
    assert (seen.weights_gib, seen.free_gib, seen.max_running) == (73.58, 11.90, 48)


def test_keys_and_values_are_added() -> None:
    (pool,) = memory_of(
        lines("[2025-10-12 23:00:35 TP0] KV Cache is allocated. #tokens: 38187, K size: 1.60 GB, V size: 1.60 GB")
    ).pools
    assert pool.gib == 3.2


def test_a_log_that_says_nothing() -> None:
    seen = memory_of(lines("hello"))
    assert (seen.pools, seen.weights_gib, seen.free_gib) == ((), None, None)
