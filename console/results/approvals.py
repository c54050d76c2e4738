"""Approvals of saved plans: signed commits in the results repository, each for exactly the bytes of one plan file."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from console.errors import CommitError, RefusedError, StateError
from console.results.git import Git
from console.results.history import History
from console.untrusted import one_line

FOLDER = "approvals"
GOOD = ("G",)  # a good signature of a key that is vouched for (gpg.ssh.allowedSignersFile, or gpg's trust)
SIGN_TIMEOUT_S = 120.0


def digest(plan: Path) -> str:
    """sha256 of a plan file. Raises StateError."""
    try:
        return hashlib.sha256(plan.read_bytes()).hexdigest()
    except OSError as error:
        raise StateError(f"cannot read: {error.strerror or error}", where=str(plan)) from error


def approve(folder: Path, plan_id: str, sha256: str, text: str, environment: Mapping[str, str]) -> str:
    """Commit an approval, signed, with the plan as Markdown beside it; returns the commit.

    Raises CommitError where git does not take or sign it: then there is no approval.
    """
    git = Git(folder, environment)
    author = _author(git)
    name = f"{FOLDER}/{plan_id}/{hashlib.sha256(author.encode()).hexdigest()[:12]}.md"
    path = folder / name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"Approved by {one_line(author)}: sha256:{sha256}\n\n{text}", encoding="utf-8")
    except OSError as error:
        raise CommitError(f"cannot write: {error.strerror or error}", where=str(path)) from error
    message = f"approve plan {plan_id}\n\nApproves: sha256:{sha256}\nPlan-Id: {plan_id}\n"
    added = git.run("add", "-f", "-N", "--", name)
    words = ("commit", "-q", "-S", "--only", "--cleanup=whitespace", "-F", "-", "--", name)
    made = git.run(*words, data=message, timeout_s=SIGN_TIMEOUT_S) if added.ok else added
    if not made.ok:
        git.run("reset", "-q", "--", name)
        raise CommitError(
            f"not approved: {made.said}",
            where=str(folder),
            hint="an approval is signed: set user.signingkey and gpg.format",
        )
    return git.run("rev-parse", "HEAD").out.strip()


def approvers(history: History, plan_id: str, sha256: str) -> tuple[str, ...]:
    """Who approved these very bytes with a good signature, by the address of their commits; not who asks."""
    if history.is_empty:
        return ()
    form = "--format=%G?%x00%ae%x00%GS%x00%(trailers:key=Approves,valueonly,separator=%x20)"
    words = ("log", form, "--", f":(literal){FOLDER}/{plan_id}/")
    me = _author(history.git)
    found = []
    for line in history.git.run(*words, timeout_s=SIGN_TIMEOUT_S).out.splitlines():
        state, address, signer, what = (*line.split("\0"), "", "", "")[:4]
        # Anybody can write any author: who signed is who approved.
        if (
            state in GOOD
            and (signer == address or signer.endswith(f"<{address}>"))
            and what.strip() == f"sha256:{sha256}"
            and address
            and address != me
        ):
            found.append(address)
    return tuple(dict.fromkeys(found))


def check(history: History, plan_id: str, sha256: str, wanted: int) -> None:
    """Raise RefusedError where fewer than `wanted` others approved this plan."""
    found = approvers(history, plan_id, sha256)
    if len(found) < wanted:
        said = f"{len(found)} of {wanted} approvals" + (f" ({', '.join(found)})" if found else "")
        raise RefusedError(
            f"a protected host needs approval of this plan: {said}",
            where=str(history.path),
            hint="somebody else: console history approve FILE; then pull here",
        )


def _author(git: Git) -> str:
    """The address that commits here are made under."""
    said = git.run("var", "GIT_AUTHOR_IDENT")
    return said.out.partition("<")[2].partition(">")[0] if said.ok else ""
