"""How the GPUs of a host are doing at this moment, and who uses them."""

from __future__ import annotations

from pydantic import Field

from console.schema.names import Read


class GpuState(Read):
    """One GPU as nvidia-smi reports it; None where it does not say. Clocks in MHz, power in W, memory in MiB."""

    index: int
    bus_id: str = ""
    performance_state: str = ""  # P0 is full speed, P8 idle
    utilization: float | None = None  # per cent
    temperature_c: float | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    sm_mhz: float | None = None
    sm_max_mhz: float | None = None
    memory_mhz: float | None = None
    memory_max_mhz: float | None = None
    pcie_generation: int | None = None
    pcie_generation_max: int | None = None
    pcie_width: int | None = None
    pcie_width_max: int | None = None
    throttle_mask: int | None = None  # NVML's clocks event reasons
    uncorrected_ecc: int | None = None


class GpuProcess(Read):
    """A process that holds memory of a GPU. `ours`: it belongs to the unit; None where that cannot be told."""

    bus_id: str
    pid: int
    name: str = ""
    memory_mib: int | None = None
    ours: bool | None = None


class Hardware(Read):
    """All GPUs and their users; `reason` says why they cannot be seen."""

    gpus: tuple[GpuState, ...] = ()
    processes: tuple[GpuProcess, ...] = ()
    xid_lines: tuple[str, ...] = ()
    reason: str = ""
    missing: tuple[str, ...] = Field(default=())  # what could not be seen, in words
