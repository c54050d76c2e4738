"""SGLang's command line, as far as an operator's unit uses it."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import Any

# flag and its other spellings, type, default
VALUES: tuple[tuple[tuple[str, ...], type | str, Any], ...] = (
    (("--model-path", "--model"), str, None),
    (("--tokenizer-path",), str, None),
    (("--tokenizer-mode",), str, "auto"),
    (("--load-format",), str, "auto"),
    (("--context-length",), "human", None),
    (("--host",), str, "127.0.0.1"),
    (("--port",), int, 30000),
    (("--dtype",), str, "auto"),
    (("--quantization",), str, None),
    (("--kv-cache-dtype",), str, "auto"),
    (("--mem-fraction-static",), float, None),
    (("--max-running-requests",), int, None),
    (("--max-total-tokens",), int, None),
    (("--chunked-prefill-size",), int, 8192),
    (("--max-prefill-tokens",), int, 16384),
    (("--schedule-policy",), str, "fcfs"),
    (("--schedule-conservativeness",), float, 1.0),
    (("--page-size",), int, None),
    (("--device",), str, None),
    (("--tensor-parallel-size", "--tp-size"), int, 1),
    (("--pipeline-parallel-size", "--pp-size"), int, 1),
    (("--data-parallel-size", "--dp-size"), int, 1),
    (("--expert-parallel-size", "--ep-size", "--ep"), int, 1),
    (("--stream-interval",), int, 1),
    (("--random-seed",), int, None),
    (("--watchdog-timeout",), float, 300),
    (("--dist-timeout",), int, None),
    (("--download-dir",), str, None),
    (("--base-gpu-id",), int, 0),
    (("--log-level",), str, "info"),
    (("--log-level-http",), str, None),
    (("--log-requests-level",), int, 2),
    (("--decode-log-interval",), int, 40),
    (("--api-key",), str, None),
    (("--admin-api-key",), str, None),
    (("--served-model-name",), str, None),
    (("--weight-version",), str, "default"),
    (("--chat-template",), str, None),
    (("--reasoning-parser",), str, None),
    (("--tool-call-parser",), str, None),
    (("--dist-init-addr", "--nccl-init-addr"), str, None),
    (("--nnodes",), int, 1),
    (("--node-rank",), int, 0),
    (("--disaggregation-mode",), str, "null"),
    (("--disaggregation-bootstrap-port",), int, 8998),
    (("--disaggregation-transfer-backend",), str, "mooncake"),
    (("--disaggregation-ib-device",), str, None),
    (("--json-model-override-args",), str, "{}"),
    (("--preferred-sampling-params",), str, None),
    (("--attention-backend",), str, None),
    (("--decode-attention-backend",), str, None),
    (("--prefill-attention-backend",), str, None),
    (("--sampling-backend",), str, None),
    (("--grammar-backend",), str, None),
    (("--mm-attention-backend",), str, None),
    (("--speculative-algorithm",), str, None),
    (("--speculative-draft-model-path", "--speculative-draft-model"), str, None),
    (("--speculative-num-steps",), int, None),
    (("--speculative-eagle-topk",), int, None),
    (("--speculative-num-draft-tokens",), int, None),
    (("--speculative-attention-mode",), str, "prefill"),
    (("--moe-runner-backend",), str, "auto"),
    (("--moe-a2a-backend",), str, "none"),
    (("--cuda-graph-max-bs",), int, None),
    (("--max-mamba-cache-size",), int, None),
    (("--hicache-ratio",), float, 2.0),
    (("--hicache-size",), int, 0),
    (("--model-impl",), str, "auto"),
    (("--revision",), str, None),
)
SWITCHES = (
    "--trust-remote-code",
    "--skip-tokenizer-init",
    "--skip-server-warmup",
    "--allow-auto-truncate",
    "--enable-metrics",
    "--enable-cache-report",
    "--enable-dp-attention",
    "--enable-torch-compile",
    "--enable-mixed-chunk",
    "--enable-hierarchical-cache",
    "--enable-multimodal",
    "--enable-p2p-check",
    "--enable-nan-detection",
    "--disable-radix-cache",
    "--disable-cuda-graph",
    "--disable-overlap-schedule",
    "--disable-custom-all-reduce",
    "--log-requests",
    "--is-embedding",
    "--show-time-cost",
)

SUFFIXES = {"": 1, "k": 1000, "Ki": 1024, "m": 1000**2, "Mi": 1024**2}


def human_readable_int(text: str) -> int:
    """`200000`, `200k` = 200000, `200Ki` = 204800, `25.6k` = 25600; from 0.5.10 on. Raises ArgumentTypeError."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(k|Ki|m|Mi)?", text.strip())
    if found is None or ("." in found[1] and not found[2]):
        raise argparse.ArgumentTypeError(f"invalid human-readable integer: {text!r}")
    return round(float(found[1]) * SUFFIXES[found[2] or ""])


def parse_server_args(argv: Sequence[str]) -> argparse.Namespace:
    """As the engine reads it: unambiguous prefixes, `--flag=value`, the last occurrence wins; else exits 2 with usage.

    `--speculative-…` flags that a fork adds are taken and ignored.
    """
    words = list(argv)
    if words[:1] == ["serve"]:
        words = words[1:]
    parser = argparse.ArgumentParser(prog="sglang serve")
    for flags, kind, default in VALUES:
        convert = human_readable_int if kind == "human" else kind
        parser.add_argument(*flags, type=convert, default=default, required=flags[0] == "--model-path")
    for switch in SWITCHES:
        parser.add_argument(switch, action="store_true")
    found, unknown = parser.parse_known_args(words)
    foreign = [word for word in unknown if word.startswith("-") and not word.startswith("--speculative-")]
    if foreign:
        parser.error("unrecognized arguments: " + " ".join(unknown))
    # The engine names these after their short spelling.
    for long, short in (("tensor", "tp"), ("pipeline", "pp"), ("data", "dp"), ("expert", "ep")):
        setattr(found, f"{short}_size", found.__dict__.pop(f"{long}_parallel_size"))
    found.tokenizer_path = found.tokenizer_path or found.model_path
    found.served_model_name = found.served_model_name or found.model_path
    found.mem_fraction_static = 0.85 if found.mem_fraction_static is None else found.mem_fraction_static
    if found.speculative_algorithm and found.max_running_requests is None:
        found.max_running_requests = 48
    return found
