"""Prefill and decode apart, simulated: neither answers alone, both together do through the router."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from console.lab.bare import SIMULATOR, BareEngine, bare_engine, free_port

ASKED = {"text": "one two three", "sampling_params": {"max_new_tokens": 4, "ignore_eos": True}}
Pair = tuple[BareEngine, BareEngine, str]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    rooms = str(free_port())
    prefill = ("--disaggregation-mode", "prefill", "--disaggregation-bootstrap-port", rooms)
    with (
        bare_engine(tmp_path_factory.mktemp("p"), *prefill, "--context-length", "2000", load_s=1.0) as first,
        bare_engine(tmp_path_factory.mktemp("d"), "--disaggregation-mode", "decode", load_s=1.0) as second,
        router(tmp_path_factory.mktemp("r"), "--prefill", first.url, rooms, "--decode", second.url) as url,
    ):
        yield first, second, url


class router:  # noqa: N801 - used as a context
    """A router as a process; its URL."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.url = f"http://127.0.0.1:{(port := free_port())}"
        self.log = (folder / "log").open("wb")
        command = [sys.executable, "-S", str(SIMULATOR), "router", "--pd-disaggregation", *words, "--port", str(port)]
        self.process = subprocess.Popen([*command, "--cb-timeout-duration-secs", "0.2"], stderr=self.log)
        self.path = folder / "log"

    def __enter__(self) -> str:
        while b"router listens" not in self.path.read_bytes():
            assert self.process.poll() is None
        return self.url

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        self.log.close()


def ask(url: str, path: str = "/generate", **body: object) -> httpx.Response:
    return httpx.post(f"{url}{path}", json=ASKED | body, timeout=20, trust_env=False)


def test_neither_answers_without_a_room(pair: Pair) -> None:
    for engine in pair[:2]:
        reply = ask(engine.url)
        assert reply.status_code == 400
        assert "Disaggregated request received without bootstrap room id" in reply.text


def test_through_the_router_decode_answers(pair: Pair) -> None:
    meta = ask(pair[2]).json()["meta_info"]
    assert (meta["prompt_tokens"], meta["completion_tokens"]) == (3, 4)
    chat = ask(pair[2], "/v1/chat/completions", messages=[{"role": "user", "content": "hi"}], max_tokens=5)
    assert chat.json()["usage"]["completion_tokens"] == 5


def test_what_prefill_refuses_is_the_answer(pair: Pair) -> None:
    reply = ask(pair[2], text="word " * 3000)
    assert reply.status_code == 400
    assert "context length" in reply.text


def test_decode_does_not_wait_for_a_prefill_that_is_not_there(pair: Pair) -> None:
    room: dict[str, Any] = {"bootstrap_host": "127.0.0.1", "bootstrap_port": free_port(), "bootstrap_room": 7}
    reply = ask(pair[1].url, **room)
    assert reply.status_code == 500
    assert "KVTransferError" in reply.text


def test_a_server_that_is_away_is_left_out_for_a_while_and_found_again(pair: Pair, tmp_path: Path) -> None:
    gone = f"http://127.0.0.1:{free_port()}"
    with router(tmp_path, "--prefill", gone, "--decode", pair[1].url) as url:
        first, second = ask(url), ask(url)
    assert (first.status_code, second.status_code) == (503, 503)
    assert "No available prefill workers" in second.text
