"""The event log: numbered, masked, on disk before anybody is told, readable after any crash."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.clock import SystemClock
from console.errors import StateError
from console.runs.directory import RunDirectory
from console.runs.log import DURABLE_KINDS, KILL_AFTER, EventLog, follow, read_events, read_log
from console.schema.events import (
    EVENT_TYPES,
    Event,
    FactsRead,
    LogLine,
    RunFinished,
    StepFinished,
    StepProgress,
    TargetStarted,
)
from console.secrets import Redactor
from tests.runs import stories
from tests.runs.stories import RUN, Story


@pytest.fixture
def log(tmp_path: Path) -> Iterator[EventLog]:
    log = open_log(tmp_path)
    yield log
    log.close()


def open_log(folder: Path, redactor: Redactor | None = None) -> EventLog:
    ticks = count(1)
    return EventLog(
        folder / "events.jsonl",
        RUN,
        now=lambda: f"2026-03-04T05:06:{next(ticks):02d}.000Z",
        redactor=redactor or Redactor(),
    )


def test_events_are_numbered_stamped_and_named(log: EventLog) -> None:
    log.append(TargetStarted(target="gpu7/llm", unit="x.service"))
    written = log.append(StepProgress(target="gpu7/llm", step="wait"))
    assert (written.seq, written.ts, written.run) == (2, "2026-03-04T05:06:02.000Z", RUN)
    lines = [json.loads(line) for line in log.path.read_text().splitlines()]
    assert lines[0] == {
        "v": 1, "seq": 1, "ts": "2026-03-04T05:06:01.000Z", "run": RUN, "target": "gpu7/llm", "type": "target.started",
        "unit": "x.service", "engine": "", "router": "",
    }  # fmt: skip


@pytest.mark.parametrize("name", stories.ALL)
def test_what_is_written_is_read_back(tmp_path: Path, name: str) -> None:
    log = open_log(tmp_path)
    written = [log.append(event) for event in stories.ALL[name]().events]
    log.close()
    assert read_events(log.path) == written


def test_nobody_is_told_before_it_is_on_disk(log: EventLog) -> None:
    seen: list[tuple[Event, bool]] = []
    log.subscribe(lambda event: seen.append((event, f'"seq":{event.seq}' in log.path.read_text())))
    log.append(TargetStarted(target="gpu7/llm"))
    assert [on_disk for _, on_disk in seen] == [True]


def test_a_subscriber_can_leave(log: EventLog) -> None:
    seen: list[Event] = []
    leave = log.subscribe(seen.append)
    log.append(TargetStarted(target="gpu7/llm"))
    leave()
    leave()
    log.append(TargetStarted(target="gpu7/llm"))
    assert len(seen) == 1


def test_a_disk_that_refuses_is_an_error_and_nobody_is_told(log: EventLog, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Event] = []
    log.subscribe(seen.append)

    def full(_descriptor: int, _data: bytes) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(StateError, match="No space left"):
            log.append(TargetStarted(target="gpu7/llm"))
    assert seen == []
    assert log.append(TargetStarted(target="gpu7/llm")).seq == 1
    assert [event.seq for event in read_events(log.path)] == [1]


@pytest.mark.parametrize(
    ("event", "durable"),
    [
        (StepFinished(step="s", uses="unit.set", outcome="failed"), True),
        (StepFinished(step="s", uses="unit.set", outcome="ok"), False),
        (Story().intend(stories.RESTART).events[0], True),
        (RunFinished(exit_code=0), True),
        (StepProgress(step="s"), False),
        (LogLine(text="x"), False),
    ],
)
def test_what_must_survive_is_synced(
    log: EventLog, monkeypatch: pytest.MonkeyPatch, event: Event, durable: bool
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    log.append(event)
    assert bool(synced) is durable


def test_every_durable_kind_exists() -> None:
    assert EVENT_TYPES.keys() >= DURABLE_KINDS
    assert {name for name in EVENT_TYPES if name.startswith(("change.", "record.", "undo."))} <= DURABLE_KINDS


def test_secrets_reach_neither_the_disk_nor_the_subscribers(tmp_path: Path) -> None:
    redactor = Redactor()
    redactor.learn("canary-by-value")
    log = open_log(tmp_path, redactor)
    seen: list[Event] = []
    log.subscribe(seen.append)
    log.append(
        FactsRead(
            when="plan",
            facts={
                "argv": ["engine", "--api-key", "canary-1"],
                "environment": {"HF_TOKEN": "canary-2"},
                "n": ["canary-by-value"],
            },
        )
    )
    log.append(LogLine(text="server_args=ServerArgs(api_key='canary-3', port=1)"))
    log.close()
    assert b"canary" not in log.path.read_bytes()
    assert "canary" not in repr(seen)
    assert "port=1" in repr(seen)


def test_text_of_a_host_stays_one_line_whatever_it_holds(log: EventLog) -> None:
    text = 'a\nb\r\x1b[2J\u2028"\\ \ud800 ü'
    assert log.append(LogLine(text=text)).seq == 1
    log.append(LogLine(text="next"))
    assert [event.seq for event in read_events(log.path)] == [1, 2]


class TestReading:
    def test_a_torn_last_line_is_ignored(self, log: EventLog) -> None:
        log.append(TargetStarted(target="gpu7/llm"))
        with log.path.open("ab") as file:
            file.write(b'{"v":1,"seq":2,"type":"change.ma')
        read = read_log(log.path)
        assert (len(read.events), read.torn, read.garbage) == (1, True, 0)

    def test_a_last_line_that_only_lacks_its_end_is_torn_too(self, log: EventLog) -> None:
        log.append(TargetStarted(target="gpu7/llm"))
        log.append(TargetStarted(target="gpu7/llm"))
        data = log.path.read_bytes()
        log.path.write_bytes(data[:-1])
        assert len(read_events(log.path)) == 1

    def test_a_new_owner_goes_on_after_a_torn_line(self, log: EventLog, tmp_path: Path) -> None:
        log.append(TargetStarted(target="gpu7/llm"))
        with log.path.open("ab") as file:
            file.write(b'{"v":1,"seq":2,"type":"change.ma')
        other = open_log(tmp_path)
        assert other.append(RunFinished(exit_code=9)).seq == 2
        other.close()
        read = read_log(log.path)
        assert [event.seq for event in read.events] == [1, 2]
        assert (read.torn, read.garbage) == (False, 1)

    def test_unknown_types_and_fields_of_a_newer_version_are_passed_over(self, log: EventLog) -> None:
        log.append(TargetStarted(target="gpu7/llm"))
        with log.path.open("a") as file:
            file.write('{"v":2,"seq":2,"type":"moon.phase","x":1}\n')
            file.write('{"v":2,"seq":3,"type":"target.started","unit":"y.service","colour":"red"}\n')
        read = read_log(log.path)
        assert [event.seq for event in read.events] == [1, 3]
        assert (read.unknown, read.garbage) == (1, 0)

    @pytest.mark.parametrize(
        "garbage",
        [
            b"\n",
            b"not json\n",
            b"[1,2]\n",
            b"null\n",
            b"\xff\xfe\n",
            b"\0\0\0\0\n",
            b'{"seq":1}\n',
            b"[" * 100_000 + b"\n",
        ],
    )
    def test_garbage_never_raises(self, log: EventLog, garbage: bytes) -> None:
        log.append(TargetStarted(target="gpu7/llm"))
        with log.path.open("ab") as file:
            file.write(garbage)
        log.append(TargetStarted(target="gpu7/llm"))
        assert [event.seq for event in read_events(log.path)] == [1, 2]

    def test_an_event_with_a_damaged_field_is_not_half_read(self, log: EventLog) -> None:
        with log.path.open("a") as file:
            file.write('{"v":1,"seq":"seven","type":"target.started"}\n')
        assert read_events(log.path) == []

    def test_types_can_be_passed_over(self, log: EventLog) -> None:
        log.append(LogLine(text='"type":"run.finished"'))
        log.append(StepProgress(step="s", message='"type":"log.line"'))
        log.append(RunFinished(exit_code=0))
        kinds = [event.type for event in read_log(log.path, without=("log.line",)).events]
        assert kinds == ["step.progress", "run.finished"]

    def test_a_missing_file_is_an_error(self, tmp_path: Path) -> None:
        with pytest.raises(StateError, match="cannot read"):
            read_log(tmp_path / "none.jsonl")

    @given(data=st.binary(max_size=300))
    def test_any_bytes_can_be_read(self, tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
        path = tmp_path_factory.mktemp("log") / "events.jsonl"
        path.write_bytes(data)
        read_log(path)


WRITER = """
import os, sys
from pathlib import Path
from console.runs.directory import RunDirectory
from console.runs.log import kill_after
from console.schema.events import StepProgress
from console.secrets import Redactor
directory = RunDirectory.create(Path(sys.argv[1]), sys.argv[2])
log = directory.log(now=lambda: "t", redactor=Redactor(), kill_after=kill_after(os.environ))
for number in range(int(sys.argv[3])):
    log.append(StepProgress(step="s", done=number))
