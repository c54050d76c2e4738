"""The key that masked secrets are told apart by: made once on this machine, and never written anywhere else."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

BYTES = 32


def mask_key() -> bytes:
    """The key of this machine's operator; made when it is missing, empty where it cannot be kept.

    Machines that are to agree on digests share the file.
    """
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    path = Path(state) / "console" / "mask.key"
    with suppress(OSError):
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            fresh = path.with_name(f".mask.key.{os.getpid()}")
            with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(secrets.token_bytes(BYTES))
            with suppress(FileExistsError):
                os.link(fresh, path)  # two that start at the same moment agree on the first one's
            fresh.unlink()
        key = path.read_bytes()
        return key if len(key) >= BYTES else b""
    return b""
