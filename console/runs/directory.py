"""The run directory: everything a run leaves on this machine, and the lock that says whether it still lives."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import stat
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from pydantic import ValidationError

from console.errors import StateError
from console.runs.log import EventLog
from console.schema.plan import PlanFile, keep_exact
from console.secrets import Redactor

RUN_ID = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}")
# sockaddr_un holds 108 bytes on Linux and 104 on macOS, the closing NUL among them.
SOCKET_PATH_BYTES = 103
TAKE_PATIENCE_S = 0.5


def base_folder(environment: Mapping[str, str]) -> Path:
    """`$XDG_STATE_HOME/console/runs`, by default under ~/.local/state."""
    state = environment.get("XDG_STATE_HOME", "")
    if not state.startswith("/"):  # the XDG specification: relative paths are ignored
        home = environment.get("HOME") or str(Path.home())
        state = str(Path(home) / ".local" / "state")
    return Path(state) / "console" / "runs"


def socket_candidates(run_id: str, environment: Mapping[str, str]) -> list[Path]:
    """Where a run's control socket may be, the preferred place first.

    The run and who attaches may differ in XDG_RUNTIME_DIR (cron has none), so a reader tries each.
    """
    folders: list[Path] = []
    if (runtime := environment.get("XDG_RUNTIME_DIR", "")).startswith("/"):
        folders.append(Path(runtime) / "console")
    folders += [
        Path(f"/run/user/{os.getuid()}/console"),
        Path(environment.get("TMPDIR") or tempfile.gettempdir()) / f"console-{os.getuid()}",
        Path(f"/tmp/console-{os.getuid()}"),  # noqa: S108 - private_folder refuses it when it is not ours alone
    ]
    paths = [folder / f"{run_id}.sock" for folder in dict.fromkeys(folders)]
    return [path for path in paths if len(os.fsencode(path)) <= SOCKET_PATH_BYTES]


def socket_path(run_id: str, environment: Mapping[str, str]) -> Path:
    """Where this process can put the socket; its folder exists then and is ours alone. Raises StateError."""
    reasons: list[str] = []
    for path in socket_candidates(run_id, environment):
        if path.parts[:3] == ("/", "run", "user") and not path.parent.parent.is_dir():
            continue
        try:
            private_folder(path.parent)
        except OSError as error:
            reasons.append(f"{path.parent}: {error.strerror or error}")
        else:
            return path
    raise StateError(f"no place for the control socket: {'; '.join(reasons)}", hint="set XDG_RUNTIME_DIR")


def private_folder(folder: Path) -> None:
    """Make `folder` if it is missing; it must then be a real folder of ours with mode 0700. Raises OSError."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    # In a shared temp folder somebody else may have been first.
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise OSError(errno.EPERM, "is not a folder of ours", str(folder))
    if found.st_mode & 0o077:
        folder.chmod(0o700)


