"""What another terminal of the same user may say to a run."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from console.errors import StateError
from console.runs.control import Abort, Answer, Extend, Ping, Reply
from console.runs.socket import LINE_BYTES, ControlSocket, send, send_to_run
from tests.runs.stories import RUN


class Desk:
    """Takes down what it is told."""

    def __init__(self) -> None:
        self.heard: list[Abort | Answer | Extend] = []

    def handle(self, message: Abort | Answer | Extend) -> Reply:
        self.heard.append(message)
        if isinstance(message, Answer) and message.question != "confirm":
            return Reply(ok=False, message="nothing is asked")
        return Reply(ok=True)


@pytest.fixture
def environment() -> dict[str, str]:
    return {"XDG_RUNTIME_DIR": os.environ["XDG_RUNTIME_DIR"]}


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
async def server(desk: Desk, environment: dict[str, str]) -> AsyncIterator[ControlSocket]:
    server = ControlSocket(RUN, environment, desk.handle)
    await server.start()
    yield server
    await server.close()


async def raw(path: Path, data: bytes) -> bytes:
    reader, writer = await asyncio.open_unix_connection(str(path))
    writer.write(data)
    await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()
    reply = await asyncio.wait_for(reader.read(), 5)
    writer.close()
    return reply


async def test_ping_says_which_run(server: ControlSocket, desk: Desk, environment: dict[str, str]) -> None:
    assert await send_to_run(RUN, Ping(), environment) == Reply(ok=True, message=RUN)
    assert desk.heard == []


@pytest.mark.parametrize(
    "message",
    [
        Abort(choice="rollback", by="tui"),
        Abort(),
        Answer(question="confirm", answer="yes", by="casey"),
        Extend(minutes=10),
    ],
)
async def test_messages_reach_the_run(server: ControlSocket, desk: Desk, message: Abort | Answer | Extend) -> None:
    assert server.path is not None
    assert (await send(server.path, message)).ok
    assert desk.heard == [message]


async def test_what_the_run_refuses_is_said(server: ControlSocket) -> None:
    assert server.path is not None
    assert await send(server.path, Answer(question="other", answer="yes")) == Reply(
        ok=False, message="nothing is asked"
    )


@pytest.mark.parametrize(
    "line",
    [
        b"not json\n",
        b"[]\n",
        b'{"do":"format"}\n',
        b'{"do":"abort","choice":"explode"}\n',
        b'{"do":"answer"}\n',
        b'{"do":"extend","minutes":-1}\n',
        b'{"do":"extend","minutes":100000}\n',
        b"\xff\n",
    ],
)
async def test_what_is_no_message_is_answered_and_goes_no_further(
    server: ControlSocket, desk: Desk, line: bytes
) -> None:
    assert server.path is not None
    reply = Reply.model_validate_json(await raw(server.path, line))
    assert not reply.ok
    assert reply.message
    assert desk.heard == []


async def test_a_line_without_end_is_bounded(server: ControlSocket, desk: Desk) -> None:
    assert server.path is not None
    reply = Reply.model_validate_json(await raw(server.path, b"x" * (LINE_BYTES * 2)))
    assert "at most" in reply.message
    assert desk.heard == []


async def test_several_lines_get_a_reply_each(server: ControlSocket) -> None:
    assert server.path is not None
    assert len((await raw(server.path, b'{"do":"ping"}\n' * 3)).splitlines()) == 3


async def test_half_a_line_is_no_message(server: ControlSocket, desk: Desk) -> None:
    assert server.path is not None
    assert await raw(server.path, b'{"do":"abort"}') == b""
    assert desk.heard == []


async def test_another_user_is_not_heard(server: ControlSocket, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    assert server.path is not None
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000)
    with pytest.raises(StateError, match=r"without an answer|cannot be reached"):
        await send(server.path, Abort())
    assert desk.heard == []


async def test_only_this_user_can_reach_the_file(server: ControlSocket) -> None:
    assert server.path is not None
    assert server.path.stat().st_mode & 0o777 == 0o600
    assert server.path.parent.stat().st_mode & 0o777 == 0o700


async def test_a_socket_left_by_a_killed_process_is_replaced(desk: Desk, environment: dict[str, str]) -> None:
    first = ControlSocket(RUN, environment, desk.handle)
    await first.start()
    second = ControlSocket(RUN, environment, desk.handle)
    await second.start()
    assert (await send_to_run(RUN, Ping(), environment)).ok
    await second.close()
    await first.close()


async def test_after_the_run_nothing_is_left(desk: Desk, environment: dict[str, str]) -> None:
    server = ControlSocket(RUN, environment, desk.handle)
    await server.start()
    assert server.path is not None
    reader, writer = await asyncio.open_unix_connection(str(server.path))
    writer.write(b'{"do":"ping"}\n')
    assert await reader.readline()
    await server.close()  # a client that stays does not hold the run up
    assert not server.path.exists()
    assert await asyncio.wait_for(reader.read(), 5) == b""
    writer.close()
    with pytest.raises(StateError, match="no control socket"):
        await send_to_run(RUN, Ping(), environment)


async def test_a_run_that_does_not_answer_is_not_waited_for(tmp_path: Path) -> None:
    gone = asyncio.Event()

    async def silent(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await gone.wait()
        writer.close()

    async with await asyncio.start_unix_server(silent, str(tmp_path / "s.sock")) as server:
        with pytest.raises(StateError, match="does not answer"):
            await send(tmp_path / "s.sock", Ping(), timeout_s=0.05)
        gone.set()
        server.close()
        await asyncio.sleep(0)
