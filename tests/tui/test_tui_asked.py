"""A run started from the screen that is asked for a code at login: its question comes back to who follows it."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from console.remote.answers import Answers
from console.runs.control import Answer
from console.runs.directory import RunDirectory
from console.runs.log import read_log
from console.runs.socket import send_to_run
from console.schema.events import Event, QuestionAnswered, QuestionAsked
from console.tui.start import Started, launch
from tests.remote.sshd import Sshd, running


def hosts(sshd: Sshd) -> str:
    return f"""\
schema = 1
[hosts.gpu1]
address = "127.0.0.1"
port = {sshd.port}
user = "ops"
identity = "{sshd.folder / "id_ed25519"}"
known_hosts = "{sshd.folder / "known_hosts"}"
[hosts.gpu1.services.k26]
unit = "sglang-k26.service"
engine = "sglang"
url = "http://127.0.0.1:9"
"""


async def events_until(started: Started, base: Path, wanted: type[Event]) -> list[Event]:
    """All events, once there is one of that kind or the process has ended."""
    for _ in range(600):
        started.look()
        if started.run_id:
            events = list(read_log(RunDirectory(base / started.run_id).events_path).events)
            if started.exit_code is not None or any(isinstance(event, wanted) for event in events):
                return events
        assert started.exit_code is None or started.run_id, started.complaint()
        await asyncio.sleep(0.05)
    raise AssertionError("it is never said")


async def test_a_one_time_code_is_asked_for_through_the_runs_socket(tmp_path: Path, state_home: Path) -> None:
    environment = dict(os.environ)
    async with running(tmp_path / "host") as sshd:
        sshd.faults.asks = {"Password:": "open sesame", "Verification code:": "834127"}
        (tmp_path / "hosts.toml").write_text(hosts(sshd))
        answers = Answers(logins={("gpu1", "Password:"): "open sesame", ("gpu1", "Verification code:"): "used up"})
        words = ["--hosts", str(tmp_path / "hosts.toml"), "measure", "decode", "gpu1/k26", "--json"]
        started = launch(words, environment, answers)
        try:
            asked = await events_until(started, state_home, QuestionAsked)
            (question,) = [event for event in asked if isinstance(event, QuestionAsked)]
            assert "Verification code:" in question.text
            assert (question.question, question.unseen) == ("login", True)
            reply = await send_to_run(started.run_id, Answer(question="login", answer="834127", by="test"), environment)
            assert reply.ok
            said = await events_until(started, state_home, QuestionAnswered)
            assert not any("834127" in event.model_dump_json() for event in said)
            for _ in range(200):
                if sshd.answers:
                    break
                await asyncio.sleep(0.02)
            assert sshd.answers == [("open sesame", "834127")]
        finally:
            started.process.terminate()
            await asyncio.to_thread(started.process.wait)
            started.close()
