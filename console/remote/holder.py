"""How lively the holder of a unit's lock is: the evidence for calling a lock stale."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass

from console.errors import LockHeldError, RefusedError
from console.remote.lock import read_document
from console.remote.session import Reader, Remote
from console.untrusted import one_line

# The host lets go of a lock after six seconds of silence; who is silent for longer and still holds it hangs.
SILENT_S = 8.0
GONE = 74  # exit status of act_break_lock.sh when the lock is another run's by now


@dataclass(frozen=True)
class Sight:
    """A unit's lock as it was seen. `document` is of the holder; of a free lock it is what the last one left behind.

    `pid`, `age_s`, `heard_s`: the process on the host that holds it, for how long, and when it last heard from its run.
    """

    target: str
    held: bool
    document: Mapping[str, str]
    pid: int = 0
    age_s: float | None = None
    heard_s: float | None = None

    @property
    def run(self) -> str:
        return self.document.get("run", "")

    @property
    def state(self) -> str:
        """free, held or stale."""
        if not self.held:
            return "free"
        # Between two beats it may have been seen without the child that waits: that is no silence.
        silent = self.heard_s is not None and self.heard_s > SILENT_S
        return "stale" if self.pid and silent else "held"

    @property
    def evidence(self) -> str:
        """Why it is called so, in one line."""
        if not self.held:
            return "no process holds it"
        if not self.pid:
            return "held, but the process that holds it cannot be seen"
        heard = "waits for nobody" if self.heard_s is None else f"heard from its run {self.heard_s:.0f} s ago"
        return f"process {self.pid} on the host, since {self.age_s or 0:.0f} s, {heard}"


async def look(reader: Reader) -> Sight:
    """The lock of the reader's target. Raises ConnectError."""
    output = await reader.look("look_holder.sh", reader.lock_file)
    state, _, document = output.sections.get("lock", b"").partition(b"\n")
    sight = Sight(reader.target.name, state.strip() == b"held=yes", read_document(document))
    words = output.text("holder").split()
    if not sight.held or len(words) < 3:
        return sight
    return Sight(sight.target, sight.held, sight.document, int(words[0]), _seconds(words[1]), _seconds(words[2]))


async def break_lock(remote: Remote, run: str, by: str, at: str) -> None:
    """End the process that holds the lock for `run`. Raises LockHeldError when it is another run's by now."""
    document = json.dumps({"broken": run, "run": "", "operator": f"broken by {by}", "since": at}) + "\n"
    encoded = base64.b64encode(document.encode()).decode()
    output = await remote.act("act_break_lock.sh", remote.lock_file, run, encoded)
    said = one_line(output.text("refused") or output.complaint, 200)
    if output.exit_status == GONE:
        raise LockHeldError(said, where=remote.target.name, hint="console runs --locks")
    if output.exit_status != 0:
        raise RefusedError(f"the lock was not broken: {said}", where=remote.target.name)
    await remote.act("act_log.sh", one_line(f"lock of run {run} broken by {by}", 300))


def _seconds(text: str) -> float | None:
    try:
        return max(0.0, float(text))
    except ValueError:
        return None
