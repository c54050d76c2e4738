"""Log lines of engines that are only read: Ollama, TGI, TensorRT-LLM. What limits a request, and why a start failed."""

from __future__ import annotations

import re
from collections.abc import Mapping

from console.engines.base import LogLine
from console.engines.logtable import Row, read_line
from console.engines.python_failures import COMMON

OLLAMA: tuple[Row, ...] = (
    Row(
        "pressure",
        re.compile(r'msg="truncating input prompt" limit=(?P<limit>\d+) prompt=(?P<asked>\d+)'),
        "2024; the prompt is cut without an error to its sender",
        'time=2026-01-10T08:00:00.000Z level=WARN source=runner.go:1 msg="truncating input prompt" limit=8192 '
        "prompt=9000 keep=4 new=8192",
        cause="request-longer-than-context",
    ),
    Row(
        "pressure",
        re.compile(
            r'msg="invalid environment variable, using default" key=(?P<name>\w+) value="?(?P<value>[^"]*)"? '
            r"default=(?P<effective>\S+)"
        ),
        "2024; it starts all the same",
        'time=2026-01-10T08:00:00.000Z level=WARN msg="invalid environment variable, using default" '
        'key=OLLAMA_CONTEXT_LENGTH value="32k" default=4096',
        cause="setting-not-understood",
    ),
    Row(
        "ready",
        re.compile(r'msg="Listening on (?P<url>[^ "]+)'),
        "2024; models are loaded at the first request",
        'time=2026-01-10T08:00:00.000Z level=INFO msg="Listening on 127.0.0.1:11434 (version 0.9.0)"',
    ),
    Row(
        "weights",
        re.compile(r'msg="model load progress (?P<share>[\d.]+)"'),
        "2024",
        'time=2026-01-10T08:00:00.000Z level=DEBUG source=server.go:1 msg="model load progress 0.50"',
    ),
)

TGI: tuple[Row, ...] = (
    Row(
        "args",
        re.compile(r"text_generation_launcher: Args \{.*?max_total_tokens: (?:Some\()?(?P<context>\d+)"),
        "1.0",
        '2026-01-10T08:00:00.000000Z  INFO text_generation_launcher: Args { model_id: "/models/m", '
        "max_input_length: 4096, max_total_tokens: 8192, port: 80 }",
    ),
    Row(
        "failure",
        re.compile(r"(?P<message>Warmup\(Generation\(\"Not enough memory to handle \d+ prefill tokens)"),
        "1.0; decrease --max-batch-prefill-tokens",
        'Error: Warmup(Generation("Not enough memory to handle 8192 prefill tokens. You need to decrease '
        '`--max-batch-prefill-tokens`"))',
        cause="warmup-out-of-memory",
        certainty=88,
    ),
    Row(
        "ready",
        re.compile(r"text_generation_router(?:::server)?: .*\bConnected$"),
        "1.0",
        "2026-01-10T08:00:40.000000Z  INFO text_generation_router: router/src/main.rs:289: Connected",
    ),
)

TENSORRT_LLM: tuple[Row, ...] = (
    Row(
        "limits",
        re.compile(r"TRTGptModel maxSequenceLen: (?P<context>\d+)"),
        "0.5",
        "[TensorRT-LLM][INFO] TRTGptModel maxSequenceLen: 32768",
    ),
    Row(
        "pool",
        re.compile(r"Max tokens in paged KV cache: (?P<tokens>\d+)\."),
        "0.5",
        "[TensorRT-LLM][INFO] Max tokens in paged KV cache: 98304. Allocating 12884901888 bytes.",
    ),
    Row(
        "pool",
        re.compile(r"Allocated (?P<gib>[\d.]+) GiB for max tokens in paged KV cache \((?P<tokens>\d+)\)"),
        "0.9",
        "[TensorRT-LLM][INFO] [MemUsageChange] Allocated 30.10 GiB for max tokens in paged KV cache (786432).",
    ),
)

TABLES: Mapping[str, tuple[Row, ...]] = {"ollama": OLLAMA, "tgi": TGI, "tensorrt-llm": TENSORRT_LLM}


def read_log(engine: str, line: str) -> LogLine | None:
    """One line of such an engine as its table reads it, or as any Python process's failure; None where neither does."""
    text = line.strip()
    return read_line((*TABLES.get(engine, ()), *COMMON), text, text, {})