@dataclass
class RunDirectory:
    """`<base>/<run-id>/` with plan.json, events.jsonl, owner.lock and records/.

    `create` and `take` make this process the owner, until `release` or its end; only the owner writes events.
    """

    path: Path
    _lock: int | None = field(default=None, repr=False)

    @classmethod
    def create(cls, base: Path, run_id: str) -> RunDirectory:
        """A new run's directory (0700), owned by this process. Raises StateError."""
        path = base / run_id
        directory = cls(path)
        try:
            private_folder(base)
            path.mkdir(mode=0o700)
            directory._lock = _locked(directory.lock_path)
            if directory._lock is None:
                raise StateError("another process owns this new run", where=str(path))
            _sync_folder(base)
        except OSError as error:
            directory.release()
            raise StateError(f"cannot write: {error.strerror or error}", where=str(error.filename or path)) from error
        return directory

    @classmethod
    def open(cls, path: Path) -> RunDirectory:
        """An existing run's directory, for reading. Raises StateError."""
        if not path.is_dir():
            raise StateError("no such run directory", where=str(path))
        return cls(path)

    @property
    def run_id(self) -> str:
        return self.path.name

    @property
    def plan_path(self) -> Path:
        return self.path / "plan.json"

    @property
    def events_path(self) -> Path:
        return self.path / "events.jsonl"

    @property
    def lock_path(self) -> Path:
        return self.path / "owner.lock"

    @property
    def records_path(self) -> Path:
        """Where the owner keeps a copy of each record, so that a results repository is not needed to keep it."""
        return self.path / "records"

    @property
    def pid(self) -> int:
        """The owner's process id, for run.started; 0 where this process only reads."""
        return os.getpid() if self.owned else 0

    @property
    def owned(self) -> bool:
        """Whether this process owns the run."""
        return self._lock is not None

    def alive(self) -> bool:
        """Whether a process owns the run, asked of the kernel.

        The question is a shared lock for an instant: two who ask do not disturb each other, and `take` waits it out.
        """
        if self._lock is not None:
            return True
        try:
            descriptor = os.open(self.lock_path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(descriptor)
        return False

    def take(self, sleep: Callable[[float], None] = time.sleep) -> None:
        """Become the owner of a run whose process is gone. Raises StateError while another process owns it."""
        for attempt in range(10):
            if self._lock is None:
                try:
                    self._lock = _locked(self.lock_path)
                except OSError as error:
                    raise StateError(f"cannot lock: {error.strerror or error}", where=str(self.lock_path)) from error
            if self._lock is not None:
                return
            if attempt < 9:
                sleep(TAKE_PATIENCE_S / 9)
        raise StateError("its process is still running", where=str(self.path), hint="console runs")

    def release(self) -> None:
        """Give the ownership up; the run is then finished or an orphan."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def log(self, *, now: Callable[[], str], redactor: Redactor, kill_after: tuple[int, int] = (0, 0)) -> EventLog:
        """The event log, for its owner. `now` gives the time as events carry it. Raises StateError.

        `kill_after` is a hook of crash tests, see `console.runs.log.kill_after`.
        """
        if not self.owned:
            raise StateError("only the owner of a run writes its events", where=str(self.path))
        return EventLog(self.events_path, self.run_id, now=now, redactor=redactor, kill_after=kill_after)

    def write_plan(self, plan_file: PlanFile, redactor: Redactor) -> None:
        """Write plan.json, once and durably. Raises StateError when it is there already or cannot be written."""
        if self.plan_path.exists():
            raise StateError("the plan of a run is written once", where=str(self.plan_path))
        try:
            write_durably(self.plan_path, masked_json(plan_file, redactor))
        except OSError as error:
            raise StateError(f"cannot write: {error.strerror or error}", where=str(self.plan_path)) from error

    def read_plan(self) -> PlanFile:
        """plan.json as it was written. Raises StateError when it is missing, damaged or of a newer schema."""
        where = str(self.plan_path)
        try:
            document = json.loads(self.plan_path.read_bytes())
        except FileNotFoundError:
            raise StateError("the run has no plan.json", where=where, hint="it changed nothing") from None
        except (OSError, ValueError) as error:
            raise StateError(f"cannot read the plan: {error}", where=where) from None
        version = document.get("schema") if isinstance(document, dict) else None
        if isinstance(version, int) and version > 1:
            raise StateError(f"schema = {version}, this program reads up to 1", where=where, hint="use a newer console")
        try:
            return PlanFile.model_validate(document)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            key = ".".join(str(part) for part in first["loc"])
            raise StateError(f"damaged plan: {key}: {first['msg']}", where=where) from None

    def __enter__(self) -> RunDirectory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def masked_json(plan_file: PlanFile, redactor: Redactor) -> bytes:
    """Plans as a file holds them: without secrets, and exact where a file's bytes and digests are meant."""
    body = plan_file.model_dump(mode="json", by_alias=True)
    document = redactor.tree(body)
    for shown, plan in zip(document["plans"], body["plans"], strict=True):
        keep_exact(shown, plan)
    return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")


def write_durably(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Write a whole file so that after a crash it is there complete, or as before. Raises OSError."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, mode)
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _locked(path: Path) -> int | None:
    """The descriptor that holds the lock, or None while another has it. Not inherited by programs we start."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor
