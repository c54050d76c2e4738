"""Pushing records: fetch, put ours on top of theirs, push, and again when somebody was faster.

Records only ever add files of their own, so that ours always apply. Nothing is done in the working tree but adding what
others recorded: commits are replayed among git's objects, so what an operator has staged or edited stays as it is
(`git rebase` refuses a tree with changes). Failing is never an error of the run: what is not pushed is counted.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from console.errors import CommitError
from console.results.git import Git

PUSH_TIMEOUT_S = 30.0
PATIENCE_S = 60.0  # of one push with all its attempts
ATTEMPTS = 40
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
_BEHIND = re.compile(r"fetch first|non-fast-forward|\[(?:remote )?rejected\]|cannot lock ref|reference already exists")
_RACE = re.compile(r"cannot lock ref|incorrect old value|failed to update ref|fetch first|non-fast-forward")
_WORDS = {"GIT_AUTHOR_NAME": "%an", "GIT_AUTHOR_EMAIL": "%ae", "GIT_AUTHOR_DATE": "%aI"}


@dataclass(frozen=True)
class Upstream:
    """What a branch follows: the ref it is known by here, the remote, and the remote's own name of it."""

    here: str
    remote: str
    there: str


@dataclass
class Publisher:
    """Pushes one branch of one repository. `chance` gives numbers in [0, 1): two that collide do not do so again."""

    git: Git
    branch: str
    upstream: Upstream
    identity: dict[str, str]
    locked: Callable[[], AbstractContextManager[None]]
    sleep: Callable[[float], None]
    chance: Callable[[], float]
    monotonic: Callable[[], float] = time.monotonic

    def push(self) -> str:
        """Push what the upstream lacks; returns why it could not be, empty when it is there."""
        until = self.monotonic() + PATIENCE_S
        pause = 0.05
        reason = ""
        for attempt in range(ATTEMPTS):
            if attempt or not self._is_ahead_only():
                # The branch's own tip may be all that is known of the other side: look before pushing again.
                if reason := self._fetch():
                    return reason
                with self.locked():
                    reason = self._replay()
                if reason:
                    return reason
            pushed = self.git.run(
                "push", "-q", self.upstream.remote, f"{self.branch}:{self.upstream.there}", timeout_s=PUSH_TIMEOUT_S
            )
            if pushed.ok:
                return ""
            reason = pushed.said
            if not _BEHIND.search(pushed.err) or "pre-receive hook declined" in pushed.err:
                return reason
            if self.monotonic() + pause > until:
                break
            self.sleep(pause * (0.5 + self.chance()))
            pause = min(pause * 1.6, 2.0)
        return f"others kept pushing: {reason}"

    def _is_ahead_only(self) -> bool:
        """Whether the upstream as last seen is part of the branch; never seen, there is nothing to put on top of."""
        known = self.git.run("rev-parse", "-q", "--verify", self.upstream.here)
        return not known.ok or self.git.run("merge-base", "--is-ancestor", self.upstream.here, self.branch).ok

    def _fetch(self) -> str:
        for _ in range(3):
            fetched = self.git.run("fetch", "-q", self.upstream.remote, timeout_s=PUSH_TIMEOUT_S)
            if fetched.ok:
                return ""
            if not _RACE.search(fetched.err):  # two consoles of one machine may fetch at the same moment
                return f"fetch: {fetched.said}"
            self.sleep(0.1)
        return f"fetch: {fetched.said}"

    def _replay(self) -> str:
        """Put the commits that only we have on top of theirs, and the branch there; empty when that went well."""
        theirs, ours = self._tip(self.upstream.here), self._tip(self.branch)
        if self.git.run("merge-base", "--is-ancestor", theirs, ours).ok:
            return ""
        if self.git.run("rev-list", "--merges", "-1", f"{theirs}..{ours}").out.strip():
            return f"there are merges in {self.branch}: git -C {self.git.folder} pull --rebase, then push"
        tip = theirs
        for commit in self.git.run("rev-list", "--reverse", f"{theirs}..{ours}").out.split():
            tip, reason = self._put_on(commit, tip)
            if reason:
                return reason
        # The files of others first, then the branch: a death in between leaves them staged as what they will be, and
        # the next push goes over the same ground.
        moved = self.git.run("read-tree", "-m", "-u", ours, tip)
        if not moved.ok:
            return f"the working tree is in the way: {moved.said}"
        updated = self.git.run("update-ref", "-m", "console: records of others first", self.branch, tip, ours)
        if not updated.ok:
            self.git.run("read-tree", "-m", "-u", tip, ours)
            return f"the branch moved meanwhile: {updated.said}"
        return ""

    def _put_on(self, commit: str, tip: str) -> tuple[str, str]:
        """A commit once more, on another parent; with its author, message and, where configured, our signature."""
        tree = self._merged(commit, tip)
        if not tree:
            return "", f"{commit[:12]} and the upstream change the same file: git -C {self.git.folder} pull --rebase"
        if tree == self._tip(f"{tip}^{{tree}}"):
            return tip, ""  # it is there already, under another name
        said = self.git.run("show", "-s", f"--format={'%x00'.join(_WORDS.values())}%x00%B", commit)
        *author, message = said.out.split("\0", len(_WORDS))
        sign = self.git.run("config", "--type=bool", "--get", "commit.gpgsign").out.strip() == "true"
        # An approval is signed whatever the configuration says, and nothing without its signature.
        sign = sign or "\ngpgsig" in self.git.run("cat-file", "commit", commit).out.partition("\n\n")[0]
        made = self.git.run(
            "commit-tree",
            *(("-S",) if sign else ()),
            "-p",
            tip,
            tree,
            data=message.rstrip("\n") + "\n",
            timeout_s=PUSH_TIMEOUT_S,
            extra=self.identity | dict(zip(_WORDS, author, strict=True)),
        )
        if not made.ok:
            return "", f"cannot put {commit[:12]} on top of the upstream: {made.said}"
        return made.out.strip(), ""

    def _merged(self, commit: str, tip: str) -> str:
        """The tree of `tip` with what `commit` changed; empty where both changed the same.

        git before 2.40 takes no merge base for merge-tree, and a first commit has none: stand-ins have it.
        """
        before = self.git.run("rev-parse", "-q", "--verify", f"{commit}~1^{{tree}}")
        base = self._stand_in(before.out.strip() if before.ok else EMPTY_TREE)
        merged = self.git.run(
            "merge-tree",
            "--write-tree",
            self._stand_in(f"{tip}^{{tree}}", base),
            self._stand_in(f"{commit}^{{tree}}", base),
        )
        return merged.out.split("\n")[0].strip() if merged.ok else ""

    def _stand_in(self, tree: str, parent: str = "") -> str:
        words = ("-p", parent) if parent else ()
        made = self.git.run("commit-tree", *words, tree, data="stand-in\n", extra=self.identity)
        if not made.ok:
            raise CommitError(f"git commit-tree: {made.said}", where=str(self.git.folder))
        return made.out.strip()

    def _tip(self, name: str) -> str:
        found = self.git.run("rev-parse", "-q", "--verify", name)
        if not found.ok:
            raise CommitError(f"git knows no {name}: {found.said}", where=str(self.git.folder))
        return found.out.strip()
