"""Causes of a failed start that lie on the host: the old setting would fail just the same, and is not started."""

from __future__ import annotations

from collections.abc import Mapping

from console.errors import ConsoleError, NotReadyError

# cause of an engine's log table, or of the wait itself → what to do on the host
REMEDIES: Mapping[str, str] = {
    "gpu-driver": "driver and libraries differ, or no GPU is seen: nvidia-smi; often a reboot is needed",
    "gpu-error": "a GPU failed: dmesg | grep Xid, nvidia-smi; reset the GPU or reboot",
    "disk-full": "the disk is full: df -h, then free space",
    "port-in-use": "another process holds the port: ss -ltnp says which; stop it",
    "stale-port": "another process answers on the port: ss -ltnp says which; stop it",
    "gpu-memory-held": "another process holds the GPU's memory: nvidia-smi says which; stop it",
}


def remedy(error: ConsoleError) -> str:
    """What to do on the host before anything is started there again; empty where the setting may be the cause."""
    return REMEDIES.get(error.cause, "") if isinstance(error, NotReadyError) else ""
