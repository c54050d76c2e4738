"""Out of a balancer and in again: a command or a call, on the host or here, and what its own state command says."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from console.changes import kinds
from console.errors import RefusedError, StepFailedError
from console.remote.scripts import Output
from console.schema.change import BalancerChange
from console.secrets import MASK
from tests.fakes import RUN, FakeRemote


def change(**more: Any) -> BalancerChange:
    given: dict[str, Any] = {
        "id": "b1",
        "step": "out",
        "way": "out",
        "member": "node7/chat",
        "group": "chat",
        "out": "lbctl drain node7",
        "back": "lbctl ready node7",
    }
    return BalancerChange(**(given | more))


async def test_the_one_is_the_undo_of_the_other() -> None:
    remote = FakeRemote()
    await kinds.make(change(), remote, RUN)
    back = await kinds.inverse(change(), remote)
    assert isinstance(back, BalancerChange)
    await kinds.make(back, remote, RUN)
    assert [base64.b64decode(args[0]).decode() for _, args in remote.told] == ["lbctl drain node7", "lbctl ready node7"]
    assert remote.locks == [RUN, RUN]
    assert back.summary == "put node7/chat in again"


async def test_a_call_goes_out_from_the_host() -> None:
    remote = FakeRemote(answers={"act_call.sh": Output(22, stderr=b"curl: (22) 503\n")})
    with pytest.raises(StepFailedError, match=r"on the host failed \(22\): curl: \(22\) 503"):
        await kinds.make(change(out="POST http://router:8080/drain name=node7"), remote, RUN)
    ((_, args),) = remote.told
    assert args == ("POST", "http://router:8080/drain", base64.b64encode(b"name=node7").decode())


@pytest.mark.parametrize(
    ("status", "way", "seen"),
    [(0, "out", "before"), (1, "out", "after"), (0, "in", "after"), (1, "in", "before"), (2, "out", "unknown")],
)
async def test_its_state_command_says_where_it_is(status: int, way: str, seen: str) -> None:
    remote = FakeRemote(answers={"look_command.sh": Output(status)})
    assert await kinds.look(change(way=way, state="lbctl is-in node7"), remote) == seen


async def test_without_one_it_cannot_be_seen() -> None:
    remote = FakeRemote()
    assert await kinds.look(change(), remote) == "unknown"
    assert remote.told == []


async def test_a_masked_secret_is_not_sent() -> None:
    remote = FakeRemote()
    with pytest.raises(RefusedError, match="masked"):
        await kinds.make(change(out=f"POST http://router/drain?key={MASK}"), remote, RUN)
    assert remote.told == []


async def test_from_the_console_nothing_is_asked_of_the_host(tmp_path: Path) -> None:
    remote = FakeRemote()
    here = {"runs": "console", "out": f"touch {tmp_path}/out", "state": f"test ! -e {tmp_path}/out"}
    assert await kinds.look(change(**here), remote) == "before"
    await kinds.make(change(**here), remote, RUN)
    assert await kinds.look(change(**here), remote) == "after"
    assert remote.told == []


async def test_a_command_here_that_hangs_is_ended_with_what_it_started() -> None:
    hangs = change(runs="console", out="sleep 1000 & wait", timeout_s=0.2)
    with pytest.raises(StepFailedError, match=r"on the machine of the console failed \(124\): no end within 0\.2 s"):
        await kinds.make(hangs, FakeRemote(), RUN)


@asynccontextmanager
async def router(answer: bytes, heard: list[bytes]) -> AsyncIterator[int]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next((int(x.split(b":")[1]) for x in head.splitlines() if x.lower().startswith(b"content-length")), 0)
        heard.append(head + await reader.readexactly(length))
        writer.write(b"HTTP/1.1 " + answer + b"\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def test_a_call_from_the_console_carries_its_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LB_TOKEN", "open-sesame")
    heard: list[bytes] = []
    async with router(b"204 No Content", heard) as port:
        call = f"POST http://127.0.0.1:{port}/drain node7"
        await kinds.make(change(runs="console", out=call, token_env="LB_TOKEN"), FakeRemote(), RUN)
    assert heard[0].startswith(b"POST /drain ")
    assert b"Bearer open-sesame" in heard[0]
    assert heard[0].endswith(b"node7")


async def test_an_answer_that_is_no_success_is_a_failure() -> None:
    async with router(b"503 Busy", []) as port:
        with pytest.raises(StepFailedError, match="HTTP 503"):
            await kinds.make(change(runs="console", out=f"POST http://127.0.0.1:{port}/x"), FakeRemote(), RUN)
