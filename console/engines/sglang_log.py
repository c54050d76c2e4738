r"""SGLang's log lines: the table, and the prefix before them.

A line is `[2026-02-26 10:00:00 DP0 TP3] text`; the main process has no ranks, bars and tracebacks have no prefix.
Everything goes to stderr. "GB" in these lines is GiB. Lines come split at \n and \r. What ends a start is in
`sglang_failures`.
"""

from __future__ import annotations

import re
from functools import lru_cache

from console.engines.base import LogLine
from console.engines.logtable import Row, Values, number, read_line
from console.engines.sglang_failures import FAILURES

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_PREFIX = re.compile(r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d{3})?)((?: [A-Z_]+\d+)*)\] ")
_RANK = re.compile(r"([A-Z_]+)(\d+)")

# What a batch line calls a figure → what we call it. Hybrid models print `#full token` in the place of `#token`.
_BATCH_FIELDS = {
    "#running-req": "running",
    "#queue-req": "queue",
    "#token": "tokens",
    "#full token": "tokens",
    "token usage": "usage",
    "full token usage": "usage",
    "accept len": "accept_len",
    "accept rate": "accept_rate",
    "gen throughput (token/s)": "throughput",
    "input throughput (token/s)": "input_throughput",
    "#new-seq": "new_requests",
    "#new-token": "new_tokens",
    "#cached-token": "cached_tokens",
    "#pending-token": "pending_tokens",
}


def _batch(text: str) -> Values:
    """The figures of a batch line; `graph` is True or False, whatever the device in `cuda graph:` is called."""
    values: dict[str, float | int | str] = {}
    _, _, fields = text[:2000].partition("#")
    for field in ("#" + fields).split(","):
        name, colon, value = field.strip().partition(": ")
        if colon and name in _BATCH_FIELDS:
            values[_BATCH_FIELDS[name]] = number(value.strip())
        elif colon and name.endswith(" graph"):
            values["graph"] = value.strip()
    return values


def _arguments(text: str) -> Values:
    """The context asked for; nothing else of this line is kept, because it holds the API keys in clear."""
    match = re.search(r"\bcontext_length['\"]?[=:] ?(\d{1,18})\b", text)
    return {"context": int(match[1])} if match else {}


_BAR = r"[^|]*\|[^|]*\| *"  # ` 84%|########  | `, up to done/total

