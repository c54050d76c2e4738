r"""vLLM's log lines: the table, and the prefix before them.

A line is `(EngineCore_DP0 pid=26283) INFO 11-06 10:51:48 [kv_cache_utils.py:1229] text`: process, level, a date without
a year, the file. Older releases have no process, and `file.py:12]` without the bracket before it. Tracebacks and
uvicorn's lines have the process at most. Numbers come with thousands separators.
"""

from __future__ import annotations

import re
from functools import lru_cache

from console.engines.base import LogLine
from console.engines.logtable import Row, Values, number, read_line
from console.engines.vllm_failures import FAILURES

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_PROCESS = re.compile(r"\((?P<process>[A-Za-z_]+?)(?:_(?P<ranks>(?:[A-Z]+\d+_?)+))?(?: pid=\d+)?\) ")
_HEAD = re.compile(r"(?P<level>[A-Z]+) (?P<at>\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?) \[?[\w./-]+:\d+\] ?")
_RANK = re.compile(r"([A-Z]+)(\d+)")

_STATS = {
    "Avg prompt throughput": "input_throughput",
    "Avg generation throughput": "throughput",
    "Running": "running",
    "Waiting": "queue",
    "Pending": "queue",
    "GPU KV cache usage": "usage",
    "Prefix cache hit rate": "hit_rate",
}


def plain(text: str) -> int | float | str:
    """`75,840` → 75840."""
    return number(text.replace(",", ""))


def _pool(text: str) -> Values:
    found: dict[str, float | int | str] = {}
    if tokens := re.search(r"KV cache size: ([\d,]+) tokens", text):
        found["tokens"] = plain(tokens[1])
    if most := re.search(r"Maximum concurrency for ([\d,]+) tokens per request: ([\d.]+)x", text):
        found["context"] = plain(most[1])
        found["concurrency"] = plain(most[2])
    return found


def _blocks(text: str) -> Values:
    """Releases up to 0.7 say blocks, of 16 tokens unless told otherwise."""
    match = re.search(r"# GPU blocks: (\d+)", text)
    return {"blocks": int(match[1]), "tokens": int(match[1]) * 16} if match else {}


def _stats(text: str) -> Values:
    """The figures of one engine; shares come as percent and become 0 to 1."""
    values: dict[str, float | int | str] = {}
    engine = re.match(r"Engine (\d+): ", text)
    if engine is not None:
        values["engine"] = int(engine[1])
        text = text[engine.end() :]
    for item in text.split(", "):
        name, _, value = item.partition(": ")
        figure = re.match(r"[\d.]+\b", value)
        if name not in _STATS or figure is None:
            continue
        if _STATS[name] in ("running", "queue"):
            values[_STATS[name]] = int(float(figure[0]))
        else:
            values[_STATS[name]] = round(float(figure[0]) / (100 if value.endswith("%") else 1), 4)
    return values


def _drafts(text: str) -> Values:
    values: dict[str, float | int | str] = {}
    for name, pattern in (
        ("accept_len", r"Mean acceptance length: ([\d.]+)"),
        ("accepted", r"Accepted: (\d+) tokens"),
        ("drafted", r"Drafted: (\d+) tokens"),
        ("accept_rate", r"Draft acceptance rate: ([\d.]+)"),
    ):
        if match := re.search(pattern, text):
            values[name] = number(match[1])
    rate = values.get("accept_rate")
    if "Avg Draft acceptance rate" in text and isinstance(rate, int | float):
        values["accept_rate"] = round(rate / 100, 4)
    return values


def _arguments(text: str) -> Values:
    """The window asked for; nothing else of this line is kept, because it holds the API key in clear."""
    match = re.search(r"\bmax_model_len['\"]?[=:] ?(\d{1,18})\b", text)
    return {"context": int(match[1])} if match else {}


