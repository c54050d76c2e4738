"""The log lines of llama.cpp's server: the table, and the prefix before them.

A line is `0.06.000.100 I srv    load_model: text`: time since the start, level, component and function; the first two
are missing in older builds, and a router puts `[port] ` of the instance before it.
"""

from __future__ import annotations

import re
from functools import lru_cache

from console.engines.base import LogLine
from console.engines.logtable import Row, Values, number, read_line
from console.engines.python_failures import EXITED

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_PREFIX = re.compile(
    r"(?:\[(?P<instance>\d+)\] *)?(?:(?P<since>\d+(?:\.\d{2,3}){3}) )?(?:(?P<level>[IWEDT]) +)?"
    r"(?=\S)"
)


def _slots(text: str) -> Values:
    values: dict[str, float | int | str] = {}
    for name, pattern in (
        ("slots", r"n_slots = (\d+)"),
        ("context", r"n_ctx_slot = (\d+)"),
        ("tokens", r"n_ctx_slot = (\d+)"),
        ("unified", r"kv_unified = '?(\w+)'?"),
    ):
        if match := re.search(pattern, text):
            values[name] = number(match[1])
    return values


def _cache(text: str) -> Values:
    """Cells of one stream times the streams; the size is that of all of them."""
    match = re.search(r"size = +([\d.]+) MiB \( *(\d+) cells, +\d+ layers, +\d+(?:/ *(\d+))? seqs\)", text)
    if match is None:
        return {}
    return {"tokens": int(match[2]) * int(match[3] or 1), "kv_gib": float(match[1]) / 1024}


