"""What a command line starts, and whether other machines belong to it."""

from __future__ import annotations

import pytest

from console.engines.recognise import engine_of, engine_of_image, several_nodes
from console.engines.registry import engine_named


@pytest.mark.parametrize(
    ("command", "engine"),
    [
        ("/opt/venv/bin/python -m sglang.launch_server --port 1", "sglang"),
        ("sglang serve --model-path m", "sglang"),
        ("python3 -m vllm.entrypoints.openai.api_server", "vllm"),
        ("/usr/local/bin/llama-server -m m.gguf", "llamacpp"),
        ("/usr/local/bin/ollama serve", "ollama"),
        ("text-generation-launcher --model-id m", "tgi"),
        ("trtllm-serve m", "tensorrt-llm"),
        ("/opt/bin/start m", None),
    ],
)
def test_an_engine_by_its_program(command: str, engine: str | None) -> None:
    assert engine_of(command.split()) == engine


def test_an_engine_by_its_image() -> None:
    assert engine_of_image("ghcr.io/huggingface/text-generation-inference:3.0") == "tgi"
    assert engine_of_image("debian:12") is None


@pytest.mark.parametrize(
    ("engine", "arguments", "part"),
    [
        ("vllm", ["--nnodes", "2"], "--nnodes 2"),
        ("vllm", ["-n", "2", "-r", "1"], "-n 2"),
        ("vllm", ["--headless"], "--headless"),
        ("vllm", ["--data_parallel_address=10.0.0.1"], "--data_parallel_address 10.0.0.1"),
        ("vllm", ["--data-parallel-address", "127.0.0.1"], ""),
        ("sglang", ["--nnodes=1"], ""),
        ("sglang", ["--nn", "2"], "--nn 2"),
        ("sglang", ["--disaggregation-mode", "prefill"], "--disaggregation-mode prefill"),
        ("sglang", ["--disaggregation-mode", "null"], ""),
        ("llamacpp", ["--rpc", "10.0.0.2:50052"], "--rpc 10.0.0.2:50052"),
        ("llamacpp", ["-n", "128"], ""),
    ],
)
def test_one_part_of_several_is_recognised(engine: str, arguments: list[str], part: str) -> None:
    assert several_nodes(["x", *arguments], engine_named(engine)) == part
