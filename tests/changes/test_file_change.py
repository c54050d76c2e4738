"""Replacing bytes of a file: made, looked for and undone from the change alone, and never over somebody's edit."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from console.changes import file, kinds
from console.errors import ConsoleError, ForeignEditError, RefusedError, StalePlanError, StepFailedError
from console.remote.scripts import Output
from console.schema.change import FileChange
from console.schema.splice import Splice
from tests.fakes import FRAGMENT, RUN, UNIT, FakeRemote, sha256

BEFORE = UNIT.encode()
AFTER = BEFORE.replace(b"32768", b"200000").replace(b"--port", b"--enable-metrics --port")
SPLICES = (
    Splice(start=BEFORE.index(b"32768"), old=b"32768", new=b"200000"),
    Splice(start=BEFORE.index(b"--port"), old=b"", new=b"--enable-metrics "),
)
FOREIGN = BEFORE + b"# somebody was here\n"


def change(**more: Any) -> FileChange:
    given: dict[str, Any] = {
        "id": "c1",
        "step": "set",
        "path": FRAGMENT,
        "real_path": FRAGMENT,
        "sha256_before": sha256(BEFORE),
        "sha256_after": sha256(AFTER),
        "splices": SPLICES,
        "mode": 0o644,
        "uid": 0,
        "gid": 0,
        "summary": "context_length 32768 -> 200000",
    }
    return FileChange(**(given | more))


def host(content: bytes | None = BEFORE, *, replacing: Output | None = None) -> FakeRemote:
    files = {} if content is None else {FRAGMENT: content}
    return FakeRemote(files, answers={} if replacing is None else {"act_replace.sh": replacing})


@pytest.mark.parametrize(
    ("content", "said"), [(BEFORE, "before"), (AFTER, "after"), (FOREIGN, "foreign"), (None, "foreign")]
)
async def test_looking_tells_before_after_and_somebody_elses(content: bytes | None, said: str) -> None:
    assert await kinds.look(change(), host(content)) == said


async def test_made_and_undone_the_bytes_are_what_they_were() -> None:
    remote = host()
    made = await kinds.make(change(), remote, RUN)
    assert remote.files[FRAGMENT] == AFTER
    assert (made.before, made.after, made.already) == ({"sha256": sha256(BEFORE)}, {"sha256": sha256(AFTER)}, False)
    assert made.message == "context_length 32768 -> 200000"
    back = await kinds.make(file.inverted(change()), remote, RUN)
    assert remote.files[FRAGMENT] == BEFORE
    assert (back.before, back.after) == ({"sha256": sha256(AFTER)}, {"sha256": sha256(BEFORE)})
    assert back.message.startswith("put back: ")


async def test_content_that_is_known_is_not_read_again() -> None:
    remote = host()
    remote.contents = {sha256(BEFORE): BEFORE}
    made = await kinds.make(change(), remote, RUN)
    assert remote.files[FRAGMENT] == AFTER
    assert [script for script, _ in remote.told] == ["act_replace.sh"]
    assert (made.before, made.after, made.already) == ({"sha256": sha256(BEFORE)}, {"sha256": sha256(AFTER)}, False)


async def test_where_the_known_content_is_not_there_any_more_nothing_is_written() -> None:
    for there, already in ((FOREIGN, False), (AFTER, True), (None, False)):
        remote = host(there)
        remote.contents = {sha256(BEFORE): BEFORE}
        if already:
            assert (await kinds.make(change(), remote, RUN)).already
        else:
            with pytest.raises(ForeignEditError, match="edited by somebody else meanwhile"):
                await kinds.make(change(), remote, RUN)
        assert remote.files == ({} if there is None else {FRAGMENT: there})


async def test_it_is_written_in_the_name_of_the_run_that_holds_the_lock() -> None:
    remote = host()
    await kinds.make(change(), remote, RUN)
    ((script, args),) = [each for each in remote.told if each[0].startswith("act_")]
    assert (script, remote.locks) == ("act_replace.sh", [RUN])
    assert args[:3] == (FRAGMENT, sha256(BEFORE), sha256(AFTER))
    assert base64.b64decode(args[3]) == AFTER
    assert args[4] == RUN


async def test_the_target_of_a_link_is_what_is_written() -> None:
    remote = FakeRemote({"/srv/chat.service": BEFORE})
    await kinds.make(change(real_path="/srv/chat.service"), remote, RUN)
    assert remote.files == {"/srv/chat.service": AFTER}


async def test_what_is_so_already_is_not_written_again() -> None:
    remote = host(AFTER)
    made = await kinds.make(change(), remote, RUN)
    assert made.already
    assert remote.scripts() == ["look_files.sh"]
    back = await kinds.make(file.inverted(change()), host(BEFORE), RUN)
    assert back.already


@pytest.mark.parametrize("content", [FOREIGN, None], ids=["edited", "gone"])
async def test_somebody_elses_edit_is_left_alone(content: bytes | None) -> None:
    for way in (change(), file.inverted(change())):
        remote = host(content)
        with pytest.raises(ForeignEditError) as caught:
            await kinds.make(way, remote, RUN)
        assert caught.value.exit_code == 8
        assert remote.scripts() == ["look_files.sh"]
        assert remote.files.get(FRAGMENT) == content


async def test_an_edit_in_the_last_moment_is_left_alone() -> None:
    """The script compares the digest once more; it changed between our look and its own."""
    remote = host(replacing=Output(file.DIGEST_DIFFERS, stderr=b"it is something else"))
    with pytest.raises(ForeignEditError, match="edited while we wrote"):
        await kinds.make(change(), remote, RUN)


@pytest.mark.parametrize(
    ("status", "kind"), [(file.NO_ROOM, RefusedError), (1, StepFailedError), (255, StepFailedError)]
)
async def test_what_the_script_says_is_what_the_error_says(status: int, kind: type[ConsoleError]) -> None:
    remote = host(replacing=Output(status, stderr=b"mv: cannot move\x1b[2J\n"))
    with pytest.raises(kind, match="was not written: mv: cannot move") as caught:
        await kinds.make(change(), remote, RUN)
    assert type(caught.value) is kind
    assert caught.value.where == "node7/chat"
    assert "\x1b" not in caught.value.message
    assert remote.files[FRAGMENT] == BEFORE


async def test_splices_that_do_not_lead_to_the_digest_write_nothing() -> None:
    remote = host()
    with pytest.raises(StalePlanError, match="would not become what the plan says"):
        await kinds.make(change(splices=SPLICES[:1]), remote, RUN)
    assert remote.scripts() == ["look_files.sh"]


def test_the_way_back_of_the_way_back_is_the_change() -> None:
    once = file.inverted(change())
    twice = file.inverted(once)
    assert twice.model_copy(update={"summary": change().summary}) == change()


DROP_IN = "/etc/systemd/system/chat.service.d/50-console.conf"


def making(**more: Any) -> FileChange:
    whole = (Splice(start=0, old=b"", new=AFTER),)
    given = {"path": DROP_IN, "real_path": DROP_IN, "sha256_before": "absent", "splices": whole, "folder": True}
    return change(**(given | more))


@pytest.mark.parametrize(("content", "said"), [(None, "before"), (AFTER, "after"), (BEFORE, "foreign")])
async def test_a_file_to_be_made_is_looked_for(content: bytes | None, said: str) -> None:
    remote = FakeRemote({} if content is None else {DROP_IN: content})
    assert await kinds.look(making(), remote) == said
    opposite = {"before": "after", "after": "before"}
    assert await kinds.look(file.inverted(making()), remote) == opposite.get(said, said)


async def test_a_file_is_made_and_taken_away() -> None:
    remote = FakeRemote()
    made = await kinds.make(making(), remote, RUN)
    assert remote.files == {DROP_IN: AFTER}
    assert (made.before, made.after) == ({"sha256": "absent"}, {"sha256": sha256(AFTER)})
    assert (await kinds.make(making(), remote, RUN)).already
    back = await kinds.make(file.inverted(making()), remote, RUN)
    assert remote.files == {}
    assert back.after == {"sha256": "absent"}
    assert [args[-2:] for script, args in remote.told if script == "act_replace.sh"] == [("folder", "0644")] * 2


async def test_a_file_that_somebody_made_meanwhile_stays() -> None:
    for way in (making(), file.inverted(making())):
        remote = FakeRemote({DROP_IN: BEFORE})
        with pytest.raises(ForeignEditError, match="edited by somebody else meanwhile"):
            await kinds.make(way, remote, RUN)
        assert remote.files == {DROP_IN: BEFORE}


async def test_one_that_cannot_be_read_is_neither_there_nor_absent() -> None:
    section = f"kind=dropin\npath={DROP_IN}\nreal={DROP_IN}\nstat=600 0 0 9 regular file\nerror=not readable\n"
    remote = FakeRemote(answers={"look_files.sh": Output(0, {"file.1": section.encode()})})
    assert await kinds.look(making(), remote) == "foreign"
