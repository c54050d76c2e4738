"""The simulated engine as a process: endpoints, refusals, log."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from console.lab.bare import SIMULATOR, BareEngine, bare_engine
from console.lab.simulator.bundle import write_zipapp


@dataclass
class Simulator:
    """A running simulator and a client of it."""

    engine: BareEngine
    http: httpx.Client

    @property
    def process(self) -> subprocess.Popen[bytes]:
        return self.engine.process

    def text(self) -> str:
        return self.engine.text()

    def generate(self, **body: Any) -> httpx.Response:
        return self.http.post("/generate", json=body)


@contextmanager
def simulator(folder: Path, *words: str, key: str = "", **rest: Any) -> Iterator[Simulator]:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    with (
        bare_engine(folder, *words, **rest) as engine,
        httpx.Client(base_url=engine.url, headers=headers, timeout=20, trust_env=False) as http,
    ):
        yield Simulator(engine, http)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulator]:
    """One simulator for all tests that only ask it things."""
    words = ("--context-length", "32768", "--mem-fraction-static", "0.85", "--tp-size", "2", "--api-key", "k1")
    with simulator(tmp_path_factory.mktemp("engine"), *words, "--enable-metrics", key="k1") as running:
        yield running


EXACT = {"ignore_eos": True, "temperature": 0}


def meta(reply: httpx.Response) -> dict[str, Any]:
    assert reply.status_code == 200, reply.text
    found: dict[str, Any] = reply.json()["meta_info"]
    return found


def test_what_is_served(engine: Simulator) -> None:
    card = engine.http.get("/v1/models").json()["data"][0]
    assert card["max_model_len"] == 32768
    assert card["owned_by"] == "sglang"
    info = engine.http.get("/server_info").json()
    assert info["context_length"] == 32768
    assert info["max_total_num_tokens"] == 101_134
    assert info["max_req_input_len"] == 32_762
    assert info["version"] == "0.5.10.post1"
    assert info["api_key"] == "k1"  # as the real one: in clear
    assert info["internal_states"][0]["memory_usage"]["token_capacity"] == 101_134
    assert engine.http.get("/get_server_info").json()["port"] == engine.engine.port
    assert engine.http.get("/get_model_info").json()["is_generation"] is True
    load = engine.http.get("/v1/loads").json()["loads"][0]
    assert load["num_running_reqs"] == 0
    assert load["max_total_num_tokens"] == 101_134


def test_the_key_is_asked_for_everywhere_but_at_health_and_metrics(engine: Simulator) -> None:
    with httpx.Client(base_url=engine.http.base_url, trust_env=False) as stranger:
        for path in ("/v1/models", "/server_info", "/v1/loads"):
            reply = stranger.get(path)
            assert (reply.status_code, reply.json()) == (401, {"error": "Unauthorized"})
        assert stranger.post("/generate", json={"text": "x"}).status_code == 401
        assert stranger.get("/health").status_code == 200
        metrics = stranger.get("/metrics").text
    assert "sglang:max_total_num_tokens{model_name=" in metrics
    assert "sglang:num_running_reqs" in metrics


def test_unknown_paths_and_methods(engine: Simulator) -> None:
    assert engine.http.get("/ready").status_code == 404
    assert engine.http.get("/generate").status_code == 405
    assert engine.http.post("/generate", content=b"{nonsense").status_code == 422


def test_a_generation_reports_its_own_counts(engine: Simulator) -> None:
    told = meta(
        engine.generate(input_ids=list(range(500, 600)), rid="mine-1", sampling_params={**EXACT, "max_new_tokens": 50})
    )
    assert told["id"] == "mine-1"
    assert told["prompt_tokens"] == 100
    assert told["completion_tokens"] == 50
    assert told["finish_reason"] == {"type": "length", "length": 50}
    assert told["spec_verify_ct"] == 17  # (50 - 1) / 2.9
    assert told["cached_tokens"] == 0
    again = meta(engine.generate(input_ids=list(range(500, 600)), sampling_params={**EXACT, "max_new_tokens": 50}))
    assert again["cached_tokens"] == 99


def test_reported_time_is_simulated_and_repeats_within_the_noise(engine: Simulator) -> None:
    body = {"input_ids": [9] * 5000, "sampling_params": {**EXACT, "max_new_tokens": 600}}
    engine.generate(**body)
    began = time.monotonic()
    first, second = meta(engine.generate(**body)), meta(engine.generate(**body))
    assert time.monotonic() - began < first["e2e_latency"]  # 100 times as fast as it says
    steps = first["spec_verify_ct"]
    assert steps == 77  # repetitive: 599 / 7.85
    assert first["e2e_latency"] == pytest.approx(0.05 + steps * (26.3 + 0.0201 * 5300) / 1000, rel=0.01)
    assert second["e2e_latency"] == pytest.approx(first["e2e_latency"], rel=0.005)


def test_text_ends_by_itself_unless_told_to_go_on(engine: Simulator) -> None:
    told = meta(engine.generate(text="tell me a story", sampling_params={"max_new_tokens": 5000}))
    assert told["finish_reason"]["type"] == "stop"
    assert 380 <= told["completion_tokens"] < 480


def test_tokenize_counts_what_generate_counts(engine: Simulator) -> None:
    text = "An unusually long-winded sentence, with signs & numbers 12345678."
    counted = engine.http.post("/tokenize", json={"prompt": text}).json()
    assert counted["count"] == len(counted["tokens"])
    assert counted["max_model_len"] > 32768  # the tokenizer's, not the server's
    told = meta(engine.generate(text=text, sampling_params={**EXACT, "max_new_tokens": 2}))
    assert told["prompt_tokens"] == counted["count"]


def test_a_stream_grows_and_ends(engine: Simulator) -> None:
    body = {"text": "count", "stream": True, "sampling_params": {**EXACT, "max_new_tokens": 40}}
    with engine.http.stream("POST", "/generate", json=body) as reply:
        events = [line.removeprefix("data: ") for line in reply.iter_lines() if line]
    assert events[-1] == "[DONE]"
    parts = [json.loads(event)["meta_info"] for event in events[:-1]]
    counts = [part["completion_tokens"] for part in parts]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1] == 40
    assert parts[0]["finish_reason"] is None
    assert parts[-1]["finish_reason"]["type"] == "length"


def test_completions_and_chat(engine: Simulator) -> None:
    done = engine.http.post("/v1/completions", json={"model": "m", "prompt": "hello", "ignore_eos": True}).json()
    assert done["usage"]["completion_tokens"] == 16  # the default
    assert done["choices"][0]["finish_reason"] == "length"
    chat = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 30, "stream": True}
    with engine.http.stream(
        "POST", "/v1/chat/completions", json={**chat, "stream_options": {"include_usage": True}}
    ) as reply:
        events = [line.removeprefix("data: ") for line in reply.iter_lines() if line]
    parts = [json.loads(event) for event in events[:-1]]
    assert events[-1] == "[DONE]"
    assert parts[-1]["usage"]["completion_tokens"] == 30
    assert "".join(part["choices"][0]["delta"]["content"] for part in parts[:-1]).strip()


@pytest.mark.parametrize(
    ("prompt", "output", "message"),
    [
        (33_000, 1, r"The input \(33000 tokens\) is longer than the model's context length \(32768 tokens\)\."),
        (32_000, 768, r"Requested token count exceeds .* 32768 tokens\. You requested a total of 32768 tokens: 32000"),
    ],
)
def test_a_request_past_the_context_is_refused(engine: Simulator, prompt: int, output: int, message: str) -> None:
    reply = engine.generate(input_ids=[5] * prompt, sampling_params={"max_new_tokens": output})
    assert reply.status_code == 400
    assert re.match(message, reply.json()["error"]["message"])
    body = {"prompt": [5] * prompt, "max_tokens": output}
    refused = engine.http.post("/v1/completions", json=body)
    assert refused.status_code == 400
    assert refused.json()["type"] == "BadRequestError"
    assert re.match(message, refused.json()["message"])


def test_a_client_that_leaves_ends_its_request(engine: Simulator) -> None:
    body = json.dumps({"input_ids": list(range(30_000)), "sampling_params": {**EXACT, "max_new_tokens": 2000}}).encode()
    head = (
        f"POST /generate HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer k1\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode()
    with socket.create_connection(("127.0.0.1", engine.engine.port)) as client:
        client.sendall(head + body)
        while engine.http.get("/v1/loads").json()["loads"][0]["num_running_reqs"] == 0:
            time.sleep(0.005)
    end = time.monotonic() + 3.0  # 450 simulated seconds would take 4.5
    while engine.http.get("/v1/loads").json()["loads"][0]["num_running_reqs"]:
        assert time.monotonic() < end
        time.sleep(0.01)


def test_flush_and_abort(engine: Simulator) -> None:
    ids = list(range(2000, 2200))
    engine.generate(input_ids=ids, sampling_params={**EXACT, "max_new_tokens": 2})
    assert engine.http.post("/flush_cache").status_code == 200
    told = meta(engine.generate(input_ids=ids, sampling_params={**EXACT, "max_new_tokens": 2}))
    assert told["cached_tokens"] == 0
    assert engine.http.post("/abort_request", json={"rid": "nobody"}).status_code == 200


def test_health_takes_a_second_and_generates(engine: Simulator) -> None:
    before = engine.text().count("Prefill batch")
    began = time.monotonic()
    assert engine.http.get("/health").status_code == 200
    assert time.monotonic() - began >= 1.0 / 100
    assert engine.text().count("Prefill batch") == before + 1


def test_the_log_tells_a_start_in_the_engines_words(engine: Simulator) -> None:
    engine.http.get("/v1/models")
    log = engine.text()
    in_order = [
        r"\] server_args=ServerArgs\(model_path='[^']+', .*context_length=32768.*api_key='k1'",
        r"TP0\] Load weight begin\. avail mem=\d+\.\d\d GB\n",
        r"\rMulti-thread loading shards: +50% Completed \| 32/64 \[\d\d:\d\d<\d\d:\d\d, \d+\.\d\ds/it\]\r",
        r"TP1\] Load weight end\. elapsed=\d+\.\d+ s, type=KimiK25ForConditionalGeneration, avail mem=",
        r"TP0\] KV Cache is allocated\. #tokens: 101134, KV size: 6\.62 GB\n",
        r"TP0\] Memory pool end\. avail mem=",
        r"TP0\] Capture cuda graph begin\. This can take up to several minutes\. avail mem=",
        r"\rCapturing batches \(bs=1 avail_mem=\d+\.\d+ GB\): 100%\|█+\| 10/10 \[",
        r"TP0\] Capture cuda graph end\. Time elapsed: ",
        r"TP0\] max_total_num_tokens=101134, chunked_prefill_size=8192, max_prefill_tokens=16384, ",
        r"max_running_requests=2048, context_len=32768, available_gpu_mem=\d",
        r"INFO:     Uvicorn running on http://127\.0\.0\.1:\d+ \(Press CTRL\+C to quit\)",
        r"TP0\] Prefill batch, #new-seq: 1, #new-token: 6, #cached-token: 0, token usage: 0\.00, #running-req: 0, ",
        r"The server is fired up and ready to roll!",
    ]
    at = 0
    for pattern in in_order:
        found = re.compile(pattern).search(log, at)
        assert found, f"no {pattern} after {log[max(0, at - 200) : at]}"
        at = found.start()
    assert "GET /v1/models HTTP/1.1" in log


def test_the_first_request_of_a_client_is_slower(tmp_path: Path) -> None:
    with simulator(tmp_path, "--context-length", "4096") as running:
        body = {"text": "hello", "sampling_params": {**EXACT, "max_new_tokens": 4}}
        first, second = meta(running.generate(**body)), meta(running.generate(**body))
    assert first["e2e_latency"] - second["e2e_latency"] == pytest.approx(1.5, abs=0.05)


def test_a_context_the_pool_cannot_hold_starts_and_refuses_the_long_request(tmp_path: Path) -> None:
    with simulator(tmp_path, "--context-length", "200k", "--mem-fraction-static", "0.85") as running:
        info = running.http.get("/server_info").json()
        assert (info["context_length"], info["max_req_input_len"]) == (200_000, 101_128)
        reply = running.generate(input_ids=[1] * 150_000, sampling_params={"max_new_tokens": 8})
        assert reply.status_code == 400
        assert reply.json()["error"]["message"] == (
            "Input length (150000 tokens) exceeds the maximum allowed length (101128 tokens). "
            "Use a shorter input or enable --allow-auto-truncate."
        )
        fits = meta(running.generate(input_ids=[1] * 101_120, sampling_params={**EXACT, "max_new_tokens": 64}))
        assert fits["completion_tokens"] < 64  # clipped without a word


def test_the_port_is_closed_while_it_loads_and_not_healthy_before_the_warm_up(tmp_path: Path) -> None:
    with simulator(tmp_path, ready=False, speed=10.0, prefill_overhead_s=10.0) as running:
        with pytest.raises(httpx.ConnectError):
            running.http.get("/v1/models")
        running.engine.wait_for("Uvicorn running")
        assert running.http.get("/v1/models").status_code == 200
        assert running.http.get("/health").status_code == 503
        running.engine.wait_for("ready to roll")
        assert running.http.get("/health").status_code == 200


def test_a_context_past_the_models_own_is_refused(tmp_path: Path) -> None:
    with simulator(tmp_path, "--context-length", "300000", ready=False) as running:
        assert running.process.wait(10) == 1
        assert (
            "ValueError: Warning: User-specified context_length (300000) is greater than the derived" in running.text()
        )
    overwrite = {"SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN": "1"}
    with simulator(tmp_path, "--context-length", "300000", environ=overwrite) as running:
        assert running.http.get("/v1/models").json()["data"][0]["max_model_len"] == 300_000


def test_no_room_for_a_pool_and_too_little_left_beside_it(tmp_path: Path) -> None:
    with simulator(tmp_path, "--mem-fraction-static", "0.7", ready=False) as running:
        assert running.process.wait(10) == -signal.SIGKILL
        assert "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static." in running.text()
        assert "Received sigquit from a child process" in running.text()
    with simulator(tmp_path, "--mem-fraction-static", "0.995", ready=False) as running:
        assert running.process.wait(10) == -signal.SIGKILL
        assert "Capture cuda graph failed" in running.text()


def test_a_model_that_is_not_there(tmp_path: Path) -> None:
    with simulator(tmp_path, "--model-path", str(tmp_path / "nothing"), ready=False) as running:
        assert running.process.wait(10) == 1
        assert "does not appear to have a file named config.json" in running.text()


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with simulator(tmp_path, "--port", str(taken.getsockname()[1]), ready=False) as running:
            assert running.process.wait(10) == 1
            assert "error while attempting to bind on address" in running.text()


def test_sigterm_ends_a_load_at_once_and_drains_a_server(tmp_path: Path) -> None:
    with simulator(tmp_path, ready=False, load_s=1000.0) as running:
        running.engine.wait_for("Load weight begin")
        running.process.terminate()
        assert running.process.wait(5) == -signal.SIGTERM
    with simulator(tmp_path, speed=50.0) as running:
        body = {"text": "a", "stream": True, "sampling_params": {**EXACT, "max_new_tokens": 1500}}
        with running.http.stream("POST", "/generate", json=body) as reply:
            lines = reply.iter_lines()
            next(lines)
            running.process.terminate()
            assert [line for line in lines if line][-1] == "data: [DONE]"
        assert running.process.wait(5) == -signal.SIGKILL  # its own doing
        log = running.text()
    assert "SIGTERM received. signum=None frame=None. Draining requests and shutting down..." in log
    assert "Remaining number of requests 0. Remaining requests remaining_rids=[]." in log


def test_as_one_file_without_this_project(tmp_path: Path) -> None:
    archive = write_zipapp(tmp_path / "engine.pyz")
    with simulator(tmp_path, program=("-S", "-I", str(archive))) as running:
        assert running.http.get("/health").status_code == 200


def test_it_imports_nothing_but_the_library() -> None:
    code = (
        f"import sys; sys.path.append({str(SIMULATOR.parent)!r}); import simulator.server; "
        "ours = {'simulator', '__main__'} | sys.stdlib_module_names; "
        "print([name for name in sys.modules if name.split('.')[0] not in ours])"
    )
    told = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"
