"""The unit's lock: a process on the host that holds it for as long as it hears from us."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Mapping
from typing import Any

import asyncssh

from console.errors import ConnectionLostError, LockHeldError, RefusedError
from console.remote.scripts import cut
from console.untrusted import decode, one_line

# The host gives the lock up after six seconds of silence; without that a partition would keep it for hours.
HEARTBEAT_S = 2.0
TAKING_TIMEOUT_S = 30.0
RELEASE_TIMEOUT_S = 3.0
# After a lost connection the host may hold our own lock until it has missed our heartbeats.
OWN_LOCK_S = 10.0
TAKEN = 74  # exit status of act_lock.sh when another process holds it


class LockHold:
    """A held lock. `lost` is set when the host has let go of it without being asked."""

    def __init__(self, process: asyncssh.SSHClientProcess[bytes], leave: contextlib.AsyncExitStack) -> None:
        self.lost = asyncio.Event()
        self._process = process
        self._leave = leave
        self._released = False
        self._beating = asyncio.create_task(self._beat())
        self._waiting = asyncio.create_task(self._wait())

    async def release(self) -> None:
        """Let go of the lock, and see it go. Raises ConnectionLostError when nobody answers."""
        if self._released:
            return
        self._released = True
        self._beating.cancel()
        try:
            with contextlib.suppress(asyncssh.Error, OSError):
                self._process.stdin.write_eof()
            async with asyncio.timeout(RELEASE_TIMEOUT_S):
                await asyncio.shield(self._waiting)
        except TimeoutError:
            raise ConnectionLostError("the host did not say that the lock is free; it frees it by itself") from None
        finally:
            self._process.close()
            self._waiting.cancel()
            await self._leave.aclose()

    async def _beat(self) -> None:
        while not self.lost.is_set():
            try:
                self._process.stdin.write(b"beat\n")
            except (asyncssh.Error, OSError):
                return
            await asyncio.sleep(HEARTBEAT_S)

    async def _wait(self) -> None:
        with contextlib.suppress(asyncssh.Error, OSError):
            await self._process.wait_closed()
        self._beating.cancel()
        if not self._released:
            self.lost.set()
            await self._leave.aclose()


async def settle(process: asyncssh.SSHClientProcess[bytes], mark: str, *, where: str) -> Mapping[str, str] | None:
    """Read until the host says that the lock is held: None; or by whom else, as its document says.

    Raises RefusedError when the host cannot lock, ConnectionLostError for silence.
    """
    said = bytearray()
    held = f"\n{mark} held\n".encode()
    try:
        async with asyncio.timeout(TAKING_TIMEOUT_S):
            while held not in said:
                chunk = await process.stdout.read(4096)
                if not chunk:
                    break
                said += chunk
            else:
                return None
            await process.wait_closed()
            complaint = one_line(decode(await process.stderr.read()), 300)
    except TimeoutError:
        process.close()
        raise ConnectionLostError("the host did not say whether it holds the lock", where=where) from None
    except (asyncssh.Error, OSError) as error:
        raise ConnectionLostError(f"the connection died while the lock was taken: {error}", where=where) from error
    if process.exit_status is None:
        raise ConnectionLostError("the connection died while the lock was taken", where=where)
    if process.exit_status == TAKEN:
        sections = cut(bytes(said), mark)
        came = {"meanwhile": "yes"} if "meanwhile" in sections else {}
        return {**read_document(sections.get("holder", b"")), **came}
    raise RefusedError(
        f"the lock cannot be taken: {complaint or f'exit status {process.exit_status}'}",
        where=where,
        hint="flock (util-linux) and a writable runtime folder are needed",
    )


def read_document(text: bytes) -> Mapping[str, str]:
    """The JSON in a lock file, as far as it is one."""
    try:
        document: Any = json.loads(decode(text).strip() or "{}")
    except (ValueError, RecursionError):
        return {}
    if not isinstance(document, dict):
        return {}
    return {str(key): one_line(str(value), 200) for key, value in document.items()}


def held_by(document: Mapping[str, str], *, where: str) -> LockHeldError:
    who = document.get("operator", "") or "somebody"
    if document.get("from_host"):
        who += f" from {document['from_host']}"
    meanwhile = "meanwhile" in document
    parts = [f"locked meanwhile by {who}" if meanwhile else f"locked by {who}"]
    if document.get("since"):
        parts.append(f"since {document['since']}")
    if document.get("run"):
        parts.append(f"run {document['run']}")
    if document.get("runbook"):
        parts.append(f"runbook {document['runbook']}")
    hint = "wait for that run, or ask who runs it; the lock goes with its process"
    if meanwhile:
        hint = "nothing more is done here: look at what that run left first"
    return LockHeldError(", ".join(parts), where=where, hint=hint)
