"""Captured output of look_facts.sh and the facts it must become: tests/cases/facts/NAME/{stdout.txt,expected.json}.

`expected.json` names what it cares about; `secrets` are values that must be masked afterwards.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from console.clock import SystemClock
from console.engines.base import LogLine, Reply, Request
from console.engines.registry import engine_named
from console.facts.collect import collect, recent_requests
from console.facts.journal import JournalLine
from console.remote.scripts import Output, cut
from console.remote.session import Reader
from console.schema.facts import Facts
from console.schema.hosts import Host, Service, Target
from console.secrets import Redactor

CASES = Path(__file__).parents[1] / "cases" / "facts"
TARGET = Target(
    host_name="gpu1",
    service_name="k26",
    host=Host(),
    service=Service(unit="sglang-k26.service", engine="sglang", url="http://127.0.0.1:30000"),
)


class Captured(Reader):
    """A reader that has seen one output, and an engine that gives these replies."""

    def __init__(self, stdout: bytes, replies: dict[str, Reply] | None = None) -> None:
        self.target = TARGET
        self.redactor = Redactor()
        self.clock = SystemClock()
        self.sections = cut(stdout, "MARK")
        self.replies = replies or {}
        self.asked: list[str] = []

    async def look(self, script: str, *args: str, **_: Any) -> Output:
        return Output(0, self.sections)

    def use_sudo(self, state: str) -> bool:
        return False

    async def fetch(self, request: Request, *, patience_s: float = 0.0) -> Reply:
        self.asked.append(request.path)
        return self.replies.get(request.path, Reply(404))


async def facts_of(name: str, replies: dict[str, Reply] | None = None) -> tuple[Facts, Captured]:
    reader = Captured((CASES / name / "stdout.txt").read_bytes(), replies)
    return await collect(reader, engine_named("sglang")), reader


def subset(seen: Any, expected: Any) -> Any:
    """`seen`, cut to what `expected` names."""
    if isinstance(expected, dict):
        return {key: subset(seen[key], value) for key, value in expected.items()}
    if isinstance(expected, list):
        pairs = zip(seen, [*expected, *([None] * len(seen))], strict=False)
        return [subset(item, value) if isinstance(value, dict) else item for item, value in pairs]
    return seen


@pytest.mark.parametrize("name", sorted(path.name for path in CASES.iterdir()))
async def test_the_facts_are_as_expected(name: str) -> None:
    expected = json.loads((CASES / name / "expected.json").read_text())
    secrets = expected.pop("secrets")
    facts, reader = await facts_of(name)
    assert subset(facts.model_dump(mode="json"), expected) == expected
    for secret in secrets:
        assert reader.redactor.text(f"<{secret}>") == "<***>"


async def test_content_is_never_serialised() -> None:
    facts, _ = await facts_of("serving")
    assert b"ExecStart=" in facts.files[0].content
    assert "ExecStart" not in json.dumps([file.model_dump(mode="json") for file in facts.files])
    assert "made-up-token" not in repr(facts.files)


async def test_what_is_down_is_not_asked() -> None:
    for name in ("bare", "sick"):
        facts, reader = await facts_of(name)
        assert reader.asked == []
        assert facts.serving is None
        assert facts.serving_reason


async def test_an_engine_is_asked_what_it_serves_and_its_secrets_are_learned() -> None:
    info = {
        "context_length": 32768,
        "max_total_num_tokens": 101134,
        "version": "0.5.10",
        "admin_api_key": "made-up-admin",
    }
    replies = {
        "/v1/models": Reply(200, b'{"data": [{"id": "k26", "max_model_len": 32768}]}'),
        "/server_info": Reply(200, json.dumps(info).encode()),
    }
    facts, reader = await facts_of("serving", replies)
    assert facts.serving is not None
    assert (facts.serving.context_length, facts.serving.pool_tokens) == (32768, 101134)
    assert "/get_server_info" not in reader.asked
    assert reader.redactor.text("made-up-admin") == "***"


async def test_an_engine_that_does_not_answer_is_asked_once() -> None:
    silent = {path: Reply(0, error="no answer within 10 s") for path in ("/v1/models", "/server_info")}
    facts, reader = await facts_of("serving", silent)
    assert facts.serving is None
    assert facts.serving_reason == "no answer within 10 s"
    assert reader.asked == ["/v1/models"]


async def test_a_refused_key_is_a_reason() -> None:
    refused = {path: Reply(401) for path in ("/v1/models", "/server_info", "/get_server_info", "/v1/loads")}
    facts, _ = await facts_of("serving", refused)
    assert facts.serving is not None
    assert facts.serving.refused
    assert "refused our key" in facts.serving_reason


def access(at: float, method: str = "POST") -> JournalLine:
    return JournalLine("", at, "inv", f"s={at}", LogLine("access", "", {"method": method}))


def test_requests_of_the_last_minute_are_counted_but_not_the_warm_up() -> None:
    ready = JournalLine("", 100.0, "inv", "s=100", LogLine("ready", ""))
    now = "1970-01-01T00:05:00.000Z"
    head = [access(99.0), ready, access(150.0), access(250.0)]
    assert recent_requests(head, [access(250.0), access(299.0), access(299.5, "GET")], now) == 2
    assert recent_requests(head, [], now, speed=20.0) == 0
    assert recent_requests([access(290.0), access(295.0), JournalLine("", 296.0, "inv", "s")], [], now) == 2
    assert recent_requests([ready], [], now) is None
