"""What was seen on a host, frozen. Bytes of files stay in memory: they may hold secrets and are never serialised."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from console.schema.change import ABSENT
from console.schema.names import Read
from console.schema.serving import Serving
from console.schema.surroundings import Surroundings

FileKind = Literal["fragment", "dropin", "environment", "wrapper", "options", "source"]
# asked: it takes the password that a person gave. limited: to some commands. tty: it wants a terminal.
# each_call: somebody must approve each call. one_time: it took our answer once, and not again. talks: its text for
# people stands in what commands answer.
SudoState = Literal[
    "root", "passwordless", "asked", "limited", "each_call", "one_time", "talks", "password", "tty", "refused", "absent"
]
ABLE = frozenset({"root", "passwordless", "asked", "limited"})


class UnitFile(Read):
    """One file that decides the unit. `real_path` differs from `path` where it is a symlink."""

    path: str
    real_path: str
    kind: FileKind
    sha256: str = ""
    size: int = 0
    mode: int = 0o644
    uid: int = 0
    gid: int = 0
    missing: bool = False
    error: str = ""  # why it could not be read
    content: bytes = Field(default=b"", exclude=True, repr=False)

    @property
    def digest(self) -> str:
        """What it is known by; of one that cannot be read it is empty."""
        return ABSENT if self.missing else self.sha256


class UnitState(Read):
    """What systemd says of the unit now; names follow `systemctl show`."""

    id: str
    load_state: str = ""
    active_state: str = ""
    sub_state: str = ""
    result: str = ""
    type: str = ""
    unit_file_state: str = ""
    fragment_path: str = ""
    source_path: str = ""
    dropin_paths: tuple[str, ...] = ()
    environment_files: tuple[str, ...] = ()  # each "path (ignore_errors=yes|no)"
    need_daemon_reload: bool = False
    main_pid: int = 0
    invocation_id: str = ""
    n_restarts: int = 0
    exec_start: tuple[str, ...] = ()  # systemd's argv[] text of each command, words joined by blanks
    exec_main_code: str = ""
    exec_main_status: int = 0
    restart: str = ""
    restart_s: float = 0.0
    timeout_start_s: float | None = None  # None: infinity
    user: str = ""
    working_directory: str = ""
    control_group: str = ""
    job: str = ""  # a queued job's type and id
    required_by: tuple[str, ...] = ()
    triggers_with: tuple[str, ...] = ()  # Wants/Requires/PartOf counterparts that move with a restart


class UserUnit(Read):
    """A unit of that name in a user's own service manager (`systemctl --user`), where the system's has none."""

    user: str
    uid: int
    path: str
    running: bool = False
    linger: bool = False  # it runs on, and starts at boot, without anybody logged in


class Process(Read):
    """The engine's own process: the one that listens on the service's port inside the unit's control group."""

    pid: int = 0
    argv: tuple[str, ...] = ()
    environment: dict[str, str] = Field(default_factory=dict)
    started_ticks: int = 0  # /proc/PID/stat field 22
    reason: str = ""  # why there is none
    foreign_pid: int = 0  # a process outside the unit owns the port


class Gpu(Read):
    index: int
    name: str
    memory_total_mib: int
    memory_used_mib: int
    driver: str = ""
    uuid: str = ""
    clock_mhz: int | None = None  # of its streaming multiprocessors, as they run now
    load_percent: int | None = None  # asked for by a glance only


class HostState(Read):
    """The machine itself."""

    hostname: str = ""
    boot_id: str = ""
    kernel: str = ""
    os: str = ""
    now: str = ""  # RFC 3339, the host's own clock
    skew_s: float | None = None  # how far that is from ours at least; positive: it is ahead
    uptime_s: float = 0.0
    login_user: str = ""
    uid: int = -1
    sudo: SudoState = "absent"
    sudo_said: str = ""  # why not, in its own words
    sudo_missing: tuple[str, ...] = ()  # commands that a run needs and a limited sudo does not allow
    sudo_missing_for_new: tuple[str, ...] = ()  # the same of a run that makes a drop-in
    systemd_version: int = 0
    free_bytes_unit_folder: int | None = None
    free_bytes_state_folder: int | None = None
    gpus: tuple[Gpu, ...] = ()
    gpu_reason: str = ""  # why GPUs cannot be seen
    kernel_driver: str = ""
    library_driver: str = ""
    driver_mismatch: bool = False
    xid_lines: tuple[str, ...] = ()
    xid_reason: str = ""
    simulated: bool = False


class LogFile(Read):
    """Where the engine's output goes instead of the journal; no path: the journal.

    `position`: how much of the file there was, in bytes; of a container's log (`container:`) the time.
    """

    path: str = ""
    position: str = ""


class PathCheck(Read):
    """A path the command line names, looked at on the host."""

    path: str
    exists: bool
    kind: Literal["binary", "model", "folder"]


