"""The longest context a model was made for, as its engine derives it; and what an engine refuses before it loads."""

from __future__ import annotations

import re
from dataclasses import dataclass

from console.analysis.capacity.architecture import Architecture

# SGLang, `get_context_length`: the first of these that is there.
_SGLANG_KEYS = ("max_sequence_length", "seq_length", "max_seq_len", "model_max_length", "max_position_embeddings")
# vLLM, `_get_and_verify_max_len`: the smallest of these.
_VLLM_KEYS = (
    "max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "model_max_length", "max_target_positions",
    "max_sequence_length", "max_seq_length", "seq_len",
)  # fmt: skip
OVERRIDES = {"sglang": "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN", "vllm": "VLLM_ALLOW_LONG_MAX_MODEL_LEN"}
_TRUE = frozenset({"1", "true", "yes", "on", "y", "t"})


@dataclass(frozen=True)
class Limit:
    """Tokens, and how the engine comes to them."""

    tokens: int
    how: str


def derived_limit(architecture: Architecture, engine: str) -> Limit | None:
    """The context an engine derives from a config; None where the config names no length.

    SGLang multiplies by the rope factor only where `original_max_position_embeddings` is absent; vLLM starts a yarn
    model from that original length. llama.cpp cuts a slot to the context that the GGUF header names.
    """
    rope, positions = architecture.rope, architecture.positions
    if engine == "llamacpp" or set(positions) == {"context_length"}:
        trained = positions.get("context_length")
        return Limit(trained, f"context_length {trained:,} of the GGUF header") if trained else None
    if engine == "vllm":
        found = {key: positions[key] for key in _VLLM_KEYS if key in positions}
        if not found:
            return None
        key = min(found, key=lambda name: found[name])
        tokens, how = found[key], f"{key} {found[key]:,}"
        if rope.type not in ("", "su", "longrope", "llama3", "mrope") and rope.factor != 1.0:
            if rope.type == "yarn" and rope.original_tokens:
                tokens, how = rope.original_tokens, f"original_max_position_embeddings {rope.original_tokens:,}"
            return Limit(int(tokens * rope.factor), f"{how} x rope factor {rope.factor:g}")
        return Limit(tokens, how)
    key = next((name for name in _SGLANG_KEYS if name in positions), "")
    if not key:
        return None
    tokens = positions[key]
    if rope.factor != 1.0 and rope.original_tokens is None and rope.type != "llama3":
        return Limit(int(tokens * rope.factor), f"{key} {tokens:,} x rope factor {rope.factor:g}")
    return Limit(tokens, f"{key} {tokens:,}")


def override_is_set(value: str | None, engine: str, version: str | None) -> bool:
    """Whether a window beyond the derived one is let through.

    SGLang's variable was on by default in 0.4.6 and is off from 0.5.5 on; an unknown release counts as off.
    """
    if value is None:
        released = release(version)
        return engine == "sglang" and released is not None and released < (0, 5)
    return value.strip().lower() in _TRUE


def release(version: str | None) -> tuple[int, ...] | None:
    """`0.5.10.post1` as (0, 5, 10); None where it says no number."""
    match = re.match(r"v?(\d+(?:\.\d+)*)", version or "")
    return tuple(int(part) for part in match[1].split(".")) if match else None


def spelling_refused(text: str, engine: str, version: str | None) -> str:
    """Why this release does not take a window written so: SGLang reads `200k` from 0.5.10 on only."""
    released = release(version)
    if engine == "sglang" and not text.strip().isdigit() and released is not None and released < (0, 5, 10):
        return f"SGLang {version} takes whole numbers only, not {text!r} (suffixes came with 0.5.10)"
    return ""


def dcp_refused(
    ways: int, tensor: int, engine: str, version: str | None, *, speculates: bool, kv_heads: int | None = None
) -> str:
    """Why this release does not split the context of a request over its ranks so.

    `kv_heads`: of a model that keeps heads and no latent; vLLM splits only among the ranks that hold copies of a head.
    """
    if ways <= 1:
        return ""
    if engine == "vllm" and kv_heads and ways > tensor // kv_heads:
        copies = max(tensor // kv_heads, 1)
        return f"vLLM splits the context among the copies of a head: TP{tensor} makes {copies} of each of {kv_heads}"
    if tensor % ways:
        return f"decode context parallelism over {ways} ranks does not divide TP{tensor}"
    released = release(version)
    if engine == "sglang" and released is not None:
        if released < (0, 5, 15):
            return f"SGLang {version} knows no decode context parallelism (it came with 0.5.15)"
        if released < (0, 5, 18) and speculates:
            return f"SGLang {version} refuses decode context parallelism with speculative decoding (until 0.5.18)"
    return ""


def draft_is_a_model(algorithm: str, draft_path: str) -> bool:
    """Whether a draft model is loaded with the target's window, and so has a limit of its own.

    A fork's own algorithm counts when it names a draft.
    """
    return bool(algorithm) and algorithm.upper() != "NGRAM" and bool(draft_path)
