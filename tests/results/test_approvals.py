"""A saved plan is approved by others, with a good signature, for its very bytes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from console.errors import CommitError, RefusedError
from console.results.approvals import approve, approvers, check, digest
from console.results.history import History
from console.results.repository import Repository

GitCommand = Callable[..., str]
PLAN = "01KAYX5V00000000000000PLAN"


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.json"
    path.write_text('{"plan": 1}')
    return path


@pytest.fixture
def keyed(repository: Repository, git: GitCommand, tmp_path: Path) -> Callable[[str], dict[str, str]]:
    """The environment of somebody who can sign, and whom the repository's allowed signers name."""
    repository.open()
    allowed = tmp_path / "allowed"
    git("config", "gpg.format", "ssh")
    git("config", "gpg.ssh.allowedSignersFile", str(allowed))

    def make(name: str) -> dict[str, str]:
        key = tmp_path / f"{name}.key"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
        kind, public = Path(f"{key}.pub").read_text().split()[:2]
        with allowed.open("a") as file:
            file.write(f"{name}@test.invalid {kind} {public}\n")
        git("config", "user.signingkey", str(key))
        return dict(os.environ) | {
            f"GIT_{role}_{part}": value
            for role in ("AUTHOR", "COMMITTER")
            for part, value in (("NAME", name), ("EMAIL", f"{name}@test.invalid"))
        }

    return make


def test_somebody_else_approves(repository: Repository, plan: Path, keyed: Callable[[str], dict[str, str]]) -> None:
    history = History(repository.path, os.environ)
    with pytest.raises(RefusedError, match="0 of 1 approvals"):
        check(history, PLAN, digest(plan), 1)
    approve(repository.path, PLAN, digest(plan), "# Plan", keyed("robin"))
    history = History(repository.path, os.environ)
    assert approvers(history, PLAN, digest(plan)) == ("robin@test.invalid",)
    check(history, PLAN, digest(plan), 1)
    with pytest.raises(RefusedError, match="1 of 2"):
        check(history, PLAN, digest(plan), 2)


def test_not_oneself(repository: Repository, plan: Path, keyed: Callable[[str], dict[str, str]]) -> None:
    robin = keyed("robin")
    approve(repository.path, PLAN, digest(plan), "", robin)
    assert approvers(History(repository.path, robin), PLAN, digest(plan)) == ()


def test_a_plan_that_was_edited_since_is_not_approved(
    repository: Repository, plan: Path, keyed: Callable[[str], dict[str, str]]
) -> None:
    approve(repository.path, PLAN, digest(plan), "", keyed("robin"))
    plan.write_text('{"plan": 2}')
    assert approvers(History(repository.path, os.environ), PLAN, digest(plan)) == ()


def test_a_signature_that_nobody_vouches_for_does_not_count(
    repository: Repository, plan: Path, keyed: Callable[[str], dict[str, str]], tmp_path: Path
) -> None:
    approve(repository.path, PLAN, digest(plan), "", keyed("robin"))
    (tmp_path / "allowed").write_text("")
    assert approvers(History(repository.path, os.environ), PLAN, digest(plan)) == ()


def test_without_a_key_there_is_no_approval(repository: Repository, plan: Path, git: GitCommand) -> None:
    repository.open()
    git("config", "gpg.format", "ssh")
    git("config", "user.signingkey", "/nonexistent")
    with pytest.raises(CommitError, match="not approved"):
        approve(repository.path, PLAN, digest(plan), "", os.environ)
    assert git("status", "--porcelain", "--untracked-files=no") == ""