print("not killed")
"""


@pytest.mark.parametrize("k", [1, 3, 10])
def test_hook_kills_the_process_right_after_event_k(tmp_path: Path, k: int) -> None:
    environment = {**os.environ, KILL_AFTER: str(k)}
    run = subprocess.run([sys.executable, "-c", WRITER, str(tmp_path), RUN, "10"], env=environment, capture_output=True)
    assert run.returncode == -signal.SIGKILL, run.stderr
    directory = RunDirectory.open(tmp_path / RUN)
    assert [event.seq for event in read_events(directory.events_path)] == list(range(1, k + 1))
    assert not directory.alive()


def test_without_the_hook_it_lives(tmp_path: Path) -> None:
    run = subprocess.run([sys.executable, "-c", WRITER, str(tmp_path), RUN, "3"], capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (0, "not killed\n")


class TestFollow:
    async def collect(self, path: Path, *, after: int = 0, alive: bool = True) -> list[int]:
        found = follow(path, lambda: alive, SystemClock(), poll_s=0.005, after=after)
        return [event.seq async for event in found]

    async def test_events_come_as_they_are_written_until_the_run_is_finished(self, tmp_path: Path) -> None:
        following = asyncio.create_task(self.collect(tmp_path / "events.jsonl"))
        await asyncio.sleep(0.02)  # the file is not there yet
        log = open_log(tmp_path)
        for number in range(5):
            log.append(StepProgress(step="s", done=number))
            await asyncio.sleep(0)
        log.append(RunFinished(exit_code=0))
        log.close()
        assert await asyncio.wait_for(following, 5) == [1, 2, 3, 4, 5, 6]

    async def test_half_a_line_is_waited_for(self, tmp_path: Path) -> None:
        path = tmp_path / "events.jsonl"
        line = b'{"v":1,"seq":1,"type":"run.finished","exit_code":0}\n'
        path.write_bytes(line[:20])
        following = asyncio.create_task(self.collect(path))
        await asyncio.sleep(0.02)
        assert not following.done()
        with path.open("ab") as file:
            file.write(line[20:])
        assert await asyncio.wait_for(following, 5) == [1]

    async def test_it_ends_when_the_owner_is_gone(self, log: EventLog) -> None:
        log.append(StepProgress(step="s"))
        log.append(StepProgress(step="s"))
        assert await asyncio.wait_for(self.collect(log.path, alive=False), 5) == [1, 2]

    async def test_it_can_begin_after_what_was_seen(self, log: EventLog) -> None:
        for _ in range(4):
            log.append(StepProgress(step="s"))
        assert await asyncio.wait_for(self.collect(log.path, alive=False, after=3), 5) == [4]

    async def test_of_a_real_process_killed_while_writing(self, tmp_path: Path) -> None:
        environment = {**os.environ, KILL_AFTER: "200"}
        writer = await asyncio.create_subprocess_exec(
            sys.executable, "-c", WRITER, str(tmp_path), RUN, "1000", env=environment, stdout=asyncio.subprocess.DEVNULL
        )
        directory = RunDirectory(tmp_path / RUN)
        async with asyncio.timeout(30):
            while not directory.alive() and writer.returncode is None:  # noqa: ASYNC110 - another process sets it
                await asyncio.sleep(0.005)
        seen = [e.seq async for e in follow(directory.events_path, directory.alive, SystemClock(), poll_s=0.005)]
        await writer.wait()
        assert seen == list(range(1, 201))