TABLE: tuple[Row, ...] = (
    Row(
        "args",
        re.compile(r"common_params_print_info: verbosity = |^(?:main: )?build(?:_info)?: (?:b?\d+)"),
        "build 11000 (verbosity), before: build",
        "cmn  common_param: common_params_print_info: verbosity = 3 (adjust with the `-lv N` CLI arg)",
    ),
    Row(
        "weights",
        re.compile(r"load_model: loading model\b|^main: loading model\b|^load_tensors: loading model tensors"),
        "2024",
        "srv    load_model: loading model '/models/m.gguf'",
    ),
    Row(
        "limits",
        re.compile(r"initializing(?: slots)?, n_slots = \d+, n_ctx_slot = \d+"),
        "build 9000",
        "srv    load_model: initializing, n_slots = 4, n_ctx_slot = 16384, kv_unified = 'false'",
        fields=_slots,
    ),
    Row(
        "pool",
        re.compile(r"initializing slots, n_slots = (?P<slots>\d+)$"),
        "2024",
        "srv          init: initializing slots, n_slots = 4",
    ),
    Row(
        "limits",
        re.compile(r"new slot,? n_ctx(?:_slot)? = (?P<context>\d+)"),
        "2024",
        "slot         init: id  0 | task -1 | new slot n_ctx_slot = 8192",
    ),
    Row(
        "pool",
        re.compile(r"n_parallel is set to auto, using n_parallel = (?P<slots>\d+) and kv_unified = (?P<unified>\w+)"),
        "build 7500",
        "srv    load_model: n_parallel is set to auto, using n_parallel = 4 and kv_unified = true",
    ),
    Row(
        "pool",
        re.compile(r"llama_kv_cache(?:_unified|_dsa)?: size = +[\d.]+ MiB"),
        "build 5400; of a model with window layers one line for these and one for the others",
        "llama_kv_cache: size =  512.00 MiB (  4096 cells,  32 layers,  4/1 seqs), K (f16):  256.00 MiB, V (f16):  "
        "256.00 MiB",
        fields=_cache,
    ),
    Row(
        "pool",
        re.compile(r"n_ctx(?:_seq|_per_seq)? \(\d+\) < n_ctx_train \((?P<trained>\d+)\)"),
        "2024; a warning only",
        "llama_context: n_ctx_seq (16384) < n_ctx_train (131072) -- the full capacity of the model will not be used",
    ),
    Row(
        "pressure",
        re.compile(r"the slot context \((?P<asked>\d+)\) exceeds the training context of the model \((?P<limit>\d+)\)"),
        "build 6500; it caps the slots without failing",
        "srv    load_model: the slot context (200000) exceeds the training context of the model (131072) - capping",
        cause="context-longer-than-model",
    ),
    Row(
        "ready",
        re.compile(r"(?:server is )?listening on (?P<url>(?:http|unix)\S*)"),
        "2024; after the model is loaded, though the port answers 503 before",
        "main: server is listening on http://127.0.0.1:8080 - starting the main loop",
    ),
    Row("listening", re.compile(r"\bmodel loaded\s*$"), "2024", "main: model loaded"),
    Row(
        "prefill",
        re.compile(
            r"prompt eval time = +(?P<elapsed_ms>[\d.]+) ms / +(?P<new_tokens>\d+) tokens"
            r".*?(?P<input_throughput>[\d.]+) tokens per second"
        ),
        "2023",
        "prompt eval time =    6365.00 ms /  8734 tokens (    0.73 ms per token,  1372.19 tokens per second)",
    ),
    Row(
        "decode",
        re.compile(
            r"(?<!prompt )\beval time = +(?P<elapsed_ms>[\d.]+) ms / +(?P<tokens>\d+) (?:tokens|runs)"
            r".*?(?P<throughput>[\d.]+) tokens per second"
        ),
        "2023",
        "       eval time =     921.57 ms /    38 tokens (   24.25 ms per token,    41.23 tokens per second)",
    ),
    Row(
        "decode",
        re.compile(
            r"draft acceptance(?: rate)? = (?P<accept_rate>[\d.]+) \( *(?P<accepted>\d+) accepted / +(?P<drafted>\d+) "
            r"generated\)(?:, mean (?:acceptance )?len(?:gth)? = +(?P<accept_len>[\d.]+))?"
        ),
        "2025; the length counts the bonus token",
        "draft acceptance = 0.66667 (  120 accepted /   180 generated), mean len =  2.91",
    ),
    Row(
        "prefill",
        re.compile(
            r"prompt processing(?: progress)?, n_tokens = +(?P<tokens>\d+).*?progress = +(?P<share>[\d.]+)"
            r"(?:.*?(?P<input_throughput>[\d.]+) tokens per second)?"
        ),
        "2025",
        "slot print_timing: id  2 | task 2 | prompt processing, n_tokens =   4096, progress = 0.47, t =   3.61 s / "
        "1133.55 tokens per second",
    ),
    Row(
        "decode",
        re.compile(r"\bn_decoded = +(?P<tokens>\d+), tg = +(?P<throughput>[\d.]+) t/s"),
        "2026",
        "slot print_timing: id  0 | task 11 | n_decoded =    140, tg =  13.64 t/s",
    ),
    Row(
        "access",
        re.compile(r"(?:done )?request: (?P<method>[A-Z]+) (?P<path>/\S*) (?P<client>\S+) (?P<status>\d{3})\b"),
        "2024",
        "srv  log_server_r: request: GET /health 127.0.0.1 200",
    ),
    Row(
        "pressure",
        re.compile(
            r"request \((?P<asked>\d+) tokens\) exceeds the available context size \((?P<limit>\d+) tokens\)"
            r"|input (?:is )?\(?\d+ tokens\)? is (?:larger|too large)"
        ),
        "2025",
        "srv    send_error: task id = 4, error: request (20000 tokens) exceeds the available context size (16384 "
        "tokens), try increasing it",
        cause="request-longer-than-context",
    ),
    Row(
        "pressure",
        re.compile(r"failed to find free space in the KV cache"),
        "2024",
        "srv  update_slots: failed to find free space in the KV cache, retrying with smaller batch size",
        cause="retracted",
    ),
    Row(
        "stopping",
        re.compile(r"cleaning up before exit|^Received second interrupt"),
        "2024",
        "srv    operator(): operator(): cleaning up before exit...",
    ),
    Row(
        "failure",
        re.compile(r"^(?:E +)?error: (?P<message>invalid argument: \S+|unknown argument: \S+)"),
        "2024; an update took the option away",
        "error: invalid argument: --no-such-option",
        cause="bad-argument",
        certainty=95,
    ),
    Row(
        "failure",
        re.compile(r"^error while handling (?P<message>(?:argument|environment variable) .*)"),
        "2024",
        'error while handling argument "--ctx-size": stoi',
        cause="bad-argument",
        certainty=95,
    ),
    Row(
        "failure",
        re.compile(
            r"(?:ggml_backend_\w+_buffer_type_alloc_buffer|alloc_tensor_range|ggml_gallocr_reserve_n\w*): "
            r"(?:allocating|failed to allocate) (?P<tried>[\d.]+ MiB|\S+ buffer of size \d+)(?:.*out of memory)?"
        ),
        "2024; the buffers of the cache grow with the window",
        "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 26214.40 MiB on device 0: cudaMalloc failed: out of "
        "memory",
        cause="out-of-memory",
        certainty=82,
    ),
    Row(
        "failure",
        re.compile(r"failed to allocate (?:buffer for kv cache|compute \w+ buffers|buffer for rs cache)"),
        "2025",
        "llama_init_from_model: failed to initialize the context: failed to allocate buffer for kv cache",
        cause="no-memory-for-pool",
        certainty=88,
    ),
    Row(
        "failure",
        re.compile(r"(?:error loading model|failed to load model)\b.*(?:No such file|failed to open|does not exist)"),
        "2024",
        "llama_model_load: error loading model: llama_model_loader: failed to load model from /models/gone.gguf: No "
        "such file or directory",
        cause="model-not-found",
        certainty=84,
    ),
    Row(
        "failure",
        re.compile(r"gguf_init_from_file\w*: failed to open GGUF file"),
        "2024",
        "gguf_init_from_file: failed to open GGUF file '/models/gone.gguf'",
        cause="model-not-found",
        certainty=84,
    ),
    Row(
        "failure",
        re.compile(r"couldn't (?:start HTTP listener|bind (?:to )?(?:HTTP )?server socket)"),
        "2024",
        "srv         start: couldn't start HTTP listener on http://127.0.0.1:8080",
        cause="port-in-use",
        certainty=86,
    ),
    Row(
        "failure",
        re.compile(r"unknown model architecture: '(?P<message>[^']+)'"),
        "2024; the build is older than the model",
        "llama_model_load: error loading model: unknown model architecture: 'newer'",
        cause="model-not-supported",
        certainty=84,
    ),
    Row(
        "failure",
        re.compile(
            r"failed to (?:load model|create_?\s?context with model)"
            r"|exiting due to (?:model loading|HTTP server) error"
        ),
        "2024",
        "srv  llama_server: exiting due to model loading error",
        cause="load-failed",
        certainty=20,
    ),
    *EXITED,
)


@lru_cache(maxsize=4096)  # a plan, a proof and a watch read the same lines
def read_log(line: str) -> LogLine | None:
    """One line as the table reads it, or None. A router's instance is a value of the line."""
    shown = _COLOURS.sub("", line).strip()
    prefix = _PREFIX.match(shown)
    values: dict[str, float | int | str] = {}
    text = shown
    if prefix is not None:
        if prefix["instance"]:
            values["instance"] = int(prefix["instance"])
        if prefix["since"]:
            values["at"] = prefix["since"]
        text = shown[prefix.end() :]
    return read_line(TABLE, text, shown, values)
