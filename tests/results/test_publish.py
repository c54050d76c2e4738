"""Records of several machines reach one remote, whoever is faster, and nothing of the operator's is touched."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from console.results.repository import Repository
from console.schema.record import Record
from console.secrets import Redactor

GitCommand = Callable[..., str]
REDACTOR = Redactor()


def numbered(record: Record, number: int, target: str = "gpu7/llm") -> Record:
    return record.model_copy(update={"run": f"01KAYX5V00000000000000{number:04d}", "target": target})


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    path = tmp_path / "origin.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(path)], check=True)
    return path


@pytest.fixture
def machine(tmp_path: Path, remote: Path, git: GitCommand) -> Callable[[str], Repository]:
    """A console's own repository, made by it, with an upstream as an operator sets one."""

    def make(name: str) -> Repository:
        folder = tmp_path / name
        repository = Repository(folder, environment=os.environ)
        repository.open()
        git("remote", "add", "origin", str(remote), at=folder)
        git("config", "branch.main.remote", "origin", at=folder)
        git("config", "branch.main.merge", "refs/heads/main", at=folder)
        return repository

    return make


def runs_in(git: GitCommand, where: Path) -> list[str]:
    return sorted(git("log", "main", "--format=%(trailers:key=Run-Id,valueonly)", at=where).split())


def test_the_slower_one_goes_on_top(
    machine: Callable[[str], Repository], record: Record, remote: Path, git: GitCommand
) -> None:
    first, second = machine("a"), machine("b")
    first.commit_target(numbered(record, 1), REDACTOR)
    sha = second.commit_target(numbered(record, 2), REDACTOR)
    assert second.notes == []
    assert git("rev-parse", "main", at=remote).strip() == sha
    assert git("rev-list", "--count", "main", at=remote).strip() == "2"
    assert git("status", "--porcelain", at=second.path) == ""
    # What the other one recorded is in our working tree, too.
    assert len(list(second.path.glob("gpu7/llm/*/*/record.json"))) == 2
    assert first.commit_target(numbered(record, 1), REDACTOR) == git("rev-parse", "main", at=first.path).strip()


def test_what_is_staged_and_edited_stays_so(
    machine: Callable[[str], Repository], record: Record, git: GitCommand
) -> None:
    first, second = machine("a"), machine("b")
    second.commit_target(numbered(record, 1), REDACTOR)
    (second.path / "notes.md").write_text("staged\n")
    git("add", "notes.md", at=second.path)
    (second.path / "notes.md").write_text("edited\n")
    (second.path / "new.md").write_text("new\n")
    before = git("status", "--porcelain", at=second.path)
    first.commit_target(numbered(record, 2), REDACTOR)
    second.commit_target(numbered(record, 3), REDACTOR)
    assert git("status", "--porcelain", at=second.path) == before == "AM notes.md\n?? new.md\n"
    assert (second.path / "notes.md").read_text() == "edited\n"


def test_author_date_and_message_survive_being_put_on_top(
    machine: Callable[[str], Repository], record: Record, git: GitCommand
) -> None:
    first, second = machine("a"), machine("b")
    first.commit_target(numbered(record, 1), REDACTOR)
    second.commit_target(numbered(record, 2), REDACTOR)
    form = "--format=%an %ae %aI%n%B"
    told = git("log", "-1", form, at=second.path)
    assert told.startswith(f"Test Operator operator@test.invalid {record.finished_at[:19]}")
    assert f"Finished: {record.finished_at}" in told


def test_a_remote_that_is_gone_is_a_note_and_the_backlog_follows(
    machine: Callable[[str], Repository], record: Record, remote: Path, git: GitCommand
) -> None:
    first, second = machine("a"), machine("b")
    first.commit_target(numbered(record, 1), REDACTOR)
    away = remote.rename(remote.with_name("away"))
    for number in (2, 3):
        second.commit_target(numbered(record, number), REDACTOR)
    assert all("console recover pushes it" in note for note in second.notes)
    away.rename(remote)
    assert second.publish() == ""
    assert second.unpushed() == 0
    assert [run[-1] for run in runs_in(git, remote)] == ["1", "2", "3"]


def test_the_same_file_changed_on_both_sides_is_left_to_a_person(
    machine: Callable[[str], Repository], record: Record, git: GitCommand
) -> None:
    first, second = machine("a"), machine("b")
    first.commit_target(numbered(record, 1), REDACTOR)
    second.commit_target(numbered(record, 2), REDACTOR)
    for one, text in ((first, "one"), (second, "two")):
        (one.path / "README.md").write_text(text)
        git("add", "README.md", at=one.path)
        git("commit", "-q", "-m", text, at=one.path)
    first.publish()
    head = git("rev-parse", "HEAD", at=second.path)
    assert "change the same file" in second.publish()
    assert git("rev-parse", "HEAD", at=second.path) == head


def test_a_file_in_the_way_is_left_alone(machine: Callable[[str], Repository], record: Record, git: GitCommand) -> None:
    first, second = machine("a"), machine("b")
    second.commit_target(numbered(record, 1), REDACTOR)
    first.commit_target(numbered(record, 2), REDACTOR)
    path = second.path / "gpu7/llm/2026" / numbered(record, 2).run / "record.json"
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    second.commit_target(numbered(record, 3), REDACTOR)
    assert "the working tree is in the way" in second.notes[0]
    assert path.read_text() == "mine"
    assert second.unpushed() == 1


def test_signed_commits_are_signed_again(
    machine: Callable[[str], Repository], record: Record, git: GitCommand, tmp_path: Path
) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "key")], check=True)
    public = (tmp_path / "key.pub").read_text().split()
    (tmp_path / "allowed").write_text(f"operator@test.invalid {public[0]} {public[1]}\n")
    first, second = machine("a"), machine("b")
    for one in (first, second):
        for name, value in (
            ("gpg.format", "ssh"),
            ("user.signingkey", str(tmp_path / "key")),
            ("commit.gpgsign", "true"),
            ("gpg.ssh.allowedSignersFile", str(tmp_path / "allowed")),
        ):
            git("config", name, value, at=one.path)
    first.commit_target(numbered(record, 1), REDACTOR)
    second.commit_target(numbered(record, 2), REDACTOR)
    assert git("log", "--format=%G?", at=second.path).split() == ["G", "G"]
    # With the key gone it is neither pushed nor lost.
    third = numbered(record, 3)
    first.push = "never"
    first.commit_target(third, REDACTOR)
    (tmp_path / "key").unlink()
    assert "cannot put" in first.publish()
    assert first.unpushed() == 1


def test_several_consoles_at_once(
    machine: Callable[[str], Repository], record: Record, remote: Path, git: GitCommand
) -> None:
    """Three consoles, four runs each, and the remote away for a while; the full size is bench/records.py."""
    repositories = [machine(f"console{number}") for number in range(3)]

    def work(index: int) -> None:
        for number in range(4):
            repositories[index].commit_target(numbered(record, index * 100 + number, f"gpu{index}/llm"), REDACTOR)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(3)]
    for thread in threads:
        thread.start()
    away = remote.with_name("away")
    remote.rename(away)
    shutil.move(away, remote)
    for thread in threads:
        thread.join()
    for repository in repositories:
        assert repository.publish() == ""
    found = runs_in(git, remote)
    assert len(found) == len(set(found)) == 12
    assert git("rev-list", "--count", "main", at=remote).strip() == "12"
    assert git("fsck", "--strict", "--no-dangling", at=remote) == ""
