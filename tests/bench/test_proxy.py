"""The bad path: what comes out of it, whatever it does with the time."""

from __future__ import annotations

import asyncio
import random

import pytest

from bench.proxy import Path, Proxy, complete

WORDS = [f"word {number}\n".encode() for number in range(50)]


async def through(path: Path, asked: bytes = b"go\n") -> tuple[bytes, list[bytes], list[bytes]]:
    """What the client got in all, its pieces, and what the server was asked, for an answer sent word by word."""
    heard: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readline())
        body = b"".join(WORDS)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body))
        for word in WORDS:
            writer.write(word)
            await writer.drain()
            await asyncio.sleep(0)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    pieces: list[bytes] = []
    async with server, Proxy(port, path, random.Random(5)) as proxy:
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        writer.write(asked)
        try:
            while piece := await reader.read(65536):
                pieces.append(piece)
        except ConnectionError:
            pass
        writer.close()
    return b"".join(pieces), pieces, heard


@pytest.mark.parametrize(
    "path",
    [Path(), Path(delay_s=0.01, jitter_s=0.01), Path(swing_s=0.01), Path(loss=0.3, speed=20), Path(spikes=1, speed=50)],
)
async def test_all_bytes_arrive_in_order_whatever_the_path(path: Path) -> None:
    got, _, heard = await through(path)
    assert got.endswith(b"".join(WORDS))
    assert heard == [b"go\n"]


async def test_a_buffering_path_hands_out_one_whole_answer() -> None:
    got, pieces, _ = await through(Path(buffered=True))
    assert got.endswith(WORDS[-1])
    assert len(pieces) == 1


async def test_a_cut_connection_ends_before_its_answer() -> None:
    got, _, _ = await through(Path(delay_s=5.0, cut=1.0, speed=4))
    assert got == b""


async def test_bytes_may_be_changed_on_both_ways() -> None:
    path = Path(ask=lambda data, _: data.replace(b"go", b"no"), answer=lambda data, _: data.replace(b"word", b"WORD"))
    got, _, heard = await through(path)
    assert heard == [b"no\n"]
    assert b"word" not in got


async def test_a_server_that_is_gone_closes_the_connection() -> None:
    async with Proxy(1, Path(), random.Random(1)) as proxy:
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        assert await reader.read() == b""
        writer.close()


def test_when_an_answer_is_complete() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"
    assert not complete(head[:-2])
    assert not complete(head + b"abc")
    assert complete(head + b"abcd")
    chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nabcd\r\n"
    assert not complete(chunked)
    assert complete(chunked + b"0\r\n\r\n")


def test_a_lost_packet_waits_for_its_retransmission() -> None:
    rng = random.Random(3)
    waits = [Path(loss=0.5).wait_s(rng) for _ in range(400)]
    assert 0.4 < sum(wait == 0 for wait in waits) / 400 < 0.6
    assert min(wait for wait in waits if wait) >= 0.2
    assert max(waits) > 0.6
