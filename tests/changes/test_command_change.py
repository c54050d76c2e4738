"""A command of the runbook's author: run once, its end as it was, undone by its own undo."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from console.changes import command, kinds
from console.errors import RefusedError, StepFailedError
from console.remote.scripts import Output
from console.schema.change import CommandChange
from tests.fakes import RUN, FakeRemote


def change(**more: Any) -> CommandChange:
    given: dict[str, Any] = {"id": "c1", "step": "run", "command": "touch '/run/a b'", "undo": "rm '/run/a b'"}
    return CommandChange(**(given | more))


def ran(remote: FakeRemote) -> tuple[str, str]:
    ((script, (encoded, sudo, _scope)),) = remote.told
    assert script == "act_command.sh"
    return base64.b64decode(encoded).decode(), sudo


async def test_what_it_did_cannot_be_seen() -> None:
    remote = FakeRemote()
    assert await kinds.look(change(), remote) == "unknown"
    assert remote.told == []


async def test_it_is_run_whole_under_the_lock() -> None:
    remote = FakeRemote(answers={"act_command.sh": Output(0, stdout=b"done\n")})
    made = await kinds.make(change(), remote, RUN)
    assert ran(remote) == ("touch '/run/a b'", "")
    assert remote.locks == [RUN]
    assert (made.after, made.message) == ({"exit_status": 0}, "done")


async def test_with_sudo() -> None:
    remote = FakeRemote()
    await kinds.make(change(sudo=True), remote, RUN)
    assert ran(remote)[1] == "yes"


async def test_an_exit_status_other_than_0_is_a_failure() -> None:
    remote = FakeRemote(answers={"act_command.sh": Output(3, stderr=b"no such disk\x1b[2J\n")})
    with pytest.raises(StepFailedError, match="exit status 3: no such disk") as caught:
        await kinds.make(change(), remote, RUN)
    assert "\x1b" not in caught.value.message


async def test_silence_is_told_as_its_exit_status() -> None:
    assert (await kinds.make(change(), FakeRemote(), RUN)).message == "exit status 0"


async def test_its_own_undo_undoes_it() -> None:
    remote = FakeRemote()
    await command.undo(change(), remote, RUN)
    assert ran(remote) == ("rm '/run/a b'", "")
    await kinds.make(change(), remote, RUN)
    (_, (*_, of_undo)), (_, (*_, of_command)) = remote.told
    assert of_undo != of_command, "what the command left in the background keeps its scope's name"


@pytest.mark.parametrize(("undo", "said"), [("", "has no undo"), ("curl -H 'X-Api-Key: ***'", "was masked")])
async def test_without_a_whole_undo_nothing_is_run(undo: str, said: str) -> None:
    remote = FakeRemote()
    with pytest.raises((StepFailedError, RefusedError), match=said) as caught:
        await command.undo(change(undo=undo), remote, RUN)
    assert remote.told == []
    assert caught.value.where == "node7/chat"
