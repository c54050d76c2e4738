"""What differs between the files, what systemd has read, what runs and what is served."""

from __future__ import annotations

from collections.abc import Sequence

from console.engines.base import Engine
from console.schema.facts import Facts
from console.settings.resolve import argv_on_disk, environment_on_disk, unit_of
from console.steps.levels import levels_of
from console.views.argv import near_changes
from console.views.cells import wrap
from console.views.levels import levels_table


def drift_text(facts: Facts, engine: Engine, settings: Sequence[str], width: int) -> str:
    """The four levels of each setting, then the words of the command line that differ from level to level."""
    said = levels_table([levels_of(facts, engine, name) for name in settings], width)
    unit = unit_of(facts)
    disk = argv_on_disk(unit, environment_on_disk(unit))
    loaded = facts.unit.exec_start[0].split() if facts.unit.exec_start else []
    running = list(facts.process.argv)
    for label, before, after in (
        ("loaded -> disk: live after a daemon-reload", loaded, list(disk or [])),
        ("running -> loaded: live with the next restart", running, loaded),
        ("running -> disk: live with a reload and a restart", running, list(disk or [])),
    ):
        words = near_changes(before, after) if before and after else []
        said += ["", label]
        said += wrap(" ".join(words) if words else _same(before, after), width, first="  ")
    if facts.unit.need_daemon_reload:
        said += ["", "systemd says that a daemon-reload is due: a file has changed since it was read"]
    return "\n".join(said)


def _same(before: Sequence[str], after: Sequence[str]) -> str:
    return "no word differs" if before and after else "n/a: one of the two cannot be seen"


def gpu_text(facts: Facts, width: int) -> str:
    """Each GPU with memory and load, the driver, and what the kernel said of them."""
    host = facts.host
    said = []
    for gpu in host.gpus:
        share = gpu.memory_used_mib / gpu.memory_total_mib if gpu.memory_total_mib else 0.0
        filled = round(share * BAR)
        load = "" if gpu.load_percent is None else f"  load {gpu.load_percent}%"
        memory = f"{gpu.memory_used_mib / 1024:.1f} of {gpu.memory_total_mib / 1024:.1f} GiB"
        said.append(f"GPU {gpu.index}  [{'#' * filled}{'.' * (BAR - filled)}] {memory}{load}")
        said += wrap(f"{gpu.name}  {gpu.uuid}", width, first="       ")
    said += [] if host.gpus else wrap(f"no GPU is seen: {host.gpu_reason or 'nothing was told'}", width)
    said += [
        "",
        *wrap(f"driver of the kernel {host.kernel_driver or 'n/a'}, libraries {host.library_driver or 'n/a'}", width),
    ]
    if host.driver_mismatch:
        said += wrap("THEY DIFFER: nothing that uses the GPU will start again before a reboot", width)
    said += ["", "Xid lines of this boot"]
    lines = list(host.xid_lines[-20:]) or [host.xid_reason or "none"]
    return "\n".join([*said, *(line for text in lines for line in wrap(text, width, first="  "))])


BAR = 24
