"""Everything that can go wrong, by phase.

::

    ConsoleError                      exit  changed
    ├── UsageError                      2   no        wrong without asking a host
    │   ├── InvalidFileError            2   no        a TOML file: file, line, key, nearest spelling
    │   └── NoSuchTargetError           2   no
    ├── RefusedError                    1   no        a host or a file says no
    │   ├── SettingNotFoundError        1   no
    │   ├── SettingElsewhereError       1   no        the value lives where we do not edit; names the place
    │   ├── UnexpectedValueError        1   no        `expect` differs
    │   ├── PendingChangesError         1   no        the restart would activate more; needs --accept-pending
    │   ├── EngineAuthError             1   no        the engine refused our key
    │   └── StateError                  1   no        a local file, run or record cannot be used
    │       └── CommitError             1   no        a record is saved, but not in the results repository
    │           ├── RepositoryBusyError 1   no        another process holds a lock of git's, or ours
    │           └── HookRefusedError    1   no        a hook, or what signs, said no
    ├── LockHeldError                   6   no        lock or guard of another run
    ├── ConnectError                    7   no        before anything ran
    │   ├── UnreachableError            7   no
    │   ├── AuthenticationError         7   no
    │   ├── HostKeyUnknownError         7   no
    │   ├── HostKeyChangedError         7   no
    │   └── SudoError                   7   no        a password is wanted, or sudo is not allowed
    ├── StalePlanError                  8   no        a deciding file is not as planned
    │   └── ForeignEditError            8   no        neither our before nor our after: somebody's edit
    ├── StepFailedError                 1   unknown   a step did not do what it must
    │   ├── NotReadyError               1   yes       the service did not come up
    │   ├── NotServedError              1   yes       up, but the setting is not served
    │   ├── NotMeasuredError            1   unknown   the engine went away under a measurement
    │   └── RestartedByOthersError      3   yes       another invocation replaced ours
    ├── ConnectionLostError             9   unknown   in flight: we cannot tell whether it happened
    ├── AbortedError                  130   no        a person said stop
    └── InternalError                   1   unknown   a bug of ours

`exit_code` is the code when nothing was changed; once something was, the outcome of the run decides (schema.outcome).
"""

from __future__ import annotations


class ConsoleError(Exception):
    """Base of all our errors: a message, where it was, and what to do next."""

    exit_code: int = 1
    changed: bool | None = False

    def __init__(self, message: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = hint

    @property
    def kind(self) -> str:
        return type(self).__name__.removesuffix("Error")

    def __str__(self) -> str:
        text = f"{self.where}: {self.message}" if self.where else self.message
        return f"{text}\n  next: {self.hint}" if self.hint else text


class UsageError(ConsoleError):
    exit_code = 2


class InvalidFileError(UsageError):
    """A file of ours does not say what it must; `where` is file, line and key."""


class NoSuchTargetError(UsageError):
    """The inventory has no such host, service, tag or group."""


class RefusedError(ConsoleError):
    """A host or a file says no, before anything was changed."""


class SettingNotFoundError(RefusedError):
    """The setting is nowhere in what decides the unit."""


class SettingElsewhereError(RefusedError):
    """The value lives where this release does not edit; the message names the place."""


class UnexpectedValueError(RefusedError):
    """The unit says something else than `expect`."""


class PendingChangesError(RefusedError):
    """The restart would also activate what this run did not edit."""


class EngineAuthError(RefusedError):
    """The engine answered 401 or 403 to our key."""


class StateError(RefusedError):
    """A run directory, record or repository on this machine cannot be used."""


class CommitError(StateError):
    """The results repository did not take a record; the record itself is saved, and no outcome changes."""


class RepositoryBusyError(CommitError):
    """Another process holds a lock of the repository for longer than we wait; it is never removed by us."""


class HookRefusedError(CommitError):
    """A hook of the repository, or what signs its commits, refused."""


class LockHeldError(ConsoleError):
    """Another run holds the unit's lock or its guard."""

    exit_code = 6


class ConnectError(ConsoleError):
    """No session with the host; nothing ran there."""

    exit_code = 7


class UnreachableError(ConnectError):
    pass


class AuthenticationError(ConnectError):
    pass


class HostKeyUnknownError(ConnectError):
    pass


class HostKeyChangedError(ConnectError):
    pass


class SudoError(ConnectError):
    """`sudo -n` was refused: a password is wanted, or the command is not allowed."""


class StalePlanError(ConsoleError):
    """A file that decides the unit is not as the plan read it."""

    exit_code = 8


class ForeignEditError(StalePlanError):
    """The file is neither as it was before our change nor as we left it."""


class StepFailedError(ConsoleError):
    changed: bool | None = None


class NotReadyError(StepFailedError):
    """The service did not become ready; the message carries the lines that say why, `cause` the log table's word."""

    changed: bool | None = True
    cause: str = ""


class NotServedError(StepFailedError):
    """The service is up, but what it serves is not what the unit says."""

    changed: bool | None = True


class NotMeasuredError(StepFailedError):
    """A measurement came to its end before it was done: the engine is gone, or another start of it answers."""


class RestartedByOthersError(StepFailedError):
    """Somebody else's start replaced ours; nothing is rolled back over them."""

    exit_code = 3
    changed: bool | None = True


class ConnectionLostError(ConsoleError):
    """The connection died while something was in flight: its effect is unknown."""

    exit_code = 9
    changed: bool | None = None


class AbortedError(ConsoleError):
    exit_code = 130


class InternalError(ConsoleError):
    changed: bool | None = None
