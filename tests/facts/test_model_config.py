"""Where the words of a command line lead: folders, download caches, container volumes; and what the script finds."""

from __future__ import annotations

import base64
import os
import subprocess
from pathlib import Path

import pytest

from console.engines.registry import engine_named
from console.facts.model_config import candidates, names, question
from console.remote.scripts import Output, render
from console.schema.facts import ModelConfig
from tests.fakes import ARGV, SGLANG, UNIT, facts

HUB = "models--moonshotai--Kimi-K2.6"
REPOSITORY = "moonshotai/Kimi-K2.6"


def test_model_and_draft_are_named() -> None:
    words = [*ARGV, "--speculative-draft-model-path=org/draft"]
    assert names(words, SGLANG) == {"model": "/models/chat-70b", "draft": "org/draft"}
    assert names(["vllm", "serve", "org/model", "--port", "1"], SGLANG) == {"model": "org/model"}
    assert names(["python", "server.py"], SGLANG) == {}


def test_a_folder_is_itself() -> None:
    assert list(candidates("/models/k", {}, (), (), "")) == ["/models/k"]
    assert next(candidates("k2", {}, (), (), "/srv/models")) == "/srv/models/k2"


def test_a_repository_is_looked_for_in_every_cache() -> None:
    environment = {"HF_HOME": "/data/hf", "HF_HUB_CACHE": "/data/hub/"}
    found = list(candidates(REPOSITORY, environment, (), ("--revision", "v1"), ""))
    assert found[:2] == [f"/data/hub/{HUB}@v1", f"/data/hf/hub/{HUB}@v1"]
    assert found[-1] == f"home:.cache/huggingface/hub/{HUB}@v1"


@pytest.mark.parametrize(
    "volume",
    [
        ("-v", "/raid/models:/models:ro"),
        ("--volume=/raid/models:/models",),
        ("--mount", "type=bind,source=/raid/models,target=/models"),
    ],
)
def test_a_volume_says_where_a_container_has_it_from(volume: tuple[str, ...]) -> None:
    launcher = ("/usr/bin/docker", "run", "--rm", *volume, "sglang:latest")
    assert next(candidates("/models/k2/k", {}, launcher, (), "")) == "/raid/models/k2/k"
    cache = ("/usr/bin/podman", "run", "-v", "/raid/hf:/root/.cache/huggingface", "vllm:latest")
    assert f"/raid/hf/hub/{HUB}@main" in list(candidates(REPOSITORY, {}, cache, (), ""))


async def read(answer: Output) -> tuple[ModelConfig, ...]:
    return question(SGLANG, facts(UNIT, running=ARGV)).read(answer.sections)


async def test_what_was_read() -> None:
    said = b"path=/models/chat-70b/config.json\nweights=1234\ncontent=" + base64.b64encode(b'{"a": 1}') + b"\n"
    (model,) = await read(Output(0, {"model.model": said}))
    assert (model.content, model.weights_bytes, model.error) == (b'{"a": 1}', 1234, "")
    assert len(model.sha256) == 64
    assert "content" not in model.model_dump(), "it is not for records"


@pytest.mark.parametrize(
    ("sections", "error"),
    [
        ({}, "no folder or download cache on the host holds /models/chat-70b"),
        (
            {"empty.model": b"path=/models/chat-70b\n"},
            "/models/chat-70b holds no config.json (not down",
        ),
        (
            {"closed.model": b"path=/m/k\nerror=sudo: a password is required\n"},
            "/m/k cannot be looked at as the login user (sudo: a password is required)",
        ),
        ({"model.model": b"path=/m/config.json\nweights=0\ncontent=\n"}, "it is there and could not be read"),
        ({"model.model": b"path=/m/config.json\ncontent=***\n"}, "it is there and could not be read"),
    ],
)
async def test_what_could_not_be_read_says_why(sections: dict[str, bytes], error: str) -> None:
    (model,) = await read(Output(0, sections))
    assert model.error.startswith(error)


def look(*arguments: str) -> str:
    text = render("look_model.sh", [str(os.getuid()), *arguments], mark="M")
    done = subprocess.run(["/bin/sh", "-s"], input=text, capture_output=True, timeout=20, check=True)
    return done.stdout.decode()


def test_the_script_follows_a_caches_refs(tmp_path: Path) -> None:
    snapshot = tmp_path / HUB / "snapshots" / "abc123"
    snapshot.mkdir(parents=True)
    (tmp_path / HUB / "refs").mkdir()
    (tmp_path / HUB / "refs" / "main").write_text("abc123")
    (snapshot / "config.json").write_text('{"num_hidden_layers": 2}')
    (snapshot / "model-1.safetensors").write_bytes(b"x" * 700)
    (snapshot / "model-2.safetensors").write_bytes(b"x" * 300)
    said = look("model", str(tmp_path / "none"), "model", f"{tmp_path}/{HUB}@main", "draft", str(tmp_path))
    assert f"path={snapshot}/config.json" in said
    assert "weights=1000" in said
    assert base64.b64encode(b'{"num_hidden_layers": 2}').decode() in said
    assert "empty.draft" in said


def test_the_script_reads_the_head_of_a_gguf_file_and_weighs_its_parts(tmp_path: Path) -> None:
    for number in (1, 2):
        (tmp_path / f"m-0000{number}-of-00002.gguf").write_bytes(b"GGUF" + b"x" * 99_996)
    said = look("model", str(tmp_path / "m-00001-of-00002.gguf"), "draft", str(tmp_path / "none.gguf"))
    assert "weights=200000" in said
    content = said.partition("content=")[2].partition("\n")[0]
    assert base64.b64decode(content) == b"GGUF" + b"x" * 65_532, "no more than its first bytes"
    assert "draft" not in said


def test_a_variable_may_name_the_model() -> None:
    engine = engine_named("llamacpp")
    assert names(["/opt/llama-server"], engine, {"LLAMA_ARG_MODEL": "/m/a.gguf"}) == {"model": "/m/a.gguf"}
    assert names(["s", "-m", "/m/b.gguf"], engine, {"LLAMA_ARG_MODEL": "/m/a.gguf"}) == {"model": "/m/b.gguf"}
