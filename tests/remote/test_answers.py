"""What hosts ask at login: answered once, given again, forgotten where it was refused, handed on through a pipe."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from console.clock import SystemClock
from console.errors import AuthenticationError, UsageError
from console.remote.answers import Answers, answers_for, good_once, read_pipe
from console.remote.login import Prompter
from console.remote.session import connect_reader
from console.remote.ssh import Connections
from console.schema.hosts import Target
from console.secrets import Redactor
from tests.remote.sshd import Sshd, running

ASKS = {"Password:": "open sesame", "Verification code:": "123456"}


class Person:
    """Says what it was told to, and remembers what it was asked."""

    def __init__(self, **words: str) -> None:
        self.words = words
        self.asked: list[tuple[str, str]] = []

    async def __call__(self, hop: str, text: str, echo: bool) -> str | None:
        self.asked.append((hop, text))
        return self.words.get(text.partition(":")[0].split()[-1].lower())


async def login(target: Target, ways: Connections) -> None:
    reader = await connect_reader(target, redactor=Redactor(), clock=SystemClock(), environment={}, connections=ways)
    await reader.aclose()


async def test_each_question_is_asked_once_and_names_the_hop(sshd: Sshd) -> None:
    sshd.faults.asks = dict(ASKS)
    person = Person(password="open sesame", code="123456")
    answers = Answers()
    ways = Connections({}, prompter=Prompter(person, kept=answers))

    sshd.faults.asks = {"Password:": "open sesame"}
    await login(sshd.target(), ways)
    ways.prompter.ask = None  # from now on nobody is there
    await login(sshd.target(), ways)

    assert person.asked == [("gpu1", "Password:")]
    assert sshd.answers == [("open sesame",)] * 2
    assert not answers.missing


async def test_a_one_time_code_is_asked_for_each_time_and_never_offered_again(sshd: Sshd) -> None:
    sshd.faults.asks = dict(ASKS)
    person = Person(password="open sesame", code="123456")
    answers = Answers()
    ways = Connections({}, prompter=Prompter(person, kept=answers))
    await login(sshd.target(), ways)
    sshd.faults.asks["Verification code:"] = person.words["code"] = "654321"
    await login(sshd.target(), ways)
    assert person.asked == [("gpu1", "Password:"), ("gpu1", "Verification code:"), ("gpu1", "Verification code:")]
    assert sshd.answers == [("open sesame", "123456"), ("open sesame", "654321")]

    ways.prompter.ask = None  # from now on nobody is there
    with pytest.raises(AuthenticationError, match="nobody is there"):
        await login(sshd.target(), ways)
    assert len(sshd.answers) == 2
    answers.give(("gpu1", "Verification code:"), "654321")  # as the terminal UI does, when somebody is
    (descriptor,), _ = answers_for(["run"], answers)
    assert list(read_pipe(descriptor).logins) == [("gpu1", "Password:")]
    await login(sshd.target(), ways)
    assert list(answers.logins) == [("gpu1", "Password:")]


@pytest.mark.parametrize(
    ("text", "once"),
    [
        ("Verification code:", True),
        ("Enter your OTP", True),
        ("One-time password (OATH) for `ops':", True),
        ("Password & token:", True),
        ("YubiKey for `ops':", True),
        ("Password:", False),
        ("(ops@gpu1) Password for the encoded disk:", False),
    ],
)
def test_what_is_good_once_is_known_by_its_words(text: str, once: bool) -> None:
    assert good_once(("gpu1", text)) == once


async def test_a_jump_host_that_asks_is_named_itself(sshd: Sshd, tmp_path: Path) -> None:
    async with running(tmp_path / "jump") as jump:
        jump.faults.asks = {"Password:": "of the bastion"}
        Path(jump.folder / "known_hosts").write_text(jump.known_as() + sshd.known_as())
        person = Person(password="of the bastion")
        ways = Connections({}, prompter=Prompter(person))
        target = sshd.target(jump=f"ops@127.0.0.1:{jump.port}", known_hosts=str(jump.folder / "known_hosts"))
        try:
            await login(target, ways)
        finally:
            await ways.aclose()
    assert [hop for hop, _ in person.asked] == ["127.0.0.1"]


async def test_a_refused_answer_is_forgotten_and_not_tried_again(sshd: Sshd) -> None:
    sshd.faults.asks = {"Password:": "open sesame"}
    answers = Answers(logins={("gpu1", "Password:"): "yesterday's"})
    ways = Connections({}, prompter=Prompter(kept=answers))

    for _ in range(2):
        with pytest.raises(AuthenticationError):
            await login(sshd.target(), ways)

    assert sshd.answers == [("yesterday's",)]
    assert answers.missing == {("gpu1", "Password:"): False}
    answers.give(("gpu1", "Password:"), "open sesame")
    await login(sshd.target(), ways)


async def test_what_nobody_answers_is_kept_to_be_asked_later(sshd: Sshd) -> None:
    sshd.faults.asks = dict(ASKS)
    ways = Connections({}, prompter=Prompter())
    with pytest.raises(AuthenticationError, match="nobody is there to answer what it asks"):
        await login(sshd.target(), ways)
    assert list(ways.prompter.kept.missing) == [("gpu1", "Password:")]
    assert sshd.answers == []


def test_they_go_through_a_pipe_that_nothing_else_inherits() -> None:
    answers = Answers("of sudo", {("gpu1", "Password:"): "open sesame"})
    descriptors, words = answers_for(["--hosts", "hosts.toml", "run", "--plan", "p.json"], answers)
    assert words == ["--answers-fd", str(*descriptors)]
    assert not os.get_inheritable(*descriptors)
    got = read_pipe(*descriptors)
    assert (got.sudo, got.logins) == (answers.sudo, answers.logins)
    with pytest.raises(OSError, match="Bad file"):
        os.fstat(*descriptors)
    assert "of sudo" not in repr(answers)
    assert "sesame" not in repr(answers)


@pytest.mark.parametrize("words", [["history", "list"], ["recover"], ["--hosts", "run", "history"], []])
def test_a_command_that_asks_no_host_gets_none(words: list[str]) -> None:
    assert answers_for(words, Answers("of sudo")) == ((), [])


def test_where_there_is_nothing_to_hand_on_there_is_no_pipe() -> None:
    assert answers_for(["run"], Answers()) == ((), [])
    (descriptor,), _ = answers_for(["run"], Answers(), followed=True)  # that somebody can be asked is said by it
    assert read_pipe(descriptor) == Answers()


def test_more_than_a_pipe_takes_is_refused_before_anything_waits() -> None:
    with pytest.raises(UsageError, match="longer than a pipe"):
        Answers("x" * 70_000).pipe()


@pytest.mark.parametrize("said", [b"", b"open sesame", b'{"sudo": "open sesame"}', b"[1]"])
def test_what_is_none_is_refused_without_being_repeated(said: bytes) -> None:
    reading, writing = os.pipe()
    os.write(writing, said)
    os.close(writing)
    with pytest.raises(UsageError, match="no answers") as caught:
        read_pipe(reading)
    assert "sesame" not in str(caught.value)


async def test_who_looks_for_a_token_has_longer_than_a_host_that_does_not_answer(
    sshd: Sshd, clean_environment: Path
) -> None:
    (clean_environment / ".ssh").mkdir(exist_ok=True)
    (clean_environment / ".ssh" / "config").write_text("Host *\n  ConnectTimeout 1\n")
    sshd.faults.asks = dict(ASKS)

    async def slow(_hop: str, text: str, _echo: bool) -> str:
        await asyncio.sleep(0.8)
        return ASKS[text]

    await login(sshd.target(), Connections({}, prompter=Prompter(slow)))

    assert sshd.answers == [("open sesame", "123456")]


async def test_who_never_answers_is_told_what_was_asked(sshd: Sshd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("console.remote.ssh.ATTENDED_LOGIN_TIMEOUT_S", 0.3)
    sshd.faults.asks = dict(ASKS)

    async def asleep(_hop: str, _text: str, _echo: bool) -> str:
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    with pytest.raises(AuthenticationError, match="nobody answered in time what it asks at login: Password:"):
        await login(sshd.target(), Connections({}, prompter=Prompter(asleep)))
