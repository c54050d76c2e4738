"""nvidia-smi's own words about clocks, throttling, PCIe and processes as values. Pure; what is odd becomes a reason.

Fields are asked for by name, so their order is ours; drivers before 535 know `clocks_throttle_reasons` only and newer
ones keep it as an alias of `clocks_event_reasons`. A field that a GPU does not have is `[N/A]` or `[Not Supported]`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from console.schema.gpu_state import GpuProcess, GpuState, Hardware
from console.untrusted import decode, one_line

# nvidia-smi's name → ours, in the order of look_speed.sh.
FIELDS: Mapping[str, str] = {
    "index": "index",
    "pci.bus_id": "bus_id",
    "pstate": "performance_state",
    "utilization.gpu": "utilization",
    "temperature.gpu": "temperature_c",
    "power.draw": "power_w",
    "power.limit": "power_limit_w",
    "clocks.sm": "sm_mhz",
    "clocks.max.sm": "sm_max_mhz",
    "clocks.mem": "memory_mhz",
    "clocks.max.mem": "memory_max_mhz",
    "pcie.link.gen.current": "pcie_generation",
    "pcie.link.gen.max": "pcie_generation_max",
    "pcie.link.width.current": "pcie_width",
    "pcie.link.width.max": "pcie_width_max",
    "clocks_throttle_reasons.active": "throttle_mask",
    "ecc.errors.uncorrected.volatile.total": "uncorrected_ecc",
}
_TEXTS = frozenset({"bus_id", "performance_state"})
_WHOLE = frozenset(
    {"index", "pcie_generation", "pcie_generation_max", "pcie_width", "pcie_width_max", "uncorrected_ecc"}
)


def parse_hardware(sections: Mapping[str, bytes], xid_lines: tuple[str, ...] = ()) -> Hardware:
    """The `gpu_state`, `gpu_processes` and `unit_processes` sections of look_speed.sh."""
    status, body = _status(sections.get("gpu_state", b""))
    if status == 127:
        return Hardware(reason="nvidia-smi is not installed", xid_lines=xid_lines)
    if status == 124:
        return Hardware(reason="nvidia-smi did not answer within 15 s", xid_lines=xid_lines)
    gpus = [gpu for gpu in map(_gpu, body.splitlines()) if gpu is not None]
    if not gpus:
        return Hardware(reason=one_line(body, 200) or "nvidia-smi told nothing", xid_lines=xid_lines)
    ours = {int(pid) for pid in decode(sections.get("unit_processes", b"")).split() if pid.isdigit()}
    status, body = _status(sections.get("gpu_processes", b""))
    processes = [one for one in (_process(line, ours) for line in body.splitlines()) if one is not None]
    missing = [] if status == 0 else ["who uses the GPUs"]
    missing += [name for name in ("sm_mhz", "throttle_mask", "pcie_width") if all(_none(gpu, name) for gpu in gpus)]
    return Hardware(gpus=tuple(gpus), processes=tuple(processes), xid_lines=xid_lines, missing=tuple(missing))


def _status(section: bytes) -> tuple[int, str]:
    head, _, body = decode(section).partition("\n")
    said = re.fullmatch(r"status=(\d+)", head.strip())
    return (int(said[1]) if said else 127), body


def _gpu(line: str) -> GpuState | None:
    words = [word.strip() for word in line.split(",")]
    if len(words) != len(FIELDS) or not words[0].isdigit():
        return None
    values: dict[str, int | float | str] = {}
    for name, word in zip(FIELDS.values(), words, strict=True):
        if name in _TEXTS:
            values[name] = one_line(word, 40)
        elif name == "throttle_mask":
            if re.fullmatch(r"0x[0-9a-fA-F]{1,16}", word):
                values[name] = int(word, 16)
        elif re.fullmatch(r"-?\d+(\.\d+)?", word):
            values[name] = int(float(word)) if name in _WHOLE else float(word)
    return GpuState.model_validate(values)


def _process(line: str, ours: set[int]) -> GpuProcess | None:
    words = [word.strip() for word in line.split(",")]
    if len(words) < 4 or not words[1].isdigit():
        return None
    pid = int(words[1])
    return GpuProcess(
        bus_id=one_line(words[0], 40),
        pid=pid,
        name=one_line(",".join(words[2:-1]), 80),
        memory_mib=int(words[-1]) if words[-1].isdigit() else None,
        ours=pid in ours if ours else None,
    )


def _none(gpu: GpuState, name: str) -> bool:
    return getattr(gpu, name) is None
