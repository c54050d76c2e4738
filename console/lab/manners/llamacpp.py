"""llama.cpp's manner: the port answers 503 while the model loads, and the window is shared by its slots."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from .chat import completion
from .wire import DECODE_TOK_S, PREFILL_TOK_S, Answer, Options, count_tokens, hold_signals, say, serve, until_terminated

BLOCK = 256


def rounded(tokens: int) -> int:
    return (tokens + BLOCK - 1) // BLOCK * BLOCK


class Engine:
    """One served model: slots, their window, and whether it is loaded."""

    def __init__(self, options: Options, arguments: argparse.Namespace) -> None:
        self.options = options
        self.arguments = arguments
        total = rounded(arguments.ctx_size or options.trained_context)
        self.slots = 4 if arguments.parallel < 0 else arguments.parallel
        self.unified = arguments.parallel < 0
        window = total if self.unified else rounded(total // self.slots)
        self.window = min(window, options.trained_context)
        self.is_ready = False
        self.predicted = self.prompted = 0

    def handle(self, method: str, path: str, body: Mapping[str, Any]) -> Answer:
        if not self.is_ready:
            return 503, {"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}}
        if path == "/health":
            return 200, {"status": "ok"}
        if path == "/props":
            settings = {"n_ctx": self.window}
            name = self.arguments.alias or self.arguments.model
            found = {"default_generation_settings": settings, "total_slots": self.slots, "model_alias": name}
            return 200, {**found, "build_info": "b11434-lab"}
        if path == "/slots":
            return 200, [{"id": slot, "n_ctx": self.window, "is_processing": False} for slot in range(self.slots)]
        if path == "/v1/models":
            return 200, {"data": [{"id": self.arguments.model, "meta": {"n_ctx": self.window}}]}
        if path == "/metrics":
            if not self.arguments.metrics:
                return 501, {"error": {"message": "This server does not support metrics endpoint.", "code": 501}}
            counts = {"prompt_tokens_total": self.prompted, "tokens_predicted_total": self.predicted}
            return 200, "".join(f"llamacpp:{name} {count}\n" for name, count in counts.items())
        if path == "/completion" and method == "POST":
            return self.complete(body)
        if path == "/v1/chat/completions" and method == "POST":
            return self.chat(body)
        return 404, {"error": {"message": "File Not Found", "type": "not_found_error", "code": 404}}

    def complete(self, body: Mapping[str, Any]) -> Answer:
        given, asked = count_tokens(body.get("prompt")), int(body.get("n_predict") or 16)
        if given >= self.window:
            limit = f"the available context size ({self.window} tokens), try increasing it"
            message = f"request ({given} tokens) exceeds {limit}"
            return 400, {"error": {"code": 400, "message": message, "type": "exceed_context_size_error"}}
        made = min(asked, self.window - given)
        prompt_s, predict_s = given / PREFILL_TOK_S, made / DECODE_TOK_S
        self.options.sleep(prompt_s + predict_s)
        self.prompted += given
        self.predicted += made
        say(f"prompt eval time = {1000 * prompt_s:10.2f} ms / {given:5d} tokens ({1:8.2f} ms per token, "
            f"{PREFILL_TOK_S:8.2f} tokens per second)")  # fmt: skip
        timings = {
            "prompt_n": given,
            "cache_n": 0,
            "predicted_n": made,
            "prompt_ms": 1000 * prompt_s,
            "predicted_ms": 1000 * predict_s,
        }
        return 200, {"content": "word " * made, "tokens_evaluated": given, "stop_type": "limit", "timings": timings}

    def chat(self, body: Mapping[str, Any]) -> Answer:
        name = self.arguments.alias or self.arguments.model
        answer, given, made = completion(body, name, broken=self.options.has_fault("broken-calls"))
        self.options.sleep(given / PREFILL_TOK_S + made / DECODE_TOK_S)
        self.prompted += given
        self.predicted += made
        return 200, answer


def parse(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="llama-server", allow_abbrev=False)
    parser.add_argument("-m", "--model", required=True)
    parser.add_argument("-c", "--ctx-size", type=int, default=0)
    parser.add_argument("-np", "--parallel", type=int, default=-1)
    parser.add_argument("-a", "--alias", default="")
    parser.add_argument("-ngl", "--n-gpu-layers", default="0")
    parser.add_argument("--metrics", action="store_true")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8080)
    known, unknown = parser.parse_known_args(list(words))
    if unknown:
        say(f"error: invalid argument: {unknown[0]}")
        sys.exit(1)
    return known


def main(words: Sequence[str]) -> None:
    options, begun = Options(), time.monotonic()
    arguments = parse(words)

    def log(text: str, where: str = "srv    load_model") -> None:
        since = time.monotonic() - begun
        say(f"0.{int(since) % 100:02d}.{int(since * 1000) % 1000:03d}.000 I {where}: {text}")

    log("common_params_print_info: verbosity = 3 (adjust with the `-lv N` CLI arg)", "cmn  common_param")
    engine = Engine(options, arguments)
    serve(arguments.host, arguments.port, engine.handle, on_request=lambda *_: None)
    log(f"loading model '{arguments.model}'")
    options.sleep(options.load_s)
    if rounded(arguments.ctx_size) > options.pool_tokens:
        say("E llama_init_from_model: failed to initialize the context: failed to allocate buffer for kv cache")
        say("E srv  llama_server: exiting due to model loading error")
        sys.exit(1)
    unified = str(engine.unified).lower()
    log(f"initializing, n_slots = {engine.slots}, n_ctx_slot = {engine.window}, kv_unified = '{unified}'")
    hold_signals()
    engine.is_ready = True
    log("model loaded", "srv  llama_server")
    log(f"listening on http://{arguments.host}:{arguments.port}", "srv  llama_server")
    until_terminated(lambda: log("operator(): cleaning up before exit...", "srv    operator()"))
