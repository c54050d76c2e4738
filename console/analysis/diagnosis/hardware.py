"""Hardware first: what throttles, is below its clock, on a narrow link or shared. Each sign with its number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from console.schema.gpu_state import GpuProcess, GpuState, Hardware
from console.untrusted import one_line

# NVML's clocks event reasons (nvml.h, nvmlClocksEventReason*): those that slow a GPU down against its owner's will.
SLOWING = {
    0x4: "software power cap",
    0x8: "hardware slowdown",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "power brake from outside",
}
AS_SET = {0x2: "application clocks set by hand", 0x10: "sync boost"}
# A GPU this much below the median clock of the others is the slow one.
SLOW_CLOCK = 0.95
# All of them below this share of their highest clock while they work.
LOW_CLOCK = 0.80
BUSY_PER_CENT = 10.0


@dataclass(frozen=True)
class Sign:
    """Something about the hardware that can make a step slower. `kind`: throttling · clocks · pcie · slow-gpu · xid ·
    tenant · memory."""

    kind: str
    text: str


@dataclass(frozen=True)
class HardwareVerdict:
    """`signs` speak against the hardware, `clear` lists what was looked at and is as it should be."""

    signs: tuple[Sign, ...] = ()
    clear: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()


def judge(hardware: Hardware) -> HardwareVerdict:
    """What the GPUs show. Clocks and PCIe generation drop when a GPU is idle, so they count only while it works."""
    xid = tuple(Sign("xid", one_line(line, 160)) for line in hardware.xid_lines[-3:])
    if hardware.reason:
        return HardwareVerdict(xid, (), (f"GPUs cannot be seen: {hardware.reason}",))
    gpus = hardware.gpus
    busy = [gpu for gpu in gpus if (gpu.utilization or 0.0) >= BUSY_PER_CENT]
    signs = [
        *_throttling(gpus),
        *_clocks(busy),
        *_pcie(gpus, busy),
        *_memory(gpus),
        *_tenants(hardware.processes),
        *xid,
    ]
    kinds = {sign.kind for sign in signs}
    clear = []
    if "throttling" not in kinds and any(gpu.throttle_mask is not None for gpu in gpus):
        clear.append(f"throttling: no reason active on {len(gpus)} GPUs")
    if busy and not kinds & {"clocks", "slow-gpu"} and (clock := _median(gpu.sm_mhz for gpu in busy)) is not None:
        clear.append(f"clocks: {len(busy)} working GPUs at {clock:.0f} MHz")
    if "pcie" not in kinds and (width := _median(gpu.pcie_width for gpu in gpus)) is not None:
        clear.append(f"PCIe: x{width:.0f} on {len(gpus)} GPUs")
    if not xid:
        clear.append("no Xid since boot")
    if "tenant" not in kinds and hardware.processes:
        clear.append(f"no foreign process among {len(hardware.processes)} on the GPUs")
    unseen = list(hardware.missing)
    if not busy and gpus:
        unseen.append("the GPUs were idle when looked at: clocks under load are not seen")
    return HardwareVerdict(tuple(signs), tuple(clear), tuple(unseen))


def _throttling(gpus: Sequence[GpuState]) -> Iterator[Sign]:
    for mask, name in SLOWING.items():
        hit = [gpu for gpu in gpus if (gpu.throttle_mask or 0) & mask]
        if hit:
            hottest = max((gpu.temperature_c or 0.0 for gpu in hit), default=0.0)
            power = [
                f"{gpu.power_w:.0f} of {gpu.power_limit_w:.0f} W" for gpu in hit if gpu.power_w and gpu.power_limit_w
            ]
            detail = ", ".join([f"up to {hottest:.0f} C", *power[:1]]) if hottest else ", ".join(power[:1])
            yield Sign("throttling", f"{name} on {_named(hit)}{f' ({detail})' if detail else ''}")
    for mask, name in AS_SET.items():
        hit = [gpu for gpu in gpus if (gpu.throttle_mask or 0) & mask]
        if hit:
            yield Sign("clocks", f"{name} on {_named(hit)}")


def _clocks(busy: Sequence[GpuState]) -> Iterator[Sign]:
    known = [(gpu, gpu.sm_mhz) for gpu in busy if gpu.sm_mhz is not None]
    if not known:
        return
    slow = []
    for gpu, clock in known:
        others = [other for one, other in known if one is not gpu]
        if others and clock < SLOW_CLOCK * median(others):
            slow.append((gpu, clock, median(others)))
    # With tensor parallelism every step waits for the slowest of them.
    for gpu, clock, usual in slow if len(slow) <= len(known) // 2 else []:
        yield Sign("slow-gpu", f"GPU {gpu.index} at {clock:.0f} MHz, the others at {usual:.0f}: {clock / usual:.2f}x")
    low = [gpu for gpu, clock in known if gpu.sm_max_mhz and clock < LOW_CLOCK * gpu.sm_max_mhz]
    if len(low) == len(known):
        share = median(clock / gpu.sm_max_mhz for gpu, clock in known if gpu.sm_max_mhz)
        yield Sign("clocks", f"all {len(known)} working GPUs at {share:.0%} of their highest clock")


def _pcie(gpus: Sequence[GpuState], busy: Sequence[GpuState]) -> Iterator[Sign]:
    widths = [gpu.pcie_width for gpu in gpus if gpu.pcie_width is not None]
    for gpu in gpus:
        # A slot may be narrower than the GPU by design; narrower than its sisters' it is a fault.
        if gpu.pcie_width is not None and gpu.pcie_width < max(widths):
            yield Sign("pcie", f"GPU {gpu.index} on PCIe x{gpu.pcie_width}, others on x{max(widths)}")
    generations = [gpu.pcie_generation for gpu in busy if gpu.pcie_generation is not None]
    for gpu in busy:
        if gpu.pcie_generation is not None and gpu.pcie_generation < max(generations):
            yield Sign("pcie", f"GPU {gpu.index} on PCIe gen {gpu.pcie_generation}, others on gen {max(generations)}")


def _memory(gpus: Sequence[GpuState]) -> Iterator[Sign]:
    for gpu in gpus:
        if gpu.uncorrected_ecc:
            yield Sign("memory", f"GPU {gpu.index}: {gpu.uncorrected_ecc} uncorrected ECC errors")


def _tenants(processes: Sequence[GpuProcess]) -> Iterator[Sign]:
    for pid in dict.fromkeys(process.pid for process in processes if process.ours is False):
        held = [process for process in processes if process.pid == pid]
        memory = sum(process.memory_mib or 0 for process in held)
        yield Sign("tenant", f"process {pid} ({held[0].name or 'unnamed'}) holds {memory} MiB on {len(held)} GPUs")


def _named(gpus: Sequence[GpuState]) -> str:
    return f"GPU {', '.join(str(gpu.index) for gpu in gpus)}"


def _median(values: Iterator[float | int | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(median(known)) if known else None
