"""Git's complaints about a commit, as errors of ours that say what to do next."""

from __future__ import annotations

import re
from pathlib import Path

from console.errors import CommitError, HookRefusedError, RepositoryBusyError
from console.results.git import Answer

RECOVER = "console recover commits it once that is right"
BUSY = re.compile(r"\.lock': File exists|cannot lock ref|Unable to create '[^']*\.lock'")
_SIGNING = re.compile(
    r"gpg failed to sign|failed to write commit object|signing failed|cannot run gpg|user\.signingkey", re.I
)
_UNFINISHED = re.compile(r"during a (merge|rebase|cherry-pick|revert)")


def refused(answer: Answer, path: Path, patience_s: float) -> CommitError:
    """What `git commit` or one of its parts said; `patience_s` is how long a lock was waited for."""
    text = answer.err
    if BUSY.search(text):
        lock = re.search(r"'([^']*\.lock)'", text)
        return RepositoryBusyError(
            f"git's lock was not free within {patience_s:g} s: {answer.said}",
            where=str(path),
            hint=f"if no git runs there: rm {lock[1] if lock else 'the lock'}; then console recover",
        )
    if _SIGNING.search(text):
        return not_signed(answer, path)
    if found := _UNFINISHED.search(text):
        return CommitError(
            f"a {found[1]} is not finished there", where=str(path), hint=f"finish it in {path}, then {RECOVER}"
        )
    if answer.code == 1 and not text.startswith(("fatal:", "error:")):
        return HookRefusedError(
            f"a commit hook refused: {answer.said or 'it said nothing'}", where=str(path), hint=RECOVER
        )
    return CommitError(
        answer.said or f"git ended with {answer.code}",
        where=str(path),
        hint="set [results] path, or repair it; then console recover",
    )


def not_signed(answer: Answer, path: Path) -> HookRefusedError:
    """The key does not sign: the record is kept, and an unsigned commit is not what was asked for."""
    return HookRefusedError(
        f"signing failed: {answer.said}",
        where=str(path),
        hint=f"git -C {path} config user.signingkey and gpg.format say with what; {RECOVER}",
    )
