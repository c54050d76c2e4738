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
def keyed(repository: Repository, tmp_path: Path) -> Callable[[str], dict[str, str]]:
    """The environment of somebody who can sign, and whom everybody's allowed signers name."""
    repository.open()
    allowed = tmp_path / "allowed"

    def make(name: str) -> dict[str, str]:
        key, config = tmp_path / f"{name}.key", tmp_path / f"{name}.gitconfig"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
        kind, public = Path(f"{key}.pub").read_text().split()[:2]
        with allowed.open("a") as file:
            file.write(f"{name}@test.invalid {kind} {public}\n")
        config.write_text(
            f"[user]\nname = {name}\nemail = {name}@test.invalid\nsigningkey = {key}\n"
            f'[gpg]\nformat = ssh\n[gpg "ssh"]\nallowedSignersFile = {allowed}\n'
        )
        return dict(os.environ) | {"GIT_CONFIG_GLOBAL": str(config)}

    return make


def calls_itself(person: dict[str, str], name: str) -> dict[str, str]:
    """The same keys under another address."""
    return person | {f"GIT_{role}_EMAIL": f"{name}@test.invalid" for role in ("AUTHOR", "COMMITTER")}


def names(history: History, plan: Path) -> list[str]:
    return [signer.name for signer in approvers(history, PLAN, digest(plan))]


def test_somebody_else_approves(repository: Repository, plan: Path, keyed: Callable[[str], dict[str, str]]) -> None:
    robin, sam = keyed("robin"), keyed("sam")
    with pytest.raises(RefusedError, match="0 of 1 approvals"):
        check(History(repository.path, sam), PLAN, digest(plan), 1)
    approve(repository.path, PLAN, digest(plan), "# Plan", robin)
    history = History(repository.path, sam)
    assert names(history, plan) == ["robin@test.invalid"]
    check(history, PLAN, digest(plan), 1)
    with pytest.raises(RefusedError, match="1 of 2"):
        check(history, PLAN, digest(plan), 2)


@pytest.mark.parametrize("address", ["robin", "sam"])
def test_not_oneself_under_any_address(
    repository: Repository, plan: Path, keyed: Callable[[str], dict[str, str]], address: str
) -> None:
    robin = keyed("robin")
    approve(repository.path, PLAN, digest(plan), "", robin)
    with pytest.raises(RefusedError, match="0 of 1 approvals; one's own does not count"):
        check(History(repository.path, calls_itself(robin, address)), PLAN, digest(plan), 1)


def test_one_who_signs_under_two_addresses_is_one(
    repository: Repository, plan: Path, keyed: Callable[[str], dict[str, str]]
) -> None:
    robin, sam = keyed("robin"), keyed("sam")
    approve(repository.path, PLAN, digest(plan), "", robin)
    approve(repository.path, PLAN, digest(plan), "", calls_itself(robin, "kim"))
    with pytest.raises(RefusedError, match=r"1 of 2 approvals \(robin@test.invalid\)"):
        check(History(repository.path, sam), PLAN, digest(plan), 2)


def test_who_asks_must_be_known(
    repository: Repository, plan: Path, keyed: Callable[[str], dict[str, str]], tmp_path: Path
) -> None:
    approve(repository.path, PLAN, digest(plan), "", keyed("robin"))
    keyless = tmp_path / "sam.gitconfig"
    keyless.write_text(
        f"[user]\nname = sam\nemail = sam@test.invalid\n"
        f'[gpg]\nformat = ssh\n[gpg "ssh"]\nallowedSignersFile = {tmp_path / "allowed"}\n'
    )
    sam = dict(os.environ) | {"GIT_CONFIG_GLOBAL": str(keyless)}
    with pytest.raises(RefusedError, match="cannot be told whether somebody else approved"):
        check(History(repository.path, sam), PLAN, digest(plan), 1)


def test_a_plan_that_was_edited_since_is_not_approved(
    repository: Repository, plan: Path, keyed: Callable[[str], dict[str, str]]
) -> None:
    robin = keyed("robin")
    approve(repository.path, PLAN, digest(plan), "", robin)
    plan.write_text('{"plan": 2}')
    assert names(History(repository.path, robin), plan) == []


def test_a_signature_that_nobody_vouches_for_does_not_count(
    repository: Repository, plan: Path, keyed: Callable[[str], dict[str, str]], tmp_path: Path
) -> None:
    robin = keyed("robin")
    approve(repository.path, PLAN, digest(plan), "", robin)
    (tmp_path / "allowed").write_text("")
    assert names(History(repository.path, robin), plan) == []


def test_without_a_key_there_is_no_approval(repository: Repository, plan: Path, git: GitCommand) -> None:
    repository.open()
    git("config", "gpg.format", "ssh")
    git("config", "user.signingkey", "/nonexistent")
    with pytest.raises(CommitError, match="not approved"):
        approve(repository.path, PLAN, digest(plan), "", os.environ)
    assert git("status", "--porcelain", "--untracked-files=no") == ""
