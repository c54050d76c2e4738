"""A command of the runbook's author: a change, unless it promises to look only."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from pydantic import ValidationError

from console.remote.scripts import Output
from console.schema.change import CommandChange
from console.steps.base import Look
from console.steps.host_command import DEFAULT_TIMEOUT_S, HostCommand
from tests.fakes import SGLANG, FakeRemote, Told, effective, facts, step_io, target


def proposed(timeout_s: float | None = None, **fields: Any) -> list[Any]:
    step = HostCommand.model_validate(fields)
    return list(step.plan(Look(target(), facts(), SGLANG, effective(""), "run", "c1", timeout_s)))


def test_it_is_a_change_with_its_way_back() -> None:
    (change,) = proposed(command="touch /run/x", undo="rm /run/x", sudo=True)
    assert change == CommandChange(
        id="c1", step="run", command="touch /run/x", sudo=True, undo="rm /run/x", summary="touch /run/x"
    )
    assert change.timeout_s == DEFAULT_TIMEOUT_S


def test_the_steps_timeout_is_the_commands() -> None:
    assert proposed(5.0, command="true")[0].timeout_s == 5.0


def test_a_command_that_only_looks_is_no_change() -> None:
    assert proposed(command="uptime", mutates=False) == []


@pytest.mark.parametrize("command", ["", "a\x1b[2J", "a\x00b", "a\rb"])
def test_a_command_that_could_fool_a_terminal_or_a_shell_is_refused(command: str) -> None:
    with pytest.raises(ValidationError):
        HostCommand(command=command)


def test_a_command_may_have_lines() -> None:
    assert HostCommand(command="a &&\n\tb").title(target()) == HostCommand(command="a &&\n\tb").title(target())
    assert "\n" not in HostCommand(command="a &&\n\tb").title(target())


def test_the_title_says_sudo_and_stays_one_line() -> None:
    assert HostCommand(command="true", sudo=True).title(target()) == "sudo true"
    assert len(HostCommand(command="x" * 500).title(target())) <= 60


async def run(answer: Output, **fields: Any) -> tuple[FakeRemote, str, str]:
    remote = FakeRemote(answers={"look_command.sh": answer})
    step = HostCommand.model_validate({"command": "uptime", "mutates": False} | fields)
    result = await step.run(step_io(remote, "host.command", Told()))
    return remote, result.outcome, result.message


async def test_looking_sends_the_command_whole() -> None:
    remote, outcome, message = await run(Output(0, {"stdout": b"up 3 days\n", "status": b"0\n"}), command="a 'b' \"c\"")
    ((script, (encoded, sudo)),) = remote.told
    assert (script, base64.b64decode(encoded), sudo) == ("look_command.sh", b"a 'b' \"c\"", "")
    assert (outcome, message) == ("ok", "up 3 days")


async def test_sudo_is_asked_for_only_when_said() -> None:
    remote, _, _ = await run(Output(0, {"status": b"0"}), sudo=True)
    assert remote.told[0][1][1] == "sudo"


async def test_an_exit_status_other_than_0_fails() -> None:
    _, outcome, message = await run(Output(3, {"stdout": b"", "status": b"3\n", "stderr": b"no such disk"}))
    assert (outcome, message) == ("failed", "exit status 3: no such disk")


async def test_a_script_that_ended_before_the_command_fails() -> None:
    _, outcome, message = await run(Output(1, {}))
    assert (outcome, message) == ("failed", "exit status 1: ")


async def test_hostile_output_is_one_harmless_line() -> None:
    _, _, message = await run(Output(0, {"stdout": b"a\x1b[2J\nb\xff" + b"x" * 9000, "status": b"0"}))
    assert "\x1b" not in message
    assert "\n" not in message
    assert len(message) <= 200


async def test_without_output_the_status_is_what_it_says() -> None:
    _, outcome, message = await run(Output(0, {"stdout": b"", "status": b"0"}))
    assert (outcome, message) == ("ok", "exit status 0")
