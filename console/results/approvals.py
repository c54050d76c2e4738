"""Approvals of saved plans: signed commits in the results repository, each for exactly the bytes of one plan file.

Who approved is who signed, by the name that the allowed signers (or gpg's trust) give the key; who asks shows the same
way who that is. An address of a commit is whatever its author's configuration says, and decides nothing here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from console.errors import CommitError, RefusedError, StateError
from console.results.git import Git
from console.results.history import History
from console.untrusted import one_line

FOLDER = "approvals"
GOOD = ("G",)  # a good signature of a key that is vouched for (gpg.ssh.allowedSignersFile, or gpg's trust)
SIGN_TIMEOUT_S = 120.0
_WHO = "%G?%x00%GF%x00%GS"
_APPROVES = "%(trailers:key=Approves,valueonly,separator=%x20)"


@dataclass(frozen=True)
class Signer:
    """Somebody who is vouched for: the name given to a key, and the key's fingerprint."""

    name: str
    key: str

    def is_also(self, other: Signer) -> bool:
        """One person may have two keys, and one key two names."""
        return self.name == other.name or self.key == other.key


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
        path.write_text(f"Approved, by who signed this: sha256:{sha256}\n\n{text}", encoding="utf-8")
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


def approvers(history: History, plan_id: str, sha256: str) -> tuple[Signer, ...]:
    """Who approved these very bytes with a good signature, each person once."""
    if history.is_empty:
        return ()
    words = ("log", f"--format={_WHO}%x00{_APPROVES}", "--", f":(literal){FOLDER}/{plan_id}/")
    found: list[Signer] = []
    for signer, what in _signed(history.git.run(*words, timeout_s=SIGN_TIMEOUT_S).out):
        if what == f"sha256:{sha256}" and not any(signer.is_also(one) for one in found):
            found.append(signer)
    return tuple(found)


def asker(history: History) -> Signer:
    """Who asks, shown by a signature over nothing. Raises RefusedError where that cannot be told."""
    git = history.git
    made = git.run("commit-tree", "-S", "HEAD^{tree}", data="who asks\n", timeout_s=SIGN_TIMEOUT_S)
    said = made.said
    if made.ok:
        seen = git.run("log", "-1", f"--format={_WHO}%x00", made.out.strip(), timeout_s=SIGN_TIMEOUT_S)
        for signer, _ in _signed(seen.out):
            return signer
        said = "nobody vouches for the key that signs here"
    raise RefusedError(
        f"it cannot be told whether somebody else approved: {one_line(said, 200)}",
        where=str(history.path),
        hint="who asks signs, too: user.signingkey, gpg.format and gpg.ssh.allowedSignersFile",
    )


def check(history: History, plan_id: str, sha256: str, wanted: int) -> None:
    """Raise RefusedError where fewer than `wanted` others approved this plan."""
    signed = approvers(history, plan_id, sha256)
    me = asker(history) if signed else None
    found = [one.name for one in signed if me is None or not one.is_also(me)]
    if len(found) < wanted:
        said = f"{len(found)} of {wanted} approvals" + (f" ({', '.join(found)})" if found else "")
        own = "; one's own does not count" if len(found) < len(signed) else ""
        raise RefusedError(
            f"a protected host needs approval of this plan: {said}{own}",
            where=str(history.path),
            hint="somebody else: console history approve FILE; then pull here",
        )


def _signed(listed: str) -> Iterator[tuple[Signer, str]]:
    """Good signatures among lines of `git log`, with what stands behind each."""
    for line in listed.splitlines():
        state, key, name, what = (*line.split("\0"), "", "", "")[:4]
        if state in GOOD and key and name:
            yield Signer(name, key), what.strip()


def _author(git: Git) -> str:
    """The address that commits here are made under; it only names the file."""
    said = git.run("var", "GIT_AUTHOR_IDENT")
    return said.out.partition("<")[2].partition(">")[0] if said.ok else ""
