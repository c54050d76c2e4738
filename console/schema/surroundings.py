"""What stands around a unit on its host: who shares its files, who uses its GPUs, what it needs to come back."""

from __future__ import annotations

from pydantic import Field

from console.schema.names import Read


class SharedFile(Read):
    """A file of this unit's that another one reads. `named_in`: the file that says so; empty: systemd has it loaded."""

    path: str
    named_in: str = ""
    unit: str = ""


class Place(Read):
    """Where a file lies: its file system, and what keeps it from being replaced there."""

    path: str
    mount: str = ""
    fstype: str = ""
    source: str = ""
    read_only: bool = False
    immutable: bool = False  # chattr +i
    append_only: bool = False  # chattr +a
    frozen_at: str = ""  # what has that attribute: the file or its folder
    package: str = ""  # the package that brought it


class GpuUser(Read):
    """A process that holds memory of a GPU. `group`: its control group."""

    pid: int
    memory_mib: int | None = None
    group: str = ""
    command: str = ""


class GpuContainer(Read):
    """A running container that was given GPUs by its runtime, without the devices being named."""

    id: str
    name: str
    tool: str


class GpuHealth(Read):
    """What one GPU says of its memory since it was last reset; None: not told."""

    index: int
    uncorrected: int | None = None
    remap_pending: bool | None = None


class Relations(Read):
    """What systemd moves with the unit, or moves it."""

    conflicts: tuple[str, ...] = ()  # stopped by a start of this one, or stopping it
    triggered_by: tuple[str, ...] = ()  # timers, sockets and paths that start it
    starts: tuple[str, ...] = ()  # started with it where they are not running
    watchdog_s: float = 0.0


class Surroundings(Read):
    """All of it; `looked` is false where the host was not asked."""

    looked: bool = False
    relations: Relations = Field(default_factory=Relations)
    shared: tuple[SharedFile, ...] = ()
    restarted_by: tuple[str, ...] = ()  # files of units and of cron with a command that restarts or stops this unit
    stale: tuple[str, ...] = ()  # other units that a daemon-reload would read anew
    places: tuple[Place, ...] = ()
    free_bytes: dict[str, int] = Field(default_factory=dict)  # of /, /dev/shm, /tmp
    reboot_required: bool = False
    reboot_packages: tuple[str, ...] = ()
    fabric_manager: str | None = None  # its ActiveState, where there are NVSwitches
    gpu_health: tuple[GpuHealth, ...] = ()
    gpu_users: tuple[GpuUser, ...] = ()  # processes outside the unit
    nvrm_lines: tuple[str, ...] = ()  # what the driver logged in this boot besides Xids
    image_missing: str = ""  # the image of the unit's container, where the host does not have it
    containers: tuple[GpuContainer, ...] = ()  # of the systemd cgroup driver: a daemon-reload may take their GPUs

    def place(self, path: str) -> Place:
        """Where a file lies, as far as it was seen."""
        return next((each for each in self.places if each.path == path), Place(path=path))
