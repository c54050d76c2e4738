"""Which engine a command line starts, told from its program or module; and whether it is one part of several."""

from __future__ import annotations

import re
from collections.abc import Sequence

from console.engines.base import Engine
from console.engines.disaggregation import KV_TRANSFER, keeps_a_store

_MODULES = (
    (re.compile(r"\Asglang(\.|\Z)"), "sglang"),
    (re.compile(r"\Avllm(\.|\Z)"), "vllm"),
    (re.compile(r"\Allama_cpp\.server\Z"), "llama-cpp-python"),
    (re.compile(r"\Alitellm(\.|\Z)"), "litellm"),
    (re.compile(r"\Atensorrt_llm\."), "tensorrt-llm"),
)
_PROGRAMS = (
    (re.compile(r"\Asglang(-\w+)?\Z"), "sglang"),
    (re.compile(r"\Avllm\Z"), "vllm"),
    (re.compile(r"\A(llama-server|llama\.cpp-server|llama_server|llama-cpp-server)\Z"), "llamacpp"),
    (re.compile(r"\Aollama\Z"), "ollama"),
    (re.compile(r"\Alitellm\Z"), "litellm"),
    (re.compile(r"\Atext-generation-(launcher|server|router)\Z"), "tgi"),
    (re.compile(r"\Atrtllm-(serve|llmapi-launch)\Z"), "tensorrt-llm"),
)
_IMAGES = (
    (re.compile(r"(^|/)vllm/|vllm-openai"), "vllm"),
    (re.compile(r"(^|/)sglang(:|@|\Z)|lmsysorg/"), "sglang"),
    (re.compile(r"llama\.cpp|llama-cpp|llama-server"), "llamacpp"),
    (re.compile(r"(^|/)ollama(/|:|\Z)"), "ollama"),
    (re.compile(r"text-generation-inference"), "tgi"),
    (re.compile(r"litellm"), "litellm"),
)
# Options that spread one engine over several machines, or split it into prefill and decode: ranks are parts of which
# one serves, of a pair each part has an endpoint of its own.
RANKS = frozenset({"--nnodes", "--headless", "--data-parallel-address", "--data-parallel-start-rank"})
PAIRS = frozenset({"--disaggregation-mode", KV_TRANSFER})
_NODES = RANKS | PAIRS | {"--rpc"}
# Their values that leave it alone.
_ALONE = frozenset({"", "1", "null", "none", "0", "localhost", "127.0.0.1"})
_PYTHON = re.compile(r"(python|pypy)[0-9.]*\Z")


def engine_of(words: Sequence[str]) -> str | None:
    """The engine that `words` (the program first) start; None where nothing tells.

    The engine's own names, and those of servers beside it that have no window of their own.
    """
    if not words:
        return None
    name = words[0].rpartition("/")[2]
    if _PYTHON.match(name):
        for index, word in enumerate(words[1:], 1):
            if word in ("-m",) and index + 1 < len(words):
                return _first(_MODULES, words[index + 1])
            if word.startswith("-m") and not word.startswith("--"):
                return _first(_MODULES, word[2:])
            if not word.startswith("-"):
                return _first(_PROGRAMS, word.rpartition("/")[2]) or _path_module(word)
        return None
    return _first(_PROGRAMS, name)


def engine_of_image(image: str) -> str | None:
    """The engine that a container image most likely holds."""
    return _first(_IMAGES, image)


def _first(table: tuple[tuple[re.Pattern[str], str], ...], text: str) -> str | None:
    return next((name for pattern, name in table if pattern.search(text)), None)


def _path_module(path: str) -> str | None:
    """`/opt/sglang/python/sglang/launch_server.py` run as a file."""
    if path.endswith("/launch_server.py"):
        return "sglang"
    return "vllm" if path.endswith("/api_server.py") else None


def several_nodes(argv: Sequence[str], engine: Engine, *, ranks: bool = True, pairs: bool = True) -> str:
    """The option that makes this one part of an engine on several machines; "" where it stands alone.

    Without `ranks` or `pairs` only what is no rank of one engine, or does not say that prefill and decode are apart.
    """
    left_out = (frozenset() if ranks else RANKS) | (frozenset() if pairs else PAIRS)
    for index, word in enumerate(argv):
        name, equals, value = word.partition("=")
        full = (engine.resolve_flag(name) or name.replace("_", "-").partition(".")[0]) if name.startswith("-") else ""
        if full not in _NODES or full in left_out or (full == KV_TRANSFER and keeps_a_store(argv, engine)):
            continue
        given = value if equals else argv[index + 1] if index + 1 < len(argv) else ""
        if full == "--headless" or given not in _ALONE:
            return name if full == "--headless" else f"{name} {given}".strip()
    return ""
