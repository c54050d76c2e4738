"""A webhook hears who changes what, and a run does not care whether it does."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from console.runner.notify import Notifier, body
from console.runs.state import RunState
from console.schema.events import AbortRequested, ChangeIntended, Event, GuardChanged, RunFinished, RunStarted
from console.schema.hosts import Notify
from console.secrets import Redactor
from tests.runner.job import FILE

STARTED = RunStarted(
    run="01K2EXAMPLE0000000000000ZZ",
    runbook="extend-context",
    operator="kim",
    from_host="desk",
    reason="longer prompts",
    targets=("n1/chat",),
)
CHANGE = ChangeIntended(target="n1/chat", change=FILE, step="set", kind="file")
ENDED = RunFinished(exit_code=0, outcomes={"n1/chat": "verified"})


class Hook:
    """A server that keeps what is posted to it."""

    def __init__(self, status: int = 200) -> None:
        self.status = status
        self.heard: list[dict[str, Any]] = []

    async def __aenter__(self) -> Hook:
        self.server = await asyncio.start_server(self._client, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}/hook"
        return self

    async def __aexit__(self, *_error: object) -> None:
        self.server.close()
        await self.server.wait_closed()

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.partition("content-length:")[2].split()[0])
        self.heard.append(json.loads(await reader.readexactly(length)))
        writer.write(f"HTTP/1.1 {self.status} x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
        await writer.drain()
        writer.close()


async def told(url: str, *events: Event, **wanted: Any) -> list[str]:
    """What is said at the run's end."""
    state, notes = RunState(), list[str]()
    notifier = Notifier(Notify(webhook_env="HOOK", **wanted), {"HOOK": url}, state, Redactor())
    for event in events:
        state.apply(event)
        notifier.hear(event)
    await notifier.aclose(notes.append)
    return notes


async def test_each_moment_is_told_once_with_the_way_to_take_over() -> None:
    async with Hook() as hook:
        abort, guard = AbortRequested(how="SIGINT"), GuardChanged(target="n1/chat", state="fired")
        assert await told(hook.url, STARTED, CHANGE, CHANGE, abort, guard, ENDED) == []
    assert sorted(message["event"] for message in hook.heard) == ["aborted", "finished", "guard", "started"]
    first = next(message for message in hook.heard if message["event"] == "started")
    assert first["takeover"] == "console takeover 01K2EXAMPLE0000000000000ZZ"
    assert (first["operator"], first["reason"], first["targets"]) == ("kim", "longer prompts", ["n1/chat"])


async def test_a_run_that_changes_nothing_tells_nobody() -> None:
    async with Hook() as hook:
        assert await told(hook.url, STARTED, ENDED) == []
    assert hook.heard == []


async def test_only_what_is_wanted_is_told() -> None:
    async with Hook() as hook:
        await told(hook.url, STARTED, CHANGE, RunFinished(exit_code=5), on=["failed"])
    assert [(message["event"], message["exit_code"]) for message in hook.heard] == [("failed", 5)]


async def test_a_webhook_that_fails_is_said_and_fails_nothing() -> None:
    async with Hook(500) as hook:
        assert await told(hook.url, STARTED, CHANGE) == ["the webhook of [notify] was not told: HTTP 500 (1×)"]
    assert "was not told: ConnectError" in (await told(hook.url, STARTED, CHANGE))[0]


def test_slack_shows_one_text() -> None:
    state = RunState()
    state.apply(STARTED)
    assert body("started", state, "slack") == {
        "text": "console: extend-context started by kim from desk (longer prompts): n1/chat\n"
        "to take over: console takeover 01K2EXAMPLE0000000000000ZZ"
    }
