"""A streamed answer comes piece by piece over a channel of its own, and what is no answer is told."""

from __future__ import annotations

import asyncio

import pytest

from console.engines.base import Reply, Request
from console.errors import UnreachableError
from console.remote.http import Forward
from tests.remote.conftest import Connect
from tests.remote.sshd import Sshd
from tests.remote.test_http import Engine, engine

__all__ = ["engine"]

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"".join(
    b"%x\r\n%s\r\n" % (len(piece), piece) for piece in (b"data: one\n", b"data: two\n", b"")
)


async def streamed(connect: Connect, engine: Engine, request: Request | None = None) -> tuple[Reply, list[bytes]]:
    heard: list[bytes] = []
    remote = await connect(url=engine.url)
    reply = await remote.stream(request or Request("POST", "/generate", {"n": 1}), lambda _at, part: heard.append(part))
    return reply, heard


async def test_pieces_are_heard_and_the_request_is_as_any_other(connect: Connect, engine: Engine) -> None:
    engine.answer = CHUNKED
    reply, heard = await streamed(connect, engine)
    assert (reply.status, reply.error, reply.body) == (200, "", b"")
    assert b"".join(heard) == b"data: one\ndata: two\n"
    head, _, body = engine.asked[0].partition("\r\n\r\n")
    assert head.startswith("POST /generate HTTP/1.1\r\n")
    assert f"host: {engine.url.removeprefix('http://')}" in head.lower()
    assert "content-type: application/json" in head.lower()
    assert body == '{"n":1}'


@pytest.mark.parametrize("form", [b"Content-Length: 2\r\n", b""])
async def test_an_answer_without_chunks_is_heard(connect: Connect, engine: Engine, form: bytes) -> None:
    engine.answer = b"HTTP/1.1 200 OK\r\n" + form + b"\r\nok"
    reply, heard = await streamed(connect, engine, Request("GET", "/stream"))
    assert (reply.status, b"".join(heard)) == (200, b"ok")


async def test_a_key_that_no_header_can_hold_is_told_without_it(connect: Connect, engine: Engine) -> None:
    remote = await connect(url=engine.url)
    forward = Forward(remote._link, remote.target.service, remote.clock, "geheim\r")
    reply = await forward.send(Request("GET", "/v1/models"))
    assert reply.status == 0
    assert "a header is not valid" in reply.error
    assert "geheim" not in reply.error
    assert engine.asked == []


async def test_what_is_no_200_is_a_body_and_not_heard(
    connect: Connect, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.remote.http.BODY_LIMIT", 1000)
    engine.answer = b"HTTP/1.1 503 Busy\r\n\r\n" + b"x" * 50_000
    reply, heard = await streamed(connect, engine)
    assert (reply.status, len(reply.body), heard) == (503, 1000, [])
    assert "larger than" in reply.error


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"garbage\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nshort",
        CHUNKED[:-5],
        b"HTTP/1.1 200 OK\r\n",
    ],
)
async def test_an_answer_that_breaks_off_is_a_reply(connect: Connect, engine: Engine, answer: bytes) -> None:
    engine.answer = answer
    reply, _ = await streamed(connect, engine)
    assert reply.status == 0
    assert "refused or closed" in reply.error


async def test_nobody_there_and_an_engine_that_hangs(connect: Connect, engine: Engine) -> None:
    nobody = await connect(url="http://127.0.0.1:1")
    reply = await nobody.stream(Request("POST", "/generate", {}), lambda _at, _part: None)
    assert reply.status == 0
    assert "refused" in reply.error
    engine.delay_s = 30
    reply, _ = await streamed(connect, engine, Request("POST", "/generate", {}, timeout_s=0.2))
    assert (reply.status, reply.error) == (0, "no answer within 0.2 s")


async def test_many_at_once_and_one_that_is_stopped(connect: Connect, engine: Engine) -> None:
    engine.answer, engine.delay_s = CHUNKED, 0.3
    remote = await connect(url=engine.url)

    async def one() -> int:
        return (await remote.stream(Request("POST", "/generate", {}), lambda _at, _part: None)).status

    stopped = asyncio.ensure_future(one())
    others = [asyncio.ensure_future(one()) for _ in range(20)]
    while len(engine.asked) < 21:  # noqa: ASYNC110 - the engine is in this loop, too
        await asyncio.sleep(0.01)
    stopped.cancel()
    assert await asyncio.gather(*others) == [200] * 20
    assert stopped.cancelled()


async def test_a_connection_that_dies_is_told(connect: Connect, sshd: Sshd, engine: Engine) -> None:
    engine.delay_s = 5
    asyncio.get_running_loop().call_later(0.2, sshd.cut)
    with pytest.raises(UnreachableError, match="died under a request"):
        await streamed(connect, engine)


async def test_what_hears_and_fails_fails_its_own_request_only(connect: Connect, engine: Engine) -> None:
    engine.answer = CHUNKED
    remote = await connect(url=engine.url)

    def broken(_at: float, _part: bytes) -> None:
        raise ValueError("cannot be read")

    with pytest.raises(ValueError, match="cannot be read"):
        await remote.stream(Request("POST", "/generate", {}), broken)
    assert (await remote.stream(Request("POST", "/generate", {}), lambda _at, _part: None)).status == 200
