"""A record's commit, made of git's objects: as quick after fifty thousand records as after ten.

`git commit --only` looks at every file of the working tree and writes the whole index twice. Where no hook asks for it,
the same commit is made from the trees that it changes, and the index gets the record's own entries. The order is git's:
the index's lock is held, the new index is written beside it, the branch moves, the index is put in its place.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from console.results.git import Answer, DiedError, Git
from console.results.objects import FOLDER, Entry, Objects

SIGN_TIMEOUT_S = 120.0
BETWEEN_MAINTENANCE = 20
# What the lock of git's index holds while it is ours: who finds it under our own lock knows that its owner died.
MARK = b"console record "
_UNFINISHED = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply")
QUOTED = ("-c", "core.quotePath=true")  # names in any encoding come as ASCII, and are read back from it
_FILE = "100644"


class NotSignedError(Exception):
    """The signature that the configuration asks for could not be made; carries git's complaint."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.said)
        self.answer = answer


@dataclass
class RecordCommit:
    """Commits the folder of one record. To be used under our own lock, which nobody else holds then.

    `made`: how many it has made. A record is a dozen objects, and git tidies up after some thousand.
    """

    git: Git
    git_folder: Path
    index: Path
    hooks: Path
    made: int = 0

    def __post_init__(self) -> None:
        self.objects = Objects(self.git)
        self._config: str | None = None
        self._followed: str | None = None

    def has(self, folder: str) -> bool:
        """Whether HEAD has this record; False also where that cannot be told."""
        try:
            return bool(self.objects.find(f"HEAD:{folder}/record.json"))
        except DiedError:
            self.rest()
            return False

    def rest(self) -> None:
        """End what stays between commits that follow each other, when no other waits."""
        self._config = self._followed = None
        self.objects.close()

    def _asked(self) -> str:
        if self._config is None:
            words = ("config", "--type=bool", "--get-regexp", r"^(commit\.gpgsign|maintenance\.auto)$")
            self._config = self.git.run(*words).out
        return self._config

    def follows(self, branch: str) -> bool:
        """Whether a ref of this repository has an upstream to be pushed to."""
        if self._followed is None:
            self._followed = self.git.run("config", "--get-regexp", r"^branch\..*\.merge$").out
        name = f"branch.{branch.removeprefix('refs/heads/')}.merge"
        return any(line.partition(" ")[0] == name for line in self._followed.splitlines())

    def is_plain(self) -> bool:
        """Whether `git commit` would do nothing besides: no hook, nothing unfinished that it must refuse."""
        if any(os.path.lexists(self.git_folder / name) for name in _UNFINISHED):
            return False
        try:
            names = [each for each in os.scandir(self.hooks) if not each.name.endswith(".sample")]
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return not any(os.access(each.path, os.X_OK) and not each.is_dir() for each in names)

    def commit(self, folder: str, names: Iterable[str], message: str, variables: Mapping[str, str]) -> Answer:
        """Commit these files of `folder` on top of HEAD; `variables` say who and when.

        The answer is that of the git command that failed, or the commit's name. Raises NotSignedError, CommitError,
        OSError.
        """
        files = [f"{folder}/{name}" for name in names]
        try:
            shas = self.objects.write_files(files)
            old = self.objects.find("HEAD")
            blobs = [Entry(_FILE, sha, name.rpartition("/")[2].encode()) for name, sha in zip(files, shas, strict=True)]
            tree = self._tree(old, folder, blobs)
        except DiedError as died:
            self.rest()
            return died.answer
        asked = self._asked()
        sign = _last(asked, "commit.gpgsign") == "true"
        words = (*(("-S",) if sign else ()), *(("-p", old) if old else ()), tree)
        made = self.git.run("commit-tree", *words, data=message, timeout_s=SIGN_TIMEOUT_S, extra=variables)
        if not made.ok:
            if sign:
                raise NotSignedError(made)
            return made
        new = made.out.strip()
        subject = message.partition("\n")[0]
        how = "commit" if old else "commit (initial)"
        move = ("update-ref", "-m", f"{how}: {subject}", "HEAD", new, old or "0" * len(new))
        answer = self._enter(folder, files, move, variables)
        if not answer.ok:
            return answer
        if self.made % BETWEEN_MAINTENANCE == 0 and _last(asked, "maintenance.auto") != "false":
            self.git.run("maintenance", "run", "--auto", "--quiet")
        self.made += 1
        return Answer(0, new, answer.err)

    def heal(self) -> None:
        """Finish, or forget, what a console that died here had begun with the index; other locks are not ours."""
        lock = Path(f"{self.index}.lock")
        try:
            said = lock.read_bytes()
        except OSError:
            return
        if not said.startswith(MARK):
            return
        folder = said.removeprefix(MARK).decode("utf-8", "replace").strip()
        mine = self._beside
        there = self.git.run(*QUOTED, "ls-tree", "-r", "HEAD", "--", f"{folder}/")
        if there.ok and there.out:
            _copy(self.index, mine)
            told = self.git.run("update-index", "--index-info", data=there.out, extra=_using(mine))
            if not told.ok:
                return
            mine.replace(self.index)
        mine.unlink(missing_ok=True)
        lock.unlink(missing_ok=True)

    def _enter(self, folder: str, files: list[str], move: tuple[str, ...], variables: Mapping[str, str]) -> Answer:
        """Move the branch with the index in step: whoever dies in between leaves the index locked, as git does."""
        lock, mine, mark = Path(f"{self.index}.lock"), self._beside, self.index.with_name("console.mark")
        mark.write_bytes(MARK + folder.encode() + b"\n")
        try:
            os.link(mark, lock)  # whole from its first moment on
        except FileExistsError:
            return Answer(128, "", f"fatal: Unable to create '{lock}': File exists.")
        settled = False
        try:
            _copy(self.index, mine)
            added = self.git.run("update-index", "--add", "-z", "--stdin", data="\0".join(files), extra=_using(mine))
            moved = self.git.run(*move, extra=variables) if added.ok else added
            if moved.ok:
                mine.replace(self.index)
            settled = True
            return moved
        finally:
            if not settled:
                self.heal()  # git was cut short: whether the branch moved is seen there
            mine.unlink(missing_ok=True)
            lock.unlink(missing_ok=True)
            mark.unlink(missing_ok=True)

    def _tree(self, head: str, folder: str, entries: list[Entry]) -> str:
        """The tree of `head` with `entries` in `folder`; only the trees on the way are read and written."""
        parts = [part.encode() for part in folder.split("/")]
        known: list[list[Entry]] = []
        at = head
        for part in (*parts, b""):
            listed = self.objects.tree(at) if at else []
            if listed is None:  # must not look empty
                raise DiedError(Answer(128, "", f"fatal: the tree {at} cannot be read"))
            known.append(listed)
            at = next((entry.sha for entry in listed if (entry.name, entry.mode) == (part, FOLDER)), "")
        made = ""
        for depth in range(len(parts), -1, -1):
            fresh = {entry.name for entry in entries}
            made = self.objects.write_tree([*(entry for entry in known[depth] if entry.name not in fresh), *entries])
            entries = [Entry(FOLDER, made, parts[depth - 1])] if depth else []
        return made

    @property
    def _beside(self) -> Path:
        return self.index.with_name("console.index")


def _last(told: str, name: str) -> str:
    """The value in force of a variable that `git config --get-regexp` tells of."""
    values = [line.partition(" ")[2] for line in told.splitlines() if line.partition(" ")[0] == name]
    return values[-1] if values else ""


def _copy(index: Path, mine: Path) -> None:
    """A copy that keeps the time: by it git tells which files may have changed while the index was written."""
    mine.unlink(missing_ok=True)
    with suppress(FileNotFoundError):
        shutil.copy2(index, mine)


def _using(index: Path) -> dict[str, str]:
    return {"GIT_INDEX_FILE": str(index)}
