"""The kinds of change, as values that say everything needed to make, find and undo them.

They are written to plan.json, to the event log and to the ledger on the host, so they hold no secret: a file change is
the bytes it replaces and the digests around it, never the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from console.schema.names import Frozen
from console.schema.splice import Splice

Value = str | int | float | bool

# In the place of a digest: there is no such file.
ABSENT = "absent"


class FileChange(Frozen):
    """Replace bytes of one file. `path` is what systemd names, `real_path` what is written (a symlink's target).

    A digest may be ABSENT: then the file is made, or taken away. `folder`: its folder comes and goes with it.
    """

    kind: Literal["file"] = "file"
    id: str
    step: str
    path: str
    real_path: str
    sha256_before: str
    sha256_after: str
    splices: tuple[Splice, ...]
    mode: int
    uid: int
    gid: int
    summary: str = ""
    needs_reload: bool = True
    folder: bool = False
    node: str = ""  # the host it lies on, where that is another one than the target's

    @property
    def makes(self) -> bool:
        return self.sha256_before == ABSENT

    @property
    def removes(self) -> bool:
        return self.sha256_after == ABSENT


class ReloadChange(Frozen):
    """`systemctl daemon-reload`, on `nodes` as well."""

    kind: Literal["reload"] = "reload"
    id: str
    step: str
    unit: str
    summary: str = "daemon-reload"
    nodes: tuple[str, ...] = ()


class NodeStart(Frozen):
    """The start that a restart ends in another place of the same engine; fields as in RestartChange."""

    node: str
    unit: str = ""  # where it is another one than the restart's
    invocation_before: str
    n_restarts_before: int = 0
    job_before: str = ""


class RestartChange(Frozen):
    """Restart the unit; `invocation_before` tells a start of ours from one that was there.

    With `nodes` it is stopped on all hosts, this one first, and then started on all.
    """

    kind: Literal["restart"] = "restart"
    id: str
    step: str
    unit: str
    invocation_before: str
    reset_failed: bool = False
    n_restarts_before: int = 0
    job_before: str = ""  # a job that was queued already
    summary: str = "restart"
    nodes: tuple[NodeStart, ...] = ()


class CommandChange(Frozen):
    """A command that changes the host; `undo` puts it back, empty: it cannot be undone by us."""

    kind: Literal["command"] = "command"
    id: str
    step: str
    command: str
    sudo: bool = False
    undo: str = ""
    timeout_s: float = 60.0
    summary: str = ""


class FabricChange(CommandChange):
    """A task of a fabfile: `command` shows it, `undo` is the task that puts back what it did."""

    kind: Literal["fabric"] = "fabric"  # type: ignore[assignment]  # a command to all but who carries it out
    file: str
    sha256: str
    task: str
    args: Mapping[str, Value] = Field(default_factory=dict)


class BalancerChange(Frozen):
    """Take a target out of its group's front door, or put it in: the one is the undo of the other.

    `out` and `back` are commands or calls, and may be made twice; `runs` says where.
    """

    kind: Literal["balancer"] = "balancer"
    id: str
    step: str
    way: Literal["out", "in"]
    member: str
    group: str
    out: str
    back: str
    state: str = ""
    runs: Literal["host", "console"] = "host"
    sudo: bool = False
    token_env: str = ""
    timeout_s: float = 30.0
    summary: str = ""

    @property
    def action(self) -> str:
        """What is done for it."""
        return self.out if self.way == "out" else self.back

    @property
    def by_hand(self) -> str:
        """What a person does to put the target in, and where."""
        return f"{self.back}   ({WHERE[self.runs]})"


WHERE = {"host": "on the host", "console": "on the machine of the console"}

Change = Annotated[
    FileChange | ReloadChange | RestartChange | CommandChange | FabricChange | BalancerChange,
    Field(discriminator="kind"),
]