TABLE: tuple[Row, ...] = (
    Row(
        "args",
        re.compile(r"^server_args="),
        "0.4.6; a dict instead of ServerArgs(…) from 0.5.23",
        "server_args=ServerArgs(model_path='/models/m', context_length=32768, api_key=None)",
        fields=_arguments,
    ),
    Row(
        "weights",
        re.compile(
            r"(?:Loading [\w.]+ checkpoint shards|Multi-thread loading (?:pt checkpoint )?shards):"
            r"[^|]*\| *(?P<done>\d+)/(?P<total>\d+)"
        ),
        r"0.4.6; multi-thread is the default from 0.5.10, where the bar ends with \r only",
        "Loading safetensors checkpoint shards:  75% Completed | 48/64 [06:10<02:05,  7.85s/it]",
    ),
    Row("weights", re.compile(r"^Load weight begin\."), "0.4.6", "Load weight begin. avail mem=94.21 GB"),
    Row(
        "weights",
        re.compile(
            r"^Load weight end\. (?:elapsed=(?P<elapsed_s>[\d.]+) s, )?type=(?P<model_type>\w+),"
            r"(?:.*?\bmem usage=(?P<used_gib>\d+\.\d+) GB)?"
        ),
        "0.4.6; elapsed from 0.5.9",
        "Load weight end. elapsed=412.07 s, type=KimiK25ForConditionalGeneration, avail mem=20.10 GB, "
        "mem usage=73.91 GB.",
    ),
    Row(
        "pool",
        re.compile(
            r"^(?P<label>\S[^.]*? )?KV Cache (?:is allocated|VA upper bound)\. (?:dtype: (?P<dtype>[\w.]+), )?"
            r"#tokens: (?P<tokens>\d+)(?:, KV size: (?P<kv_gib>\d+\.\d+) GB)?"
            r"(?:, K size: (?P<k_gib>\d+\.\d+) GB, V size: (?P<v_gib>\d+\.\d+) GB)?"
        ),
        "0.4.6; dtype from 0.5.13, a label and the upper bound from 0.5.18",
        "KV Cache is allocated. dtype: torch.bfloat16, #tokens: 101134, KV size: 6.62 GB",
    ),
    Row("pool", re.compile(r"^Memory pool end\."), "0.4.6", "Memory pool end. avail mem=12.31 GB"),
    Row(
        "limits",
        re.compile(
            r"^max_total_num_tokens=(?P<tokens>\d+), chunked_prefill_size=(?P<chunked_prefill>-?\w+), "
            r"max_prefill_tokens=(?P<max_prefill>\d+), max_running_requests=(?P<max_running>\d+), "
            r"context_len=(?P<context>\d+)(?:, available_gpu_mem=(?P<available_gib>\d+\.\d+) GB)?"
        ),
        "0.4.6; available_gpu_mem from 0.5.5",
        "max_total_num_tokens=101134, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=48, "
        "context_len=32768, available_gpu_mem=11.90 GB",
    ),
    Row(
        "graphs",
        re.compile(r"(?:Capturing|Compiling) [^|%]*:" + _BAR + r"(?P<done>\d+)/(?P<total>\d+)"),
        r"0.4.6; \r only in every release",
        "Capturing batches (bs=32 avail_mem=11.52 GB):  40%|####      | 6/15 [00:04<00:06,  1.44it/s]",
    ),
    Row(
        "graphs",
        re.compile(r"^Capture (?P<what>[\w -]*?) ?(?:cuda|CUDA|CPU|npu) graph begin\b"),
        "0.4.6; draft by name, target too from 0.5.14",
        "Capture target verify CUDA graph begin. backend=fa3, num_tokens_per_req=8, avail mem=11.90 GB",
    ),
    Row(
        "graphs",
        re.compile(
            r"^Capture (?:[\w -]* )?(?:cuda|CUDA|CPU|npu) graph end\."
            r"(?:.*?(?:Time elapsed: |elapsed=)(?P<elapsed_s>\d+\.\d+) s)?"
        ),
        "0.4.6",
        "Capture cuda graph end. Time elapsed: 21.75 s. mem usage=1.10 GB. avail mem=10.80 GB.",
    ),
    Row(
        "listening",
        re.compile(r"^INFO: +Uvicorn running on (?P<url>\S+)"),
        "0.4.6; uvicorn",
        "INFO:     Uvicorn running on http://127.0.0.1:30000 (Press CTRL+C to quit)",
    ),
    Row(
        "ready",
        re.compile(r"^The server is fired up and ready to roll!"),
        "0.4.6",
        "The server is fired up and ready to roll!",
    ),
    Row(
        "decode",
        re.compile(r"^Decode batch(?: \[\d+\])?[,.] #"),
        "0.4.4; a comma after `batch` from 0.5.5, accept rate from 0.5.5",
        "Decode batch, #running-req: 2, #token: 40112, token usage: 0.40, accept len: 2.91, accept rate: 0.41, "
        "cuda graph: True, gen throughput (token/s): 88.40, #queue-req: 0",
        fields=_batch,
    ),
    Row(
        "prefill",
        re.compile(r"^Prefill batch(?: \[\d+\])?[,.] #"),
        "0.4.4; a comma after `batch` from 0.5.5, input throughput from 0.5.9, pending tokens from 0.5.11",
        "Prefill batch, #new-seq: 1, #new-token: 8192, #cached-token: 0, token usage: 0.08, #running-req: 0, "
        "#queue-req: 0, #pending-token: 24576, cuda graph: False, input throughput (token/s): 7990.12",
        fields=_batch,
    ),
    Row(
        "prefill",
        re.compile(
            r"^new fill batch\. #seq: (?P<new_requests>\d+)\. #cached_token: (?P<cached_tokens>\d+)\. "
            r"#new_token: (?P<new_tokens>\d+)\. #remaining_req: (?P<queue>\d+)\. #running_req: (?P<running>\d+)"
        ),
        "0.1",
        "new fill batch. #seq: 2. #cached_token: 311. #new_token: 40. #remaining_req: 1. #running_req: 3. "
        "tree_cache_hit_rate: 71.20%.",
    ),
    Row(
        "access",
        re.compile(
            r"^INFO: +(?P<client>\S+) - "
            r'"(?P<method>[A-Z]+) (?P<path>[^ ?"]+)(?:\?(?P<query>[^ "]*))? HTTP/[\d.]+" (?P<status>\d{3})\b'
        ),
        "0.4.6; uvicorn",
        'INFO:     127.0.0.1:40112 - "GET /v1/models HTTP/1.1" 200 OK',
    ),
    Row(
        "pressure",
        re.compile(
            r"^(?:KV cache pool is full\. Retract requests\.|Decode out of memory happened\.)"
            r" #retracted_reqs: (?P<retracted>\d+)"
        ),
        "0.5.5; `Decode out of memory happened` up to 0.5.4",
        "KV cache pool is full. Retract requests. #retracted_reqs: 1, #new_tokens_gained: 9120, "
        "#new_token_ratio: 0.6000 -> 0.8500",
        cause="retracted",
    ),
    Row(
        "pressure",
        re.compile(
            r"Input length \((?P<asked>\d+) tokens\) exceeds the maximum allowed length \((?P<limit>\d+) tokens\)"
        ),
        "0.4.3",
        "Input length (150000 tokens) exceeds the maximum allowed length (101128 tokens). Use a shorter input or "
        "enable --allow-auto-truncate.",
        cause="request-longer-than-pool",
    ),
    Row(
        "pressure",
        re.compile(
            r"The input \((?P<asked>\d+) tokens\) is longer than the model's context length \((?P<limit>\d+) tok"
        ),
        "0.4.6",
        "ValueError: The input (40000 tokens) is longer than the model's context length (32768 tokens).",
        cause="request-longer-than-context",
    ),
    Row(
        "pressure",
        re.compile(
            r"Requested token count exceeds the model's maximum context length of (?P<limit>\d+) tokens\. "
            r"You requested a total of (?P<asked>\d+) tokens"
        ),
        "0.4.6",
        "Requested token count exceeds the model's maximum context length of 32768 tokens. You requested a total of "
        "33000 tokens: 32500 tokens from the input messages and 500 tokens for the completion.",
        cause="request-longer-than-context",
    ),
    Row(
        "pressure",
        re.compile(r"^KV pool holds (?P<tokens>\d+) tokens, fewer than --context-length (?P<context>\d+)\."),
        "0.5.23",
        "KV pool holds 101134 tokens, fewer than --context-length 200000. One full-length request cannot fit.",
        cause="pool-smaller-than-context",
    ),
    Row(
        "pressure",
        re.compile(r"^max_total_tokens=(?P<asked>\d+) is larger than the profiled value (?P<limit>\d+)\."),
        "0.4.6",
        "max_total_tokens=300000 is larger than the profiled value 101134. Use the profiled value instead.",
        cause="pool-cap-larger-than-memory",
    ),
    Row(
        "stopping",
        re.compile(r"^(?:Signal )?SIGTERM received\b"),
        "0.4.6",
        "SIGTERM received. signum=None frame=None. Draining requests and shutting down...",
    ),
    Row(
        "stopping",
        re.compile(r"^Gracefully exiting\.\.\. [Rr]emaining number of requests (?P<running>\d+)"),
        "0.4.6",
        "Gracefully exiting... Remaining number of requests 2. Remaining requests remaining_rids=['a', 'b'].",
    ),
    *FAILURES,
)


@lru_cache(maxsize=4096)  # a plan, a proof and a watch read the same lines
def read_log(line: str) -> LogLine | None:
    """One line as the table reads it, or None.

    Values besides those of the row: `at` (the engine's own clock, no zone) and one a rank, `tp_rank`, `dp_rank`.
    """
    plain = _COLOURS.sub("", line).strip()
    prefix = _PREFIX.search(plain, 0, 400)
    if prefix is None:
        return read_line(TABLE, plain, _shown(plain), {})
    values: dict[str, float | int | str] = {"at": prefix[1]}
    values.update({f"{name.lower()}_rank": int(rank) for name, rank in _RANK.findall(prefix[2])})
    text = plain[prefix.end() :]
    # A progress bar that ended with \r only can have the next line glued to it, so the whole line is the second try.
    return read_line(TABLE, text, _shown(plain), values) or read_line(TABLE, plain, _shown(plain), {})


def _shown(plain: str) -> str:
    head, arguments, rest = plain.partition("server_args=")
    return f"{head}{arguments}… ({len(rest)} characters)" if arguments else plain
