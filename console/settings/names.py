"""The engine-neutral names of settings: what a runbook, a plan, the levels and a trailer call them."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Literal

SettingType = Literal["int", "float", "str", "flag"]


@dataclass(frozen=True)
class SettingName:
    """A setting as people speak of it. `lossy`: changing it may change what the model answers."""

    name: str
    type: SettingType
    unit: str
    meaning: str
    lossy: bool = False


_TABLE = (
    SettingName("context_length", "int", "tokens", "the longest request: prompt and output together"),
    SettingName("mem_fraction", "float", "share", "share of GPU memory for weights and KV pool"),
    SettingName("kv_cache_dtype", "str", "", "the type the KV cache is kept in", lossy=True),
    SettingName("max_running_requests", "int", "requests", "requests decoded at the same time"),
    SettingName("max_total_tokens", "int", "tokens", "the size of the KV pool, instead of what fits"),
    SettingName("max_queued_requests", "int", "requests", "requests that may wait before new ones are refused"),
    SettingName("chunked_prefill_size", "int", "tokens", "prompt tokens prefilled at a time"),
    SettingName("max_prefill_tokens", "int", "tokens", "prompt tokens in one prefill batch"),
    SettingName("page_size", "int", "tokens", "tokens in one page of the KV pool"),
    SettingName("tensor_parallel", "int", "GPUs", "GPUs one layer is split over"),
    SettingName("data_parallel", "int", "replicas", "replicas inside one server"),
    SettingName("pipeline_parallel", "int", "stages", "groups of layers on different GPUs"),
    SettingName("expert_parallel", "int", "GPUs", "GPUs the experts are spread over"),
    SettingName("nodes", "int", "hosts", "hosts that form one server"),
    SettingName("model_path", "str", "", "the weights: a folder or a repository name", lossy=True),
    SettingName("tokenizer_path", "str", "", "the tokenizer, where it is not the model's own", lossy=True),
    SettingName("served_model_name", "str", "", "the name clients ask for"),
    SettingName("host", "str", "", "the address it listens on"),
    SettingName("port", "int", "", "the port it listens on"),
    SettingName("dtype", "str", "", "the type of weights and activations", lossy=True),
    SettingName("quantization", "str", "", "how the weights are quantized", lossy=True),
    SettingName("attention_backend", "str", "", "the attention kernels"),
    SettingName("speculative_algorithm", "str", "", "how tokens are drafted"),
    SettingName("speculative_draft_model_path", "str", "", "the draft model"),
    SettingName("speculative_num_steps", "int", "steps", "draft steps before one verify step"),
    SettingName("speculative_eagle_topk", "int", "branches", "branches of the draft tree at each step"),
    SettingName("speculative_num_draft_tokens", "int", "tokens", "drafted tokens verified at once"),
    SettingName("cuda_graph_max_bs", "int", "requests", "the largest batch with a captured graph"),
    SettingName("reasoning_parser", "str", "", "how thinking is told from the answer"),
    SettingName("tool_call_parser", "str", "", "how tool calls are read"),
    SettingName("chat_template", "str", "", "the chat template, where it is not the model's own", lossy=True),
    SettingName("trust_remote_code", "flag", "", "run code that comes with the model"),
    SettingName("enable_metrics", "flag", "", "answer /metrics"),
)

SETTINGS = {setting.name: setting for setting in _TABLE}


def nearest_setting(name: str) -> str:
    """The known name that a misspelt one most likely means; "" where none is near."""
    near = difflib.get_close_matches(name.replace("-", "_"), SETTINGS, n=1)
    return near[0] if near else ""
