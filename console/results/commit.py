"""A record's commit, made of git's objects: as quick after fifty thousand records as after ten.

`git commit --only` looks at every file of the working tree and writes the whole index twice. Where no hook asks for it,
the same commit is made from the trees that it changes, and the index gets the record's own entries. The order is git's:
the index's lock is held, the new index is written beside it, the branch moves, the index is put in its place.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from console.results.git import Answer, Git

SIGN_TIMEOUT_S = 120.0
BETWEEN_MAINTENANCE = 20
# What the lock of git's index holds while it is ours: who finds it under our own lock knows that its owner died.
MARK = b"console record "
_UNFINISHED = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply")
QUOTED = ("-c", "core.quotePath=true")  # names in any encoding come as ASCII, and are read back from it
_FILE, _FOLDER = "100644", "40000"


@dataclass(frozen=True)
class Entry:
    """One line of a tree."""

    mode: str
    sha: str
    name: str

    @property
    def line(self) -> str:
        kind = {_FOLDER: "tree", "160000": "commit"}.get(self.mode.lstrip("0"), "blob")
        return f"{self.mode} {kind} {self.sha}\t{self.name}"


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
        hashed = self.git.run("hash-object", "-w", "--stdin-paths", data="\n".join(files))
        if not hashed.ok:
            return hashed
        head = self.git.run("rev-parse", "-q", "--verify", "HEAD")
        old = head.out.strip() if head.ok else ""
        blobs = dict(zip((file.rpartition("/")[2] for file in files), hashed.out.split(), strict=True))
        tree = self._tree(old, folder, [Entry(_FILE, sha, name) for name, sha in blobs.items()])
        if not tree.ok:
            return tree
        asked = self.git.run("config", "--type=bool", "--get-regexp", r"^(commit\.gpgsign|maintenance\.auto)$").out
        sign = _last(asked, "commit.gpgsign") == "true"
        words = (*(("-S",) if sign else ()), *(("-p", old) if old else ()), tree.out.strip())
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

    def _tree(self, head: str, folder: str, entries: list[Entry]) -> Answer:
        """The tree of `head` with `entries` in `folder`; only the trees on the way are read and written."""
        parts = folder.split("/")
        known: dict[str, list[Entry]] = {}
        ways = ["/".join(parts[:depth]) + "/" for depth in range(1, len(parts) + 1)]
        for words in ((head,), ("-t", head, "--", *ways)) if head else ():
            listed = self.git.run(*QUOTED, "ls-tree", *words)
            if not listed.ok:
                return listed  # a folder that cannot be read must not look empty
            for path, entry in _entries(listed.out):
                above = path.rpartition("/")[0]
                if bool(above) == (len(words) > 1):
                    known.setdefault(above, []).append(entry)
        made = Answer(0, "", "")
        with self.git.asked("mktree", "--batch") as ask:
            for depth in range(len(parts), -1, -1):
                fresh = {entry.name: entry for entry in entries}
                kept = [entry for entry in known.get("/".join(parts[:depth]), ()) if entry.name not in fresh]
                lines = [entry.line for entry in (*kept, *fresh.values())]
                made = ask("\n".join(lines) + "\n\n")
                if not made.ok:
                    break
                entries = [Entry(_FOLDER, made.out.strip(), parts[depth - 1])] if depth else []
        return made

    @property
    def _beside(self) -> Path:
        return self.index.with_name("console.index")


def _entries(listed: str) -> Iterator[tuple[str, Entry]]:
    """Path and entry of each line of `git ls-tree`. A quoted path stays quoted, but for the folder before its name."""
    for line in listed.splitlines():
        about, _, path = line.partition("\t")
        mode, _, sha = about.split(" ")
        quote = '"' if path.startswith('"') else ""
        path = path[1:-1] if quote else path
        name = path.rpartition("/")[2]
        yield path, Entry(mode.lstrip("0"), sha, f"{quote}{name}{quote}")


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
