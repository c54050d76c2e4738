"""The simulator's figures, each an option: from `--sim-NAME`, SIM_NAME or the JSON file SIM_OPTIONS_FILE."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Options:
    """Durations are simulated seconds: what a sleep takes on the wall is that divided by `speed`.

    The arguments of the command line stay SGLang's, so that a unit of the simulator looks like a real one.
    """

    speed: float = 1.0
    seed: int = 7
    # memory of one GPU, GiB
    gpu_gib: float = 95.6
    static_gib: float = 74.641194
    weights_gib: float = 73.58
    graph_gib: float = 1.9
    kv_elements: int = 35_136  # (kv_lora_rank + qk_rope_head_dim) × layers = (512 + 64) × 61
    derived_context: int = 262_144
    # speed of the model
    step_ms: float = 26.3
    step_ms_per_token: float = 0.0201
    noise: float = 0.003
    restart_spread: float = 0.0  # every start is another draw: the pace of a process, as a share
    prefill_tok_s: float = 8000.0
    prefill_overhead_s: float = 0.05
    first_request_s: float = 1.5
    # tokens a step commits, by class of text
    accept_short: float = 4.75
    accept_repetitive: float = 7.85
    accept_other: float = 2.9
    short_tokens: int = 64
    repetitive_share: float = 0.15
    repetitive_words: int = 400
    speculation: str = "always"  # flags: only when the arguments ask for it
    stop_tokens: int = 380  # where a reply ends by itself, about
    # the process
    load_s: float = 40.0
    shards: int = 64
    shard_newlines: bool = False  # as up to 0.5.9; later each shard only rewrites the line
    health_s: float = 1.0
    drain_poll_s: float = 5.0
    disconnect_poll_s: float = 4.0
    version: str = "0.5.10.post1"
    fault_file: str = ""
    gpu_file: str = ""
    # faults
    pool_share: float = 0.6
    slow_factor: float = 10.0
    crash_s: float = 1.0


def read_options(argv: Sequence[str], environ: Mapping[str, str]) -> tuple[Options, list[str]]:
    """Options, and the arguments that are not ours. Raises ValueError for an unknown or unreadable option."""
    found: dict[str, Any] = {}
    path = environ.get("SIM_OPTIONS_FILE", "")
    if path:
        found.update(json.loads(Path(path).read_text(encoding="utf-8")))
    names = {item.name for item in fields(Options)}
    for name in names:
        if f"SIM_{name.upper()}" in environ:
            found[name] = environ[f"SIM_{name.upper()}"]
    rest: list[str] = []
    words = iter(argv)
    for word in words:
        if not word.startswith("--sim-"):
            rest.append(word)
            continue
        name, equals, value = word.removeprefix("--sim-").partition("=")
        found[name.replace("-", "_")] = value if equals else next(words, "")
    unknown = sorted(set(found) - names)
    if unknown:
        raise ValueError(f"unknown simulator option: {', '.join(unknown)}")
    return replace(Options(), **{name: convert(name, value) for name, value in found.items()}), rest


def convert(name: str, value: Any) -> Any:
    """A value as the option's own type; text comes from arguments and the environment."""
    default = getattr(Options(), name)
    if isinstance(default, bool):
        return str(value).lower() in ("1", "true", "yes", "on")
    return type(default)(value)
