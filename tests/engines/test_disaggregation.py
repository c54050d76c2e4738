"""Which of a pair a command line starts."""

from __future__ import annotations

import pytest

from console.engines.disaggregation import role_of
from console.engines.recognise import several_nodes
from console.engines.registry import engine_named

NIXL = '{"kv_connector":"NixlConnector","kv_role":"kv_both"}'
LMCACHE = '{"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}'
PRODUCER = '{"kv_connector":"P2pNcclConnector","kv_role":"kv_producer","kv_port":14579}'


@pytest.mark.parametrize(
    ("engine", "arguments", "role"),
    [
        ("sglang", ["--disaggregation-mode", "prefill"], "prefill"),
        ("sglang", ["--disaggregation-mode=prefill", "--disaggregation-mode", "decode"], "decode"),
        ("sglang", ["--disaggregation-mode", "null"], ""),
        ("sglang", ["--disaggregation-bootstrap-port", "8998"], ""),
        ("vllm", ["--kv-transfer-config", PRODUCER], "prefill"),
        ("vllm", ["--kv-transfer-config=" + PRODUCER.replace("producer", "consumer")], "decode"),
        ("vllm", ["--kv-transfer-config", NIXL], "both"),
        ("vllm", ["--kv_transfer_config", NIXL], "both"),
        ("vllm", ["--kv-transfer-config.kv_role=kv_consumer"], "decode"),
        ("vllm", ["--kv-transfer-config.kv_role", "kv_producer"], "prefill"),
        ("vllm", ["--kv-transfer-config", "not json"], ""),
        ("vllm", ["--kv-transfer-config", "[1]"], ""),
        ("vllm", ["--kv-transfer-config"], ""),
        ("llamacpp", ["--disaggregation-mode", "prefill"], ""),
    ],
)
def test_the_role_is_told(engine: str, arguments: list[str], role: str) -> None:
    assert role_of(["x", *arguments], engine_named(engine)) == role


def test_a_cache_kept_elsewhere_makes_no_pair() -> None:
    """LMCache on the machine's own memory is the usual reason for the option, and no other server is in it."""
    vllm = engine_named("vllm")
    assert role_of(["--kv-transfer-config", LMCACHE], vllm) == ""
    assert several_nodes(["--kv-transfer-config", LMCACHE], vllm) == ""
    producer = LMCACHE.replace("kv_both", "kv_producer")
    assert role_of(["--kv-transfer-config", producer], vllm) == "prefill"
    assert several_nodes(["--kv-transfer-config", producer], vllm).startswith("--kv-transfer-config")


def test_one_key_a_flag_is_a_pair_as_well() -> None:
    words = ["--kv-transfer-config.kv_role", "kv_producer"]
    assert several_nodes(words, engine_named("vllm")) == "--kv-transfer-config.kv_role kv_producer"
    assert several_nodes(words, engine_named("vllm"), pairs=False) == ""
