"""Whether a host would start a unit again: what speaks against it, what is suspicious, and the verdict in a line."""

from __future__ import annotations

import re
from collections.abc import Iterator

from console.analysis.diagnosis.xid import read_xids
from console.schema.facts import Facts
from console.units.effective import EffectiveUnit
from console.untrusted import one_line

# A unit file, its backup and the ledger entry are a few kilobytes; below this a write may still fail half-way.
MIB = 1024 * 1024
NEEDED_BYTES = 64 * MIB
# Workers of an engine over several GPUs pass tensors through it; with less NCCL and PyTorch do not start.
NEEDED_SHM_BYTES = 16 * MIB
WANTED_SHM_BYTES = 1024 * MIB
_FETCHES = re.compile(
    r"\b(?:docker|podman|nerdctl)(?:[ -]compose)? (?:.* )?pull\b|--pull[= ]always|\bgit (?:.* )?(?:pull|clone|fetch)\b"
    r"|\b(?:curl|wget|rsync|aria2c)\b|\b(?:huggingface-cli|hf) download\b|\bpip3? install\b|\buv (?:sync|pip)\b"
    r"|\bapt(?:-get)? |\baws s3\b|\bgsutil\b"
)
SHM = "/dev/shm"  # noqa: S108 - its room is asked for, nothing is written there
SKEW_S = 2.0
_STARTS_AT_BOOT = ("enabled", "enabled-runtime", "static", "generated", "indirect", "alias")
SAFE = "restart safe"
NOT_SAFE = "restart would not come back"


def verdict(facts: Facts) -> str:
    """`restart safe`, or `restart would not come back: REASON`."""
    found = reasons(facts)
    return f"{NOT_SAFE}: {'; '.join(found)}" if found else SAFE


def reasons(facts: Facts) -> list[str]:
    """Why a restart would not come back, as sentences; empty when nothing speaks against it."""
    return [*_paths(facts), *_room(facts), *_driver(facts), *_gpus(facts), *_start(facts)]


def _paths(facts: Facts) -> Iterator[str]:
    for path in facts.paths:
        if not path.exists and path.kind != "folder":
            yield f"{path.kind} {path.path} is missing"
    if facts.around.image_missing:
        yield f"image {facts.around.image_missing} is not on this host: a start would have to pull it"


def _room(facts: Facts) -> Iterator[str]:
    for label, free in (
        ("the unit's folder", facts.host.free_bytes_unit_folder),
        ("the ledger's folder", facts.host.free_bytes_state_folder),
        ("/", facts.around.free_bytes.get("/")),
    ):
        if free is not None and free < NEEDED_BYTES:
            yield f"{free // MIB} MiB free for {label}, {NEEDED_BYTES // MIB} MiB needed"
    shm = facts.around.free_bytes.get(SHM)
    if shm is not None and shm < NEEDED_SHM_BYTES:
        yield f"{shm // MIB} MiB free in {SHM}, {NEEDED_SHM_BYTES // MIB} MiB needed"


def _driver(facts: Facts) -> Iterator[str]:
    if facts.host.driver_mismatch:
        kernel = facts.host.kernel_driver or "another version"
        library = facts.host.library_driver or "unknown"
        yield f"NVIDIA kernel driver {kernel} and user library {library} differ: no process can start on the GPU"
    state = facts.around.fabric_manager
    if state is not None and state != "active":
        yield f"this host has NVSwitches and its fabric manager is {state or 'not there'}: CUDA does not initialise"


def _gpus(facts: Facts) -> Iterator[str]:
    last = {}
    for xid in read_xids(facts.host.xid_lines):
        if xid.meaning is not None and xid.meaning.stops:
            last[xid.bus] = xid
    yield from (f"{xid.text}, in this boot" for xid in last.values())
    for gpu in facts.around.gpu_health:
        if gpu.uncorrected:
            yield f"GPU {gpu.index} counts {gpu.uncorrected} uncorrectable memory errors since its last reset"


