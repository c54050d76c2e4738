"""The results repository: one commit per target's run, beside whatever the operator is doing in it."""

from __future__ import annotations

import fcntl
import os
import pwd
import random
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from console.errors import CommitError, RepositoryBusyError
from console.results import message, refusals
from console.results.commit import NotSignedError, RecordCommit
from console.results.git import Answer, Git
from console.results.publish import Publisher, Upstream
from console.results.record import documents, folder_of, masked, write_documents
from console.schema.record import Record
from console.secrets import Redactor

COMMIT_TIMEOUT_S = 120.0  # hooks and signing take their time
BUSY_PATIENCE_S = 5.0

_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")


class Repository:
    """The git repository at `path`; touched at the first use, made when there is nothing yet.

    `push`: auto (when the branch has an upstream) or never. `notes` collects what a person should know besides: as whom
    was committed, what was not pushed.
    Thread-safe against other threads and processes of ours through a lock in its .git folder.
    """

    def __init__(
        self,
        path: Path,
        *,
        push: str = "auto",
        environment: Mapping[str, str] = os.environ,
        sleep: Callable[[float], None] = time.sleep,
        chance: Callable[[], float] = random.random,
        busy_patience_s: float = BUSY_PATIENCE_S,
    ) -> None:
        self.path = path.expanduser().resolve()
        self.push = push
        self.notes: list[str] = []
        self._git = Git(self.path, environment)
        self._sleep = sleep
        self._chance = chance
        self._patience_s = busy_patience_s
        self._opening = threading.Lock()
        self._turn = threading.Lock()
        self._waiting: set[int] = set()
        self._git_folder: Path | None = None
        self._plain: RecordCommit | None = None
        self._identity: dict[str, str] | None = None

    def commit_target(self, record: Record, redactor: Redactor) -> str:
        """Commit one target's record; returns the commit's sha, also when it was committed before.

        The files are written into the working tree first, so they are there when the commit fails. Raises CommitError
        (or RepositoryBusyError, HookRefusedError); nothing is left staged then.
        """
        record = masked(record, redactor)
        text = message.compose(record)
        files = documents(record)
        folder = str(folder_of(record))
        self.open()
        with self._locked():
            assert self._plain is not None
            if self._plain.has(folder) and (sha := self._sha_of(folder)) is not None:
                return sha
            branch = self._branch()
            self._write(folder, files)
            sha = self._commit(folder, text, record)
            follows = self._plain.follows(branch)
        if not follows or not self._push(branch):
            return sha
        return self._sha_of(folder) or sha  # put on top of what others pushed, it has another name

    def _write(self, folder: str, files: Mapping[str, bytes]) -> None:
        try:
            write_documents(self.path / folder, files)
        except OSError as error:
            raise self._error(f"cannot write: {error.strerror or error}", where=str(error.filename or "")) from error

    def commit_folder(self, folder: str, files: Mapping[str, bytes], text: str) -> str:
        """Commit files that are no record; returns the commit that has them as they are. Raises CommitError."""
        self.open()
        with self._locked():
            branch = self._branch()
            self._write(folder, files)
            self._git.run("add", "-f", "-N", "--", folder)
            if not self._git.run("diff", "--quiet", "HEAD", "--", folder).ok:
                answer = self._by_porcelain(folder, text, self._identity_if_none())
                if not answer.ok:
                    self._unstage(folder)
                    raise refusals.refused(answer, self.path, self._patience_s)
            sha = self._git.run("log", "-1", "--format=%H", "--", folder).out.strip()
        self._push(branch)
        return sha

    def publish(self) -> str:
        """Push what the upstream lacks; returns why it could not be, empty where nothing is left to push."""
        self.open()
        branch = self._branch()
        return self._publish(branch, upstream) if (upstream := self._upstream(branch)) is not None else ""

    def unpushed(self) -> int | None:
        """How many commits the upstream does not have; None without an upstream."""
        self.open()
        upstream = self._upstream(self._branch())
        if upstream is None:
            return None
        counted = self._git.run("rev-list", "--count", f"{upstream.here}..HEAD")
        return int(counted.out) if counted.ok else None

    def waiting(self) -> int:
        """How many commits of an existing repository wait to be pushed; 0 where that cannot be told."""
        try:
            return (self.unpushed() or 0) if self._git_folder is not None else 0
        except CommitError:
            return 0

    def open(self) -> None:
        """Find the repository, or make it where there is nothing or an empty folder. Raises CommitError."""
        with self._opening:
            if self._git_folder is not None:
                return
            try:
                self.path.mkdir(parents=True, exist_ok=True)
                folder = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            except OSError as error:
                raise self._error(f"cannot make it: {error.strerror or error}") from error
            try:
                # Two consoles may find nothing at the same moment; a .git half made is no repository yet.
                self._flock(folder, self.path)
                if not os.path.lexists(self.path / ".git"):
                    self._create()
                paths = ("--git-path", "index", "--git-path", "hooks")
                found = self._git.run("rev-parse", "--absolute-git-dir", "--is-inside-work-tree", *paths)
            finally:
                os.close(folder)
            lines = found.out.splitlines()
            if not found.ok or len(lines) != 4 or lines[1] != "true":
                raise self._error(f"git cannot use this repository: {found.said}")
            self._git_folder = Path(lines[0])
            self._plain = RecordCommit(self._git, self._git_folder, self.path / lines[2], self.path / lines[3])

    def _create(self) -> None:
        if (self.path / "HEAD").is_file() and (self.path / "objects").is_dir():
            raise self._error("a bare repository has no folder to write records into", hint="name a clone of it")
        if next(self.path.iterdir(), None) is not None:
            # Not even when a folder above is one: records belong to a repository of their own.
            raise self._error("is not a git repository and not empty", hint=f"git init {self.path}")
        branch = () if self._git.run("config", "--get", "init.defaultBranch").ok else ("-b", "main")
        made = self._git.run("init", "-q", *branch)
        if not made.ok:
            raise self._error(f"git init: {made.said}")

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Our own lock: git's are held for moments and nobody can wait for them. Raises RepositoryBusyError."""
        assert self._git_folder is not None
        assert self._plain is not None
        path = self._git_folder / "console.lock"
        # Threads of one console take turns without polling a file, and leave the running gits to the next.
        self._waiting.add(threading.get_ident())
        with self._turn:
            self._waiting.discard(threading.get_ident())
            try:
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            except OSError as error:
                raise self._error(f"cannot lock: {error.strerror or error}", where=str(path)) from error
            try:
                self._flock(descriptor, path)
                self._plain.heal()
                yield
            finally:
                if not self._waiting:
                    self._plain.rest()
                os.close(descriptor)

    def _flock(self, descriptor: int, path: Path) -> None:
        for pause in self._pauses(COMMIT_TIMEOUT_S):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self._sleep(pause)
            else:
                return
        raise RepositoryBusyError("another console is committing", where=str(path), hint="console recover")

    def _sha_of(self, folder: str) -> str | None:
        """The commit that brought a record's folder, None when HEAD does not have it."""
        if not self._git.run("cat-file", "-e", f"HEAD:{folder}/record.json").ok:
            return None
        found = self._git.run("log", "-1", "--format=%H", "--", folder)
        return found.out.strip() if found.ok else None

    def _branch(self) -> str:
        """The ref that HEAD stands for, also before its first commit. Raises CommitError for a detached HEAD."""
        assert self._git_folder is not None
        with suppress(OSError, UnicodeDecodeError):
            # Where refs are no files this names one that cannot be.
            said = (self._git_folder / "HEAD").read_text(encoding="utf-8").strip()
            if said.startswith("ref: refs/heads/") and not said.endswith("/.invalid"):
                return said.removeprefix("ref: ")
        head = self._git.run("symbolic-ref", "-q", "HEAD")
        if head.code == 1:
            raise self._error(
                "HEAD is detached: a commit would belong to no branch",
                hint=f"git -C {self.path} switch BRANCH, then console recover",
            )
        if not head.ok:
            raise self._error(f"HEAD cannot be read: {head.said}", hint=f"git -C {self.path} fsck")
        return head.out.strip()

    def _commit(self, folder: str, text: str, record: Record) -> str:
        # A record may be committed or rebased much later: the author's date says when the run ended.
        identity = self._identity_if_none()
        if _RFC_3339.fullmatch(record.finished_at):
            identity = identity | {"GIT_AUTHOR_DATE": record.finished_at}
        plain = self._plain
        assert plain is not None
        names = list(documents(record))
        answer = Answer(1, "", "")
        try:
            for pause in self._pauses(self._patience_s):
                if plain.is_plain():
                    answer = plain.commit(folder, names, text, identity)
                    if answer.ok:
                        return answer.out  # made of our own message, which no hook saw
                else:
                    answer = self._by_porcelain(folder, text, identity)
                if answer.ok or not refusals.BUSY.search(answer.err):
                    break
                self._sleep(pause)
        except NotSignedError as error:
            raise refusals.not_signed(error.answer, self.path) from error
        except OSError as error:
            raise self._error(f"cannot write: {error.strerror or error}", where=str(error.filename or "")) from error
        except CommitError:
            self._unstage(folder)
            raise
        if not answer.ok:
            self._unstage(folder)
            # git can die after the commit stands, in a hook or while it writes the index.
            if self._sha_of(folder) is None:
                raise refusals.refused(answer, self.path, self._patience_s)
        return self._check(folder, record.run)

    def _by_porcelain(self, folder: str, text: str, identity: Mapping[str, str]) -> Answer:
        """By `git commit`: hooks happen as the operator configured them, and what it must refuse it names."""
        # -f: an operator's ignore rules are not about records.
        # -N: a death before the commit leaves nothing staged that an operator's own commit would sweep in.
        added = self._git.run("add", "-f", "-N", "--", folder)
        if not added.ok:
            return added
        # --cleanup: commit.cleanup=strip would take lines that begin with # away.
        commit = ("commit", "-q", "--only", "--cleanup=whitespace", "-F", "-", "--", folder)
        return self._git.run(*commit, data=text, timeout_s=COMMIT_TIMEOUT_S, extra=identity)

    def _unstage(self, folder: str) -> None:
        """The path is ours alone, so setting it to what HEAD has leaves the index as the operator had it."""
        self._git.run("reset", "-q", "--", folder)

    def _check(self, folder: str, run: str) -> str:
        """The sha of the commit just made, and whether its trailers arrived."""
        seen = self._git.run("log", "-1", "--format=%H%n%(trailers:key=Run-Id,valueonly)", "--", folder)
        sha, _, written = seen.out.partition("\n")
        if not seen.ok or not sha:
            raise self._error(f"the commit cannot be read back: {seen.said}")
        if written.strip() != run:
            self.notes.append(f"{sha[:12]}: a hook changed the message, its trailers do not parse")
        return sha

    def _identity_if_none(self) -> dict[str, str]:
        """Variables that name the login as author, where git knows nobody."""
        if self._identity is None:
            self._identity = {}
            if not (self._git.run("var", "GIT_AUTHOR_IDENT").ok and self._git.run("var", "GIT_COMMITTER_IDENT").ok):
                login, host = _login(), socket.gethostname() or "localhost"
                self._identity = {
                    f"GIT_{role}_{part}": value
                    for role in ("AUTHOR", "COMMITTER")
                    for part, value in (("NAME", login), ("EMAIL", f"{login}@{host}"))
                }
                self.notes.append(f"git knows no identity: committed as {login} <{login}@{host}>")
        return self._identity

    def _upstream(self, branch: str) -> Upstream | None:
        form = "%(upstream)%09%(upstream:remotename)%09%(upstream:remoteref)"
        found = self._git.run("for-each-ref", f"--format={form}", branch)
        parts = found.out.strip().split("\t")
        return Upstream(*parts) if found.ok and len(parts) == 3 and all(parts) else None

    def _push(self, branch: str) -> bool:
        """Push when an upstream is set. A failure is a note: the commit is safe here, and is counted as unpushed."""
        if self.push != "auto" or (upstream := self._upstream(branch)) is None:
            return False
        reason = self._publish(branch, upstream)
        if reason:
            self.notes.append(f"not pushed to {upstream.remote}: {reason} (console recover pushes it)")
        return not reason

    def _publish(self, branch: str, upstream: Upstream) -> str:
        publisher = Publisher(
            git=self._git,
            branch=branch,
            upstream=upstream,
            identity=self._identity_if_none(),
            locked=self._locked,
            sleep=self._sleep,
            chance=self._chance,
        )
        try:
            return publisher.push()
        except CommitError as error:
            return error.message

    def _error(self, text: str, *, where: str = "", hint: str = "") -> CommitError:
        return CommitError(
            text, where=where or str(self.path), hint=hint or "set [results] path, or repair it; then console recover"
        )

    def _pauses(self, patience_s: float) -> Iterator[float]:
        """Growing pauses that add up to `patience_s`."""
        spent, pause = 0.0, 0.02
        while spent <= patience_s:
            yield pause
            spent += pause
            pause = min(pause * 1.5, 0.5)


def last_message(path: Path, environment: Mapping[str, str] = os.environ) -> str:
    """The message of the newest commit. Raises CommitError where there is none."""
    folder = path.expanduser().resolve()
    answer = Git(folder, environment).run("log", "-1", "--format=%B")
    if not answer.ok:
        raise CommitError(f"git log: {answer.said}", where=str(folder))
    return answer.out.strip("\n")


def _login() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())
