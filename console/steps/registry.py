"""Every step kind there is, by the name a runbook uses."""

from __future__ import annotations

from console.steps.base import Step
from console.steps.capacity_check import CapacityCheck
from console.steps.diagnose_decode import DiagnoseDecode
from console.steps.host_command import HostCommand
from console.steps.host_preflight import HostPreflight
from console.steps.measure_decode import MeasureDecode
from console.steps.measure_load import MeasureLoad
from console.steps.measure_sweep import MeasureSweep
from console.steps.service_drain import ServiceDrain
from console.steps.service_restart import ServiceRestart
from console.steps.service_verify import ServiceVerify
from console.steps.service_wait_ready import ServiceWaitReady
from console.steps.systemd_daemon_reload import SystemdDaemonReload
from console.steps.unit_backup import UnitBackup
from console.steps.unit_set import UnitSet

STEP_KINDS: dict[str, type[Step]] = {
    kind.uses: kind
    for kind in (
        HostPreflight,
        CapacityCheck,
        UnitBackup,
        UnitSet,
        SystemdDaemonReload,
        ServiceDrain,
        ServiceRestart,
        ServiceWaitReady,
        ServiceVerify,
        HostCommand,
        MeasureDecode,
        DiagnoseDecode,
        MeasureSweep,
        MeasureLoad,
    )
}
