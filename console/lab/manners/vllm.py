"""vLLM's manner: HTTP only once the engine is ready, and no start where the KV cache cannot hold one request."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from .chat import completion
from .wire import DECODE_TOK_S, PREFILL_TOK_S, Answer, Options, count_tokens, hold_signals, say, serve, until_terminated

BLOCK = 16
KIB_A_TOKEN = 70


class Engine:
    """One served model: what the endpoints know and count."""

    def __init__(self, options: Options, arguments: argparse.Namespace, pool_tokens: int) -> None:
        self.options = options
        self.arguments = arguments
        self.pool_tokens = pool_tokens
        self.prompt_tokens = self.generated_tokens = self.running = 0

    def handle(self, method: str, path: str, body: Mapping[str, Any]) -> Answer:
        name = self.arguments.served_model_name or self.arguments.model
        if path == "/health":
            return 200, ""
        if path == "/version":
            return 200, {"version": "0.19.1"}
        if path == "/metrics":
            return 200, self.metrics()
        if path == "/v1/models":
            card = {"id": name, "object": "model", "owned_by": "vllm", "max_model_len": self.arguments.max_model_len}
            return 200, {"object": "list", "data": [card]}
        if path == "/v1/completions" and method == "POST":
            return self.complete(body)
        if path == "/v1/chat/completions" and method == "POST":
            return self.chat(body, name)
        return 404, {"detail": "Not Found"}

    def complete(self, body: Mapping[str, Any]) -> Answer:
        asked, given = int(body.get("max_tokens") or 16), count_tokens(body.get("prompt"))
        window = self.arguments.max_model_len
        if asked + given > window:
            message = (
                f"This model's maximum context length is {window} tokens. However, you requested {asked} output tokens "
                f"and your prompt contains {given} input tokens, for a total of {asked + given} tokens."
            )
            return 400, {"error": {"message": message, "type": "BadRequestError", "code": 400}}
        self.running += 1
        self.options.sleep(given / PREFILL_TOK_S + asked / DECODE_TOK_S)
        self.running -= 1
        self.prompt_tokens += given
        self.generated_tokens += asked
        usage = {"prompt_tokens": given, "completion_tokens": asked, "total_tokens": given + asked}
        return 200, {"choices": [{"index": 0, "text": " word" * asked, "finish_reason": "length"}], "usage": usage}

    def chat(self, body: Mapping[str, Any], name: str) -> Answer:
        """Tools are left to the model only where it was started to read its calls."""
        reads_calls = self.arguments.enable_auto_tool_choice and self.arguments.tool_call_parser
        if body.get("tools") and body.get("tool_choice", "auto") == "auto" and not reads_calls:
            message = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
            return 400, {"error": {"message": message, "type": "BadRequestError", "code": 400}}
        answer, given, made = completion(body, name, broken=self.options.has_fault("broken-calls"))
        self.running += 1
        self.options.sleep(given / PREFILL_TOK_S + made / DECODE_TOK_S)
        self.running -= 1
        self.prompt_tokens += given
        self.generated_tokens += made
        return 200, answer

    def metrics(self) -> str:
        blocks = self.pool_tokens // BLOCK
        return (
            f'vllm:num_requests_running{{engine="0"}} {self.running}.0\n'
            'vllm:num_requests_waiting{engine="0"} 0.0\n'
            f'vllm:prompt_tokens_total{{engine="0"}} {self.prompt_tokens}.0\n'
            f'vllm:generation_tokens_total{{engine="0"}} {self.generated_tokens}.0\n'
            'vllm:kv_cache_usage_perc{engine="0"} 0.0\n'
            f'vllm:cache_config_info{{block_size="{BLOCK}",num_gpu_blocks="{blocks}"}} 1.0\n'
        )


def log(text: str, process: str = "APIServer", file: str = "api_server.py:1") -> None:
    say(f"({process} pid={os.getpid()}) INFO {time.strftime('%m-%d %H:%M:%S')} [{file}] {text}")


def human(text: str) -> int:
    binary, decimal = {"K": 1024, "M": 1024**2}, {"k": 1000, "m": 1000**2}
    factor = {**binary, **decimal}.get(text[-1:], 1)
    return int(float(text.rstrip("kKmM")) * factor)


def parse(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="vllm serve")
    parser.add_argument("model")
    parser.add_argument("--max-model-len", type=human, default=32768)
    parser.add_argument("--gpu-memory-utilization", type=float, default=0.9)
    parser.add_argument("--kv-cache-dtype", default="auto")
    parser.add_argument("--max-num-seqs", type=int, default=256)
    parser.add_argument("--tensor-parallel-size", "-tp", type=int, default=1)
    parser.add_argument("--served-model-name")
    parser.add_argument("--tool-call-parser")
    parser.add_argument("--enable-auto-tool-choice", action="store_true")
    parser.add_argument("--reasoning-parser")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    return parser.parse_args([word.replace("_", "-") if word.startswith("--") else word for word in words])


def load(options: Options, arguments: argparse.Namespace) -> int:
    """The lines of a start, and the tokens of the pool. Ends the process where one request does not fit."""
    core = "EngineCore_DP0"
    log(f"non-default args: {vars(arguments)}", file="utils.py:1")
    log(f"Starting to load model {arguments.model}...", core, "gpu_model_runner.py:1")
    for done in range(5):
        say(f"({core} pid={os.getpid()}) Loading safetensors checkpoint shards: {25 * done:3d}% Completed | {done}/4 "
            "[00:00<00:00,  1.20it/s]")  # fmt: skip
        options.sleep(options.load_s / 6)
    log(f"Loading weights took {options.load_s * 0.7:.2f} seconds", core, "default_loader.py:1")
    pool = int(options.pool_tokens * arguments.gpu_memory_utilization / 0.9)
    pool *= 2 if arguments.kv_cache_dtype.startswith("fp8") else 1
    gib = pool * KIB_A_TOKEN / 1024**2
    log(f"Available KV cache memory: {gib:.2f} GiB", core, "gpu_worker.py:1")
    window = arguments.max_model_len
    if pool < window:
        say(f"({core} pid={os.getpid()}) ERROR {time.strftime('%m-%d %H:%M:%S')} [core.py:1] ValueError: To serve at "
            f"least one request with the model's max seq len ({window}), ({window * KIB_A_TOKEN / 1024**2:.2f} GiB KV "
            f"cache is needed, which is larger than the available KV cache memory ({gib:.2f} GiB). Based on the "
            f"available memory, the estimated maximum model length is {pool // BLOCK * BLOCK}.")  # fmt: skip
        say(f"(APIServer pid={os.getpid()}) RuntimeError: Engine core initialization failed. See root cause above.")
        sys.exit(1)
    log(f"GPU KV cache size: {pool:,} tokens", core, "kv_cache_utils.py:1")
    log(f"Maximum concurrency for {window:,} tokens per request: {pool / window:.2f}x", core, "kv_cache_utils.py:2")
    options.sleep(options.load_s / 6)
    log("Graph capturing finished in 6 secs, took 1.90 GiB", core, "gpu_model_runner.py:2")
    took = f"took {options.load_s / 4:.1f} seconds"
    log(f"init engine (profile, create kv cache, warmup model) {took}", core, "core.py:2")
    return pool


def main(words: Sequence[str]) -> None:
    options = Options()
    arguments = parse(words[1:] if words[:1] == ["serve"] else words)
    engine = Engine(options, arguments, load(options, arguments))
    hold_signals()
    log(f"Starting vLLM API server 0 on http://{arguments.host}:{arguments.port}")
    access = 'INFO:     127.0.0.1:0 - "{} {} HTTP/1.1" {} OK'
    serve(
        arguments.host,
        arguments.port,
        engine.handle,
        on_request=lambda method, path, status: say(access.format(method, path, status)),
    )
    say("INFO:     Application startup complete.")
    until_terminated(lambda: say("INFO:     Shutting down"))
