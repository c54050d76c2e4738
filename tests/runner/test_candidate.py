"""systemd looks at the edited unit before it is written; what it said before the edit is no news."""

from __future__ import annotations

import base64

import pytest

from console.errors import RefusedError
from console.remote.scripts import Output
from console.runner.candidate import check
from console.schema.change import FileChange
from console.schema.facts import Facts
from console.schema.plan import Plan
from console.schema.splice import Splice
from tests.fakes import DROPIN, FRAGMENT, RUN, UNIT, FakeRemote, facts, plan

FOLDER = "/var/lib/console/chat.service/R1"
OLD_COMPLAINT = f"{FOLDER}/verify/chat.service:5: Unknown key name 'Foo' in section 'Service', ignoring."
NEW_COMPLAINT = "chat.service: Command /opt/engine/bin/pythom is not executable: No such file or directory"


def edit(path: str = FRAGMENT, text: str = UNIT, word: bytes = b"32768", new: bytes = b"200000") -> FileChange:
    splice = Splice(start=text.encode().index(word), old=word, new=new)
    return FileChange(
        id="c1",
        step="set",
        path=path,
        real_path=path,
        splices=(splice,),
        sha256_before="",
        sha256_after="",
        mode=0o644,
        uid=0,
        gid=0,
    )


def complains(*lines: str) -> Output:
    return Output(0, {"warnings": "\n".join(lines).encode()})


async def checked(*answers: Output, made: Plan | None = None, seen: Facts | None = None) -> FakeRemote:
    remote = FakeRemote(answers={"act_verify.sh": [*answers]})
    await check(made or plan(changes=(edit(),)), seen or facts(), remote, FOLDER, RUN)
    return remote


def looked_at(remote: FakeRemote, time: int) -> dict[str, bytes]:
    script, args = remote.told[time]
    assert (script, args[:2]) == ("act_verify.sh", (FOLDER, "chat.service"))
    words = args[2:]
    return {name: base64.b64decode(content) for name, content in zip(words[::2], words[1::2], strict=True)}


async def test_a_unit_without_a_complaint_is_asked_about_once() -> None:
    remote = await checked(complains())
    assert looked_at(remote, 0) == {"chat.service": UNIT.replace("32768", "200000").encode()}
    assert remote.locks == [RUN]
    assert len(remote.told) == 1


async def test_without_an_edit_nothing_is_asked() -> None:
    assert (await checked(made=plan())).told == []


async def test_what_was_wrong_before_is_no_news() -> None:
    remote = await checked(complains(OLD_COMPLAINT), complains(OLD_COMPLAINT))
    assert looked_at(remote, 1) == {"chat.service": UNIT.encode()}


async def test_a_line_that_only_moved_is_no_news() -> None:
    await checked(complains(OLD_COMPLAINT.replace(":5:", ":6:")), complains(OLD_COMPLAINT))


async def test_a_new_complaint_is_refused_before_anything_is_written() -> None:
    with pytest.raises(RefusedError) as caught:
        await checked(complains(OLD_COMPLAINT, NEW_COMPLAINT), complains(OLD_COMPLAINT))
    assert "pythom is not executable" in caught.value.message
    assert "Foo" not in caught.value.message
    assert caught.value.message.endswith("nothing was written")


async def test_complaints_of_other_units_are_not_ours() -> None:
    remote = await checked(complains("other.service:3: Missing '='."))
    assert len(remote.told) == 1


async def test_every_file_of_the_unit_is_looked_at_and_none_of_its_environment() -> None:
    dropin = "[Service]\nExecStart=\nExecStart=/opt/x --context-length 32768\n"
    seen = facts(dropins={DROPIN: dropin}, environment_files={"/etc/default/chat": "KEY=1\n"})
    remote = await checked(complains(), made=plan(changes=(edit(DROPIN, dropin),)), seen=seen)
    assert looked_at(remote, 0) == {
        "chat.service": UNIT.encode(),
        "chat.service.d/10-window.conf": dropin.replace("32768", "200000").encode(),
    }


async def test_two_edits_of_one_file_one_after_the_other() -> None:
    later = edit(text=UNIT.replace("32768", "200000"), word=b"0.85", new=b"0.92")
    remote = await checked(complains(), made=plan(changes=(edit(), later)))
    assert looked_at(remote, 0) == {"chat.service": UNIT.replace("32768", "200000").replace("0.85", "0.92").encode()}
