"""Prefill and decode apart: which of the two a command line starts, and what only keeps a cache elsewhere.

SGLang says it with `--disaggregation-mode`, vLLM with `kv_role` of `--kv-transfer-config`, as JSON or one key a flag.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Literal

from console.engines.base import Engine

Role = Literal["prefill", "decode", "both", ""]

KV_TRANSFER = "--kv-transfer-config"
_MODES: dict[str, Role] = {"prefill": "prefill", "decode": "decode"}
_ROLES: dict[str, Role] = {"kv_producer": "prefill", "kv_consumer": "decode", "kv_both": "both"}
# Connectors that as `kv_both` move the cache of one server to memory or disk and back: no other server is in it.
_STORES = frozenset(
    {"LMCacheConnectorV1", "LMCacheMPConnector", "OffloadingConnector", "SimpleCPUOffloadConnector"}
    | {"SharedStorageConnector", "ExampleConnector"}
)


def role_of(argv: Sequence[str], engine: Engine) -> Role:
    """What of a pair this command line starts; `both` for a server that takes either part; "" where it is no pair's."""
    if engine.name == "sglang":
        return _MODES.get(value_of(argv, engine, "--disaggregation-mode"), "")
    if engine.name == "vllm":
        told = _kv_transfer(argv, engine)
        return "" if stores_only(told) else _ROLES.get(told.get("kv_role", ""), "")
    return ""


def keeps_a_store(argv: Sequence[str], engine: Engine) -> bool:
    """Whether its KV transfer is of this server alone."""
    return engine.name == "vllm" and stores_only(_kv_transfer(argv, engine))


def stores_only(told: dict[str, str]) -> bool:
    return told.get("kv_role") == "kv_both" and told.get("kv_connector") in _STORES


def value_of(argv: Sequence[str], engine: Engine, flag: str) -> str:
    """The value of a long flag, the last one; "" where it is not given."""
    found = ""
    for index, word in enumerate(argv):
        name, equals, value = word.partition("=")
        if name.startswith("-") and (engine.resolve_flag(name) or name) == flag:
            found = value if equals else argv[index + 1] if index + 1 < len(argv) else ""
    return found


def _kv_transfer(argv: Sequence[str], engine: Engine) -> dict[str, str]:
    try:
        read = json.loads(value_of(argv, engine, KV_TRANSFER) or "{}")
    except ValueError:
        read = {}
    told = {str(key): value for key, value in read.items() if isinstance(value, str)} if isinstance(read, dict) else {}
    for index, word in enumerate(argv):
        name, equals, value = word.partition("=")
        option, dot, key = name.replace("_", "-").partition(".")
        if dot and option == KV_TRANSFER:
            told[key.replace("-", "_")] = value if equals else argv[index + 1] if index + 1 < len(argv) else ""
    return told
