"""llama.cpp's own HTTP server on the CPU, from the wheel of `make engine`, with the options a test needs.

    python -m bench.llama_server -m MODEL.gguf -c 16384 -np 1 -t 1 --metrics --port 8080

The wheel holds the server itself (`tools/server` of llama.cpp): handlers, timings and log lines, but not its `main`.
More than one thread on a machine whose cores are busy makes every token wait for the slowest of them.
"""

from __future__ import annotations

import argparse
import signal
import sys
from typing import Any


def parameters(asked: argparse.Namespace) -> Any:
    from xllamacpp import CommonParams  # in no requirement: `make engine` brings it

    made = CommonParams()
    made.model.path = asked.model
    made.model_alias = {asked.alias or asked.model}
    made.n_ctx = asked.ctx_size
    made.n_parallel = asked.parallel
    made.cpuparams.n_threads = made.cpuparams_batch.n_threads = asked.threads
    made.hostnames = [asked.host]
    made.port = asked.port
    made.endpoint_metrics = asked.metrics
    made.endpoint_slots = True
    made.n_cache_reuse = 0
    made.warmup = not asked.no_warmup
    if asked.api_key:
        made.api_keys = [asked.api_key]
    return made


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="llama-server", description="llama.cpp's server from a wheel.")
    parser.add_argument("-m", "--model", required=True)
    parser.add_argument("-c", "--ctx-size", type=int, default=4096)
    parser.add_argument("-np", "--parallel", type=int, default=1)
    parser.add_argument("-t", "--threads", type=int, default=1)
    parser.add_argument("-a", "--alias", default="")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--api-key", default="")
    parser.add_argument("--metrics", action="store_true")
    parser.add_argument("--no-warmup", action="store_true")
    asked = parser.parse_args(words)
    # Blocked before the server starts its threads, so that none of them takes the signal this one waits for.
    awaited = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, awaited)

    from xllamacpp import Server

    server = Server(parameters(asked))
    signal.sigwait(awaited)
    del server
    return 0


if __name__ == "__main__":
    sys.exit(main())
