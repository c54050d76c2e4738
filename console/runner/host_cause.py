"""Causes of a failed start that lie on the host: the old setting would fail just the same, and is not started."""

from __future__ import annotations

from collections.abc import Mapping

from console.errors import ConsoleError, NotReadyError

# Cause of an engine's log table, or of the wait itself → what to do on the host. Only what no setting can bring about:
# a CUDA error or memory that is held may be of the new setting or of the process that just ended, and a service that is
# left down for that is worse than one start too many.
REMEDIES: Mapping[str, str] = {
    "gpu-driver": "driver and libraries differ, or no GPU is seen: nvidia-smi; often a reboot is needed",
    "disk-full": "the disk is full: df -h, then free space",
    "port-in-use": "another process holds the port: ss -ltnp says which; stop it",
    "stale-port": "another process answers on the port: ss -ltnp says which; stop it",
}


def remedy(error: ConsoleError) -> str:
    """What to do on the host before anything is started there again; empty where the setting may be the cause."""
    return REMEDIES.get(error.cause, "") if isinstance(error, NotReadyError) else ""
