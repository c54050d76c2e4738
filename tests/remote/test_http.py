"""HTTP through the connection: what the engine says, or why it says nothing."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from console.clock import SystemClock
from console.engines.base import Request
from console.errors import UnreachableError
from console.remote.session import Remote, connect_reader
from console.secrets import Redactor
from tests.remote.conftest import Connect
from tests.remote.sshd import Sshd


@dataclass
class Engine:
    """Answers every request with `answer` after `delay_s`, and keeps what it was asked."""

    answer: bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    delay_s: float = 0.0
    asked: list[str] = field(default_factory=list)
    url: str = ""
    serving: set[asyncio.Task[None]] = field(default_factory=set)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving = asyncio.current_task()
        assert serving is not None
        self.serving.add(serving)
        try:
            await self._answer(reader, writer)
        except asyncio.CancelledError:
            writer.transport.abort()
        finally:
            self.serving.discard(serving)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = next(
            (int(line.split(":")[1]) for line in head.splitlines() if line.lower().startswith("content-length")), 0
        )
        self.asked.append(head + (await reader.readexactly(length)).decode())
        await asyncio.sleep(self.delay_s)
        with contextlib.suppress(ConnectionError):
            writer.write(self.answer)
            await writer.drain()
            writer.close()
            await writer.wait_closed()


@pytest.fixture
async def engine() -> AsyncIterator[Engine]:
    there = Engine()
    server = await asyncio.start_server(there.serve, "127.0.0.1", 0)
    there.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        yield there
        for serving in tuple(there.serving):
            serving.cancel()
        while there.serving:
            await asyncio.wait(tuple(there.serving))


async def test_a_reply_arrives_with_its_status_and_time(connect: Connect, engine: Engine) -> None:
    remote = await connect(url=engine.url)
    engine.delay_s = 0.1
    reply = await remote.fetch(Request("GET", "/v1/models"))
    assert (reply.status, reply.body, reply.error) == (200, b"ok", "")
    assert reply.duration_s >= 0.1
    assert engine.asked[0].startswith("GET /v1/models HTTP/1.1\r\n")
    assert f"host: {engine.url.removeprefix('http://')}" in engine.asked[0].lower()


async def test_json_is_posted(connect: Connect, engine: Engine) -> None:
    remote = await connect(url=engine.url)
    await remote.fetch(Request("POST", "/generate", {"text": "hi"}))
    assert engine.asked[0].endswith('{"text":"hi"}')
    assert "content-type: application/json" in engine.asked[0].lower()


async def test_the_key_of_the_environment_is_sent_and_never_shown(sshd: Sshd, engine: Engine) -> None:
    redactor = Redactor()
    remote = (
        await connect_reader(
            sshd.target(url=engine.url, api_key_env="K26_KEY"),
            redactor=redactor,
            clock=SystemClock(),
            environment={"K26_KEY": "open-sesame"},
        )
    ).writer()
    await remote.fetch(Request("GET", "/v1/models"))
    assert "Bearer open-sesame" in engine.asked[0]
    assert redactor.text("the key is open-sesame") == "the key is ***"
    await remote.aclose()


async def test_nobody_listening_is_a_reply_and_not_an_error(remote: Remote) -> None:
    reply = await remote.fetch(Request("GET", "/v1/models"))
    assert reply.status == 0
    assert "refused" in reply.error


async def test_an_engine_that_hangs_is_a_reply_with_its_limit(connect: Connect, engine: Engine) -> None:
    engine.delay_s = 30
    remote = await connect(url=engine.url)
    reply = await remote.fetch(Request("GET", "/v1/models", timeout_s=0.3))
    assert reply.status == 0
    assert reply.error == "no answer within 0.3 s"


@pytest.mark.parametrize("answer", [b"", b"garbage\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nshort"])
async def test_a_broken_answer_is_a_reply(connect: Connect, engine: Engine, answer: bytes) -> None:
    engine.answer = answer
    reply = await (await connect(url=engine.url)).fetch(Request("GET", "/v1/models"))
    assert reply.status == 0
    assert reply.error


async def test_an_endless_body_is_cut(connect: Connect, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.remote.http.BODY_LIMIT", 1000)
    engine.answer = b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 500_000
    reply = await (await connect(url=engine.url)).fetch(Request("GET", "/v1/models"))
    assert len(reply.body) == 1000
    assert "larger than" in reply.error


async def test_a_restarted_engine_is_asked_anew(connect: Connect, engine: Engine) -> None:
    remote = await connect(url=engine.url)
    for _ in range(3):
        assert (await remote.fetch(Request("GET", "/v1/models"))).status == 200


async def test_it_goes_on_over_a_new_connection(connect: Connect, sshd: Sshd, engine: Engine) -> None:
    remote = await connect(url=engine.url)
    await remote.fetch(Request("GET", "/v1/models"))
    sshd.cut()
    await asyncio.sleep(0.1)
    assert (await remote.fetch(Request("GET", "/v1/models"), patience_s=5)).status == 200
    engine.delay_s = 1
    asyncio.get_running_loop().call_later(0.2, sshd.cut)
    with pytest.raises(UnreachableError, match="died under a request"):
        await remote.fetch(Request("GET", "/v1/models"))


async def test_the_surroundings_proxy_is_not_used(
    connect: Connect, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    assert (await (await connect(url=engine.url)).fetch(Request("GET", "/v1/models"))).status == 200


async def test_what_generates_goes_to_the_router_and_all_else_to_the_service(connect: Connect, engine: Engine) -> None:
    """Of prefill and decode apart neither answers a client by itself."""
    remote = await connect(url="http://127.0.0.1:9", router=engine.url)
    generated = await remote.fetch(Request("POST", "/generate?source=console", {"text": "hi"}))
    parts: list[bytes] = []
    await remote.stream(Request("POST", "/v1/completions", {"prompt": "hi"}), lambda _at, part: parts.append(part))
    asked = await remote.fetch(Request("GET", "/v1/models"))
    assert (generated.status, parts, asked.status) == (200, [b"ok"], 0)
    assert [text.split(" ", 2)[1] for text in engine.asked] == ["/generate?source=console", "/v1/completions"]
    assert await remote.router_silent() == ""
    assert (await remote.engine_address())[0].startswith("http://127.0.0.1:")


async def test_a_router_that_is_not_there_is_told(connect: Connect, engine: Engine) -> None:
    remote = await connect(url=engine.url, router="http://127.0.0.1:9")
    assert "refused" in await remote.router_silent()
