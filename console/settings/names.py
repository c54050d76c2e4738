"""The engine-neutral names of settings: what a runbook, a plan, the levels and a trailer call them."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Literal

SettingType = Literal["int", "float", "str", "flag"]


@dataclass(frozen=True)
class SettingName:
    """A setting as people speak of it. `lossy`: it may change what the model answers, but for the values in `exact`."""

    name: str
    type: SettingType
    unit: str
    meaning: str
    lossy: bool = False
    exact: frozenset[str] = frozenset()

    def loses(self, after: str | None) -> bool:
        """Whether answers may get worse with this value; None: the setting is taken away."""
        return self.lossy and after is not None and after.lower() not in self.exact


# The cache in the type that the model computes in, as the engines spell it.
_AS_COMPUTED = frozenset({"auto", "bf16", "bfloat16", "f16", "fp16", "float16", "f32", "float32"})

_TABLE = (
    SettingName("context_length", "int", "tokens", "the longest request: prompt and output together"),
    SettingName("mem_fraction", "float", "share", "share of GPU memory for weights and KV pool"),
    SettingName("kv_cache_dtype", "str", "", "the type the KV cache is kept in", lossy=True, exact=_AS_COMPUTED),
    SettingName("max_total_tokens", "int", "tokens", "the size of the KV pool, instead of what fits"),
    SettingName("max_prefill_tokens", "int", "tokens", "prompt tokens in one prefill batch"),
    SettingName("max_running_requests", "int", "requests", "requests decoded at the same time"),
    SettingName("chunked_prefill_size", "int", "tokens", "prompt tokens prefilled at a time"),
    SettingName("page_size", "int", "tokens", "tokens in one page of the KV pool"),
    SettingName("tensor_parallel", "int", "GPUs", "GPUs one layer is split over"),
    SettingName("data_parallel", "int", "replicas", "replicas inside one server"),
    SettingName("pipeline_parallel", "int", "stages", "groups of layers on different GPUs"),
    SettingName("expert_parallel", "int", "GPUs", "GPUs the experts are spread over"),
    SettingName("decode_context_parallel", "int", "GPUs", "GPUs one request's context is spread over while decoding"),
    SettingName("attention_data_parallel", "int", "GPUs", "replicas of attention alone"),
    SettingName("dp_attention", "flag", "", "replicate attention, share the experts"),
    SettingName("model_path", "str", "", "the weights: a folder or a repository name", lossy=True),
    SettingName("served_model_name", "str", "", "the name clients ask for"),
    SettingName("tokenizer_path", "str", "", "the tokenizer, where it is not the model's own", lossy=True),
    SettingName("trust_remote_code", "flag", "", "run code that comes with the model"),
    SettingName("dtype", "str", "", "the type of weights and activations", lossy=True),
    SettingName("quantization", "str", "", "how the weights are quantized", lossy=True),
    SettingName("host", "str", "", "the address it listens on"),
    SettingName("port", "int", "", "the port it listens on"),
    SettingName("api_key", "str", "", "the key clients must show; a secret, never set here"),
    SettingName("admin_api_key", "str", "", "the key for administration; a secret, never set here"),
    SettingName("attention_backend", "str", "", "the attention kernels"),
    SettingName("speculative_algorithm", "str", "", "how tokens are drafted"),
    SettingName("draft_model_path", "str", "", "the draft model"),
    SettingName("draft_steps", "int", "steps", "draft steps before one verify step"),
    SettingName("draft_top_k", "int", "branches", "branches of the draft tree at each step"),
    SettingName("draft_tokens", "int", "tokens", "drafted tokens verified at once"),
    SettingName("draft_kv_cache_dtype", "str", "", "the type the draft model's KV cache is kept in"),
    SettingName("cuda_graph_max_batch", "int", "requests", "the largest batch with a captured graph"),
    SettingName("disable_cuda_graph", "flag", "", "launch every kernel by itself"),
    SettingName("disable_prefix_cache", "flag", "", "prefill every prompt from its start"),
    SettingName("metrics", "flag", "", "answer /metrics"),
    SettingName("cache_report", "flag", "", "report cached tokens with each answer"),
    SettingName("decode_log_interval", "int", "batches", "decode batches between two log lines"),
    SettingName("watchdog_timeout", "float", "seconds", "silence after which the server gives itself up"),
    SettingName("skip_warmup", "flag", "", "no request of its own before it is ready"),
    SettingName(
        "truncate_long_prompts", "flag", "", "cut prompts that are too long instead of refusing them", lossy=True
    ),
    SettingName("tool_call_parser", "str", "", "how tool calls are read"),
    SettingName("reasoning_parser", "str", "", "how thinking is told from the answer"),
    SettingName("config_file", "str", "", "a file with more options"),
)

SETTINGS = {setting.name: setting for setting in _TABLE}


def nearest_setting(name: str) -> str:
    """The known name that a misspelt one most likely means; "" where none is near."""
    near = difflib.get_close_matches(name.replace("-", "_"), SETTINGS, n=1)
    return near[0] if near else ""
