"""Why a start of vLLM failed: the lines that say so, and how near to the root each is.

The core's error comes first, then the front's "Engine core initialization failed", then systemd's exit line. The
certainties are those of `sglang_failures`.
"""

from __future__ import annotations

import re

from console.engines.logtable import Row, Values
from console.engines.python_failures import COMMON


def _too_small(text: str) -> Values:
    """What is asked for, what fits, and the engine's own estimate of the longest window."""
    values: dict[str, float | int | str] = {}
    for name, pattern in (
        ("asked", r"max seq len \((\d+)\)"),
        ("estimated_maximum", r"estimated maximum model length is (\d+)"),
        ("pool_tokens", r"can be stored in KV cache \((\d+)\)"),
    ):
        if match := re.search(pattern, text):
            values[name] = int(match[1])
    for name, pattern in (("need_gib", r"\(?([\d.]+) GiB KV cache is needed"), ("have_gib", r"memory \(([\d.]+) GiB")):
        if match := re.search(pattern, text):
            values[name] = float(match[1])
    return values


FAILURES: tuple[Row, ...] = (
    Row(
        "failure",
        re.compile(
            r"^ValueError: To serve at least one request with the models?'s max seq len"
            r"|^ValueError: The model's max seq len \(\d+\) is larger than the maximum number of tokens"
        ),
        "0.6 (`is larger than`), 0.8 (`To serve at least one request`)",
        "ValueError: To serve at least one request with the model's max seq len (200000), (13.09 GiB KV cache is "
        "needed, which is larger than the available KV cache memory (9.1 GiB). Based on the available memory, the "
        "estimated maximum model length is 139000.",
        cause="context-longer-than-pool",
        certainty=92,
        fields=_too_small,
    ),
    Row(
        "failure",
        re.compile(r"^ValueError: No available memory for the cache blocks"),
        "0.4",
        "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when "
        "initializing the engine.",
        cause="no-memory-for-pool",
        certainty=90,
    ),
    Row(
        "failure",
        re.compile(
            r"User-specified max_model_len \((?P<asked>\d+)\) is greater than the derived max_model_len "
            r"\((?:[^)]*?=(?P<limit>\d+))?"
        ),
        "0.4; VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 allows it",
        "ValueError: User-specified max_model_len (200000) is greater than the derived max_model_len "
        "(max_position_embeddings=131072 or model_max_length=None in model's config.json).",
        cause="context-longer-than-model",
        certainty=92,
    ),
    Row(
        "failure",
        re.compile(
            r"^ValueError: Free memory on device (?P<device>\S+ )?\((?P<free_gib>[\d.]+)/(?P<total_gib>[\d.]+) GiB\) "
            r"on startup is less than desired"
        ),
        "0.9; somebody else holds the memory, often the process before",
        "ValueError: Free memory on device cuda:0 (1.20/79.11 GiB) on startup is less than desired GPU memory "
        "utilization (0.9, 71.2 GiB).",
        cause="gpu-memory-held",
        certainty=90,
    ),
    Row(
        "failure",
        re.compile(r"^RuntimeError: Engine core initialization failed|^RuntimeError: Engine process failed to start"),
        "0.8; says where to look",
        "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}",
        cause="child-died",
        certainty=10,
    ),
    Row(
        "failure",
        re.compile(r"EngineDeadError|^AsyncEngineDeadError"),
        "0.8",
        "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace for the "
        "root cause.",
        cause="child-died",
        certainty=10,
    ),
    *COMMON,
)
