"""`host.preflight`: would this host start the service again?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from console.errors import RefusedError
from console.schema.facts import Facts
from console.schema.hosts import Target
from console.steps.base import Look, Proposal, Step

# A unit file, its backup and the ledger entry are a few kilobytes; below this a write may still fail half-way.
MIB = 1024 * 1024
NEEDED_BYTES = 64 * MIB


class HostPreflight(Step):
    """Refuse what would not come back: a missing binary or model, a full disk, a driver that does not match.

    What is only suspicious, or cannot be seen, is a warning in plan and record.
    """

    uses: ClassVar[str] = "host.preflight"
    summary: ClassVar[str] = "would this host start it again?"

    def title(self, target: Target) -> str:
        return f"would {target.host_name} start it again?"

    def plan(self, look: Look) -> Iterator[Proposal]:
        problems = refusals(look.facts)
        if problems:
            raise RefusedError(
                "; ".join(problems),
                where=look.target.name,
                hint="mend this on the host first: a restart now would not come back",
            )
        for text in warnings(look.facts):
            look.on_warning(text)
        return iter(())


def refusals(facts: Facts) -> list[str]:
    """Why a restart would not come back, as sentences; empty when nothing speaks against it."""
    found = [f"{path.kind} {path.path} is missing" for path in facts.paths if not path.exists and path.kind != "folder"]
    for label, free in (
        ("the unit's folder", facts.host.free_bytes_unit_folder),
        ("the ledger's folder", facts.host.free_bytes_state_folder),
    ):
        if free is not None and free < NEEDED_BYTES:
            found.append(f"{free // MIB} MiB free for {label}, {NEEDED_BYTES // MIB} MiB needed")
    if facts.host.driver_mismatch:
        kernel = facts.host.kernel_driver or "another version"
        library = facts.host.library_driver or "unknown"
        found.append(
            f"NVIDIA kernel driver {kernel} and user library {library} differ: no process can start on the GPU"
        )
    return found


def warnings(facts: Facts) -> list[str]:
    """What is suspicious or cannot be seen."""
    found = []
    if facts.unit.unit_file_state not in ("enabled", "enabled-runtime", "static", "generated", "indirect", "alias"):
        found.append(f"{facts.unit.id} is {facts.unit.unit_file_state or 'not enabled'}: it will not start at boot")
    found.extend(f"Xid since boot: {line}" for line in facts.host.xid_lines[-3:])
    if facts.host.xid_reason:
        found.append(f"Xid lines cannot be seen: {facts.host.xid_reason}")
    if facts.host.gpu_reason:
        found.append(f"GPUs cannot be seen: {facts.host.gpu_reason}")
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
    return found


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