TABLE: tuple[Row, ...] = (
    Row(
        "args",
        re.compile(r"^(?:non-default args: |args: Namespace\()"),
        "0.6 (args), 0.9 (non-default args)",
        "non-default args: {'model': '/models/m', 'max_model_len': 32768, 'api_key': ['k']}",
        fields=_arguments,
    ),
    Row(
        "weights",
        re.compile(r"Loading [\w.]+ checkpoint shards:[^|]*\| *(?P<done>\d+)/(?P<total>\d+)"),
        r"0.6; ends with \n",
        "Loading safetensors checkpoint shards:  25% Completed | 1/4 [00:00<00:02,  1.2it/s]",
    ),
    Row("weights", re.compile(r"^Starting to load model "), "0.6", "Starting to load model /models/m..."),
    Row(
        "weights",
        re.compile(r"^Loading weights took (?P<elapsed_s>[\d.]+) seconds"),
        "0.6",
        "Loading weights took 45.10 seconds",
    ),
    Row(
        "weights",
        re.compile(r"^Model loading took (?P<used_gib>[\d.]+) Gi?B(?: memory)?"),
        "0.6; `memory` from 0.11",
        "Model loading took 71.2 GiB memory and 60.123456 seconds",
    ),
    Row(
        "pool",
        re.compile(r"^Available KV cache memory: (?P<available_gib>[\d.]+) GiB"),
        "0.8",
        "Available KV cache memory: 12.40 GiB",
    ),
    Row(
        "limits",
        re.compile(r"^\w+ KV cache size: [\d,]+ tokens, Maximum concurrency for "),
        "0.33; one line, and any device's name",
        "GPU KV cache size: 75,840 tokens, Maximum concurrency for 32,768 tokens per request: 2.31x",
        fields=_pool,
    ),
    Row(
        "pool",
        re.compile(r"^\w+ KV cache size: [\d,]+ tokens"),
        "0.8",
        "GPU KV cache size: 75,840 tokens",
        fields=_pool,
    ),
    Row(
        "limits",
        re.compile(r"^Maximum concurrency for [\d,]+ tokens per request: "),
        "0.6 to 0.32; a line of its own after the pool's",
        "Maximum concurrency for 32,768 tokens per request: 2.31x",
        fields=_pool,
    ),
    Row(
        "pool",
        re.compile(r"^# (?:GPU|cuda) blocks: \d+"),
        "0.4 to 0.7",
        "# GPU blocks: 4740, # CPU blocks: 512",
        fields=_blocks,
    ),
    Row(
        "graphs",
        re.compile(r"Capturing (?:CUDA )?graphs?(?: shapes)?[^|]*\|[^|]*\| *(?P<done>\d+)/(?P<total>\d+)"),
        r"0.6; \r only",
        "Capturing CUDA graphs (mixed prefill-decode, PIECEWISE):  52%|#####2    | 35/67 [00:05<00:04,  6.6it/s]",
    ),
    Row("graphs", re.compile(r"^(?:Capturing|Capture) (?:CUDA )?graph"), "0.6", "Capturing CUDA graphs for decoding."),
    Row(
        "graphs",
        re.compile(r"^Graph capturing finished in (?P<elapsed_s>\d+) secs"),
        "0.6",
        "Graph capturing finished in 25 secs, took 1.90 GiB",
    ),
    Row(
        "graphs",
        re.compile(r"^init engine \(.*\) took (?P<elapsed_s>[\d.]+) s"),
        "0.7; `s` instead of `seconds` from 0.33",
        "init engine (profile, create kv cache, warmup model) took 80.1 seconds",
    ),
    Row(
        "listening",
        re.compile(r"^Starting vLLM (?:API )?server"),
        "0.8",
        "Starting vLLM API server 0 on http://0.0.0.0:8000",
    ),
    Row(
        "ready",
        re.compile(r"^INFO: +Application startup complete\."),
        "uvicorn; nothing is served before the engine is ready",
        "INFO:     Application startup complete.",
    ),
    Row(
        "decode",
        re.compile(r"^(?:Engine \d+: )?Avg prompt throughput: "),
        "0.4; averages of VLLM_LOG_STATS_INTERVAL seconds, one line an engine",
        "Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 88.1 tokens/s, "
        "Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 0.3%, Prefix cache hit rate: 0.0%",
        fields=_stats,
    ),
    Row(
        "decode",
        re.compile(r"^(?:SpecDecoding metrics|Speculative metrics): "),
        "0.8; `Speculative metrics` before; the length counts the bonus token",
        "SpecDecoding metrics: Mean acceptance length: 2.91, Accepted throughput: 9.10 tokens/s, Drafted throughput: "
        "14.00 tokens/s, Accepted: 120 tokens, Drafted: 180 tokens, Avg Draft acceptance rate: 66.7%",
        fields=_drafts,
    ),
    Row(
        "access",
        re.compile(
            r"^INFO: +(?P<client>\S+) - "
            r'"(?P<method>[A-Z]+) (?P<path>[^ ?"]+)(?:\?(?P<query>[^ "]*))? HTTP/[\d.]+" (?P<status>\d{3})\b'
        ),
        "uvicorn",
        'INFO:     127.0.0.1:40112 - "GET /v1/models HTTP/1.1" 200 OK',
    ),
    Row(
        "pressure",
        re.compile(r"^Sequence group \S+ is preempted by|Preempting request|preempted by PreemptionMode"),
        "0.4",
        "Sequence group cmpl-1 is preempted by PreemptionMode.RECOMPUTE mode because there is not enough KV cache "
        "space.",
        cause="retracted",
    ),
    Row(
        "pressure",
        re.compile(r"This model's maximum context length is (?P<limit>\d+) tokens\."),
        "0.6",
        "ValueError: This model's maximum context length is 32768 tokens. However, your prompt contains 40000 input "
        "tokens, which exceeds this limit even without any output tokens.",
        cause="request-longer-than-context",
    ),
    Row(
        "stopping",
        re.compile(
            r"^INFO: +(?:Shutting down|Finished server process)|^Shutdown initiated|^\[shutdown\]|^Gracefully stopping"
        ),
        "0.6; `[shutdown]` from 0.33",
        "[shutdown] EngineCore: start mode=abort timeout=0s",
    ),
    *FAILURES,
)


@lru_cache(maxsize=4096)  # a plan, a proof and a watch read the same lines
def read_log(line: str) -> LogLine | None:
    """One line as the table reads it, or None.

    Values besides those of the row: `at` (month, day and time of the engine's own clock) and one a rank.
    """
    text = _COLOURS.sub("", line).strip()
    shown = _shown(text)
    values: dict[str, float | int | str] = {}
    while (process := _PROCESS.match(text)) is not None:
        values.update({f"{name.lower()}_rank": int(rank) for name, rank in _RANK.findall(process["ranks"] or "")})
        text = text[process.end() :]
    head = _HEAD.match(text)
    if head is not None:
        values["at"] = head["at"]
        text = text[head.end() :]
    return read_line(TABLE, text, shown, values)


def _shown(text: str) -> str:
    for mark in ("non-default args: ", "args: Namespace("):
        before, found, rest = text.partition(mark)
        if found:
            return f"{before}{found}… ({len(rest)} characters)"
    return text