def _start(facts: Facts) -> Iterator[str]:
    limit, load = facts.unit.timeout_start_s, facts.load_times_s[0] if facts.load_times_s else None
    if load is not None and limit and facts.unit.type in ("notify", "notify-reload", "forking") and limit < load:
        yield f"the last start took {load:.0f} s, and TimeoutStartSec={limit:.0f}s would end it before"


def warnings(facts: Facts, unit: EffectiveUnit | None = None) -> list[str]:
    """What is suspicious or cannot be seen."""
    found = []
    if facts.unit.unit_file_state not in _STARTS_AT_BOOT:
        found.append(f"{facts.unit.id} is {facts.unit.unit_file_state or 'not enabled'}: it will not start at boot")
    found += [xid.text for xid in read_xids(facts.host.xid_lines[-3:]) if xid.meaning is None or not xid.meaning.stops]
    if facts.host.xid_reason:
        found.append(f"Xid lines cannot be seen: {facts.host.xid_reason}")
    if facts.host.gpu_reason:
        found.append(f"GPUs cannot be seen: {facts.host.gpu_reason}")
    if facts.host.skew_s is not None and abs(facts.host.skew_s) > SKEW_S:
        way = "ahead of" if facts.host.skew_s > 0 else "behind"
        found.append(f"its clock is {abs(facts.host.skew_s):.0f} s {way} ours: times of its journal are its own")
    for label, free in (
        ("the unit's folder", facts.host.free_bytes_unit_folder),
        ("the ledger's folder", facts.host.free_bytes_state_folder),
    ):
        if free is None:
            found.append(f"free space of {label} cannot be seen")
    if facts.unit.timeout_start_s and facts.unit.type not in ("simple", "exec", "idle"):
        found.append(
            f"Type={facts.unit.type} with TimeoutStartSec={facts.unit.timeout_start_s:.0f}s: a slower load is killed"
        )
    return [*found, *_around(facts), *(_fetched(unit) if unit is not None else ())]


def _around(facts: Facts) -> Iterator[str]:
    around = facts.around
    shm = around.free_bytes.get(SHM)
    if shm is not None and NEEDED_SHM_BYTES <= shm < WANTED_SHM_BYTES and len(facts.host.gpus) > 1:
        yield f"{shm // MIB} MiB free in {SHM}: little for an engine over several GPUs"
    for gpu in around.gpu_health:
        if gpu.remap_pending:
            yield f"GPU {gpu.index} has memory rows to replace at its next reset"
    yield from (f"the driver says: {one_line(line, 160)}" for line in around.nvrm_lines[-3:])
    if around.reboot_required:
        because = f" ({', '.join(around.reboot_packages[:5])})" if around.reboot_packages else ""
        yield f"the host asks for a reboot{because}"
    for user in around.gpu_users:
        memory = f" with {user.memory_mib} MiB" if user.memory_mib is not None else ""
        whose = f" of {user.group}" if user.group else ""
        yield f"process {user.pid}{whose} is on the GPUs{memory} and not of this unit: {one_line(user.command, 60)}"


def _fetched(unit: EffectiveUnit) -> Iterator[str]:
    """Commands before the start that reach for the network: it must be up, and may bring another version."""
    for name in ("ExecStartPre", "ExecStart", "ExecCondition"):
        for each in unit.assignments("Service", name):
            if found := _FETCHES.search(each.value):
                what = f"{each.where}: {name} downloads ({one_line(found[0], 40)})"
                yield f"{what}: a start may need the network and bring another version"


def comes_back(facts: Facts) -> list[str]:
    """The plan's answer to "will it come back?", in short facts."""
    said = []
    if facts.host.kernel_driver:
        same = "!=" if facts.host.driver_mismatch else "="
        said.append(f"driver {facts.host.kernel_driver} {same} libraries {facts.host.library_driver or 'not seen'}")
    elif facts.host.gpus:
        said.append(f"driver {facts.host.gpus[0].driver}")
    if not facts.host.xid_reason:
        said.append("no Xid since boot" if not facts.host.xid_lines else f"{len(facts.host.xid_lines)} Xid lines")
    said += [f"{path.kind} {'there' if path.exists else 'MISSING'}" for path in facts.paths if path.kind != "folder"]
    return said