class ModelConfig(Read):
    """config.json of the model or of its draft, where the command line points. `named` is the word that points."""

    role: Literal["model", "draft"]
    named: str
    path: str = ""
    sha256: str = ""
    error: str = ""  # why it could not be read
    weights_bytes: int | None = None  # of the weight files beside it
    content: bytes = Field(default=b"", exclude=True, repr=False)


class PoolLine(Read):
    """A KV pool as the engine logged it. `gib`: on one GPU."""

    tokens: int
    gib: float | None = None
    dtype: str = ""


class MemoryLog(Read):
    """What the log of this start says of one GPU's memory."""

    weights_gib: float | None = None
    pools: tuple[PoolLine, ...] = ()
    free_gib: float | None = None  # after the graphs
    max_running: int | None = None


# In these states an entry waits for somebody: under way, being put back, or put back by the guard and not proven.
OPEN_STATES = frozenset({"open", "undoing", "guard"})


class Software(Read):
    """What the engine's process is made of, as far as it can be seen from the host."""

    packages: tuple[str, ...] = ()  # name-version of those that decide speed, in the environment of its interpreter
    image: str = ""  # of its container
    system_packages_at: int | None = None  # when the host's own were last changed, seconds since the epoch


class LedgerEntry(Read):
    """A change the host remembers. `document` is its change.json, masked."""

    run: str
    unit: str = ""
    state: str = ""  # open · verified · rolled-back · unchanged …
    operator: str = ""
    from_host: str = ""
    at: str = ""
    reason: str = ""
    summary: str = ""

    @property
    def open(self) -> bool:
        return self.state in OPEN_STATES


class LockState(Read):
    """The unit's lock as anybody can read it."""

    held: bool = False
    run: str = ""
    operator: str = ""
    from_host: str = ""
    since: str = ""


class GuardState(Read):
    """The dead-man's switch that is armed on the host for this unit; no `run`: none is."""

    run: str = ""
    active: bool = False
    idle: bool = False  # nothing that its run wrote is on disk: it has nothing to put back
    fires_in_s: float | None = None


class Facts(Read):
    """Everything a plan needs of one target, read in one go."""

    target: str
    read_at: str
    host: HostState
    unit: UnitState
    user_units: tuple[UserUnit, ...] = ()
    files: tuple[UnitFile, ...] = ()
    drop_in_folder: str = ""  # of this unit alone, under /etc, where it really lies; empty: it is not there
    drop_in_sharers: tuple[str, ...] = ()  # units whose own folder leads to the same one
    process: Process = Field(default_factory=Process)
    serving: Serving | None = None
    serving_reason: str = ""  # why the engine did not answer
    paths: tuple[PathCheck, ...] = ()
    ledger: tuple[LedgerEntry, ...] = ()
    lock: LockState = Field(default_factory=LockState)
    guard: GuardState = Field(default_factory=GuardState)
    load_times_s: tuple[float, ...] = ()  # start to ready, of starts the journal still shows, newest first
    prefill_tok_s: float | None = None  # as the engine last logged it
    foreign_requests_60s: int | None = None  # requests not ours in the last minute; None: cannot be seen
    models: tuple[ModelConfig, ...] = ()
    software: Software = Field(default_factory=Software)
    memory: MemoryLog = Field(default_factory=MemoryLog)
    log: LogFile = Field(default_factory=LogFile)
    around: Surroundings = Field(default_factory=Surroundings)
    nodes: tuple[Facts, ...] = ()  # of the other places of the same engine, in the order of their ranks
    router_silent: str = ""  # why what stands before a pair does not answer
    part: bool = False  # it is the other part of a pair, with a unit and an endpoint of its own

    @property
    def host_name(self) -> str:
        """As the inventory calls it."""
        return self.target.partition("/")[0]

    @property
    def node(self) -> str:
        """As `Target.node`, of one of `nodes`."""
        return self.target if self.part else self.host_name

    def names(self) -> dict[str, str | int | float | None]:
        """What a runbook may name as `facts.NAME`."""
        serving = self.serving or Serving()
        return {
            "running_requests": serving.running_requests,
            "queued_requests": serving.queued_requests,
            "context_length": serving.context_length,
            "pool_tokens": serving.pool_tokens,
            "largest_request_tokens": serving.largest_request_tokens,
            "model": serving.model,
            "engine_version": serving.version,
            "hostname": self.host.hostname or None,
            "kernel": self.host.kernel or None,
            "boot_id": self.host.boot_id or None,
            "active_state": self.unit.active_state or None,
            "sub_state": self.unit.sub_state or None,
            "main_pid": self.unit.main_pid or None,
            "invocation_id": self.unit.invocation_id or None,
            "n_restarts": self.unit.n_restarts,
        }


FACT_NAMES = frozenset(Facts(target="", read_at="", host=HostState(), unit=UnitState(id="")).names())

# The environments of processes are nobody's business in a log or a record.
PRIVATE: Mapping[str, Any] = {"process": {"environment"}, "nodes": {"__all__": {"process": {"environment"}}}}
