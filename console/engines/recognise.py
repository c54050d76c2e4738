"""Which engine a command line starts, told from its program or module."""

from __future__ import annotations

import re
from collections.abc import Sequence

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
