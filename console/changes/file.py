"""Replace bytes of a file on the host, atomically, and only when it is as the plan read it.

A file that is not there is made, and taken away again, by the same rules: its digest is ABSENT.
"""

from __future__ import annotations

import base64
import hashlib

from console.changes.base import Made, Seen
from console.changes.no_room import way_out
from console.errors import ForeignEditError, RefusedError, StalePlanError, StepFailedError
from console.remote.files import read_file
from console.remote.session import Reader, Remote
from console.schema.change import FileChange
from console.schema.facts import UnitFile
from console.schema.splice import apply, inverse
from console.untrusted import one_line

# Exit statuses of act_replace.sh.
DIGEST_DIFFERS = 77
NO_ROOM = 78


async def look(change: FileChange, reader: Reader) -> Seen:
    """Whether the file is as before, as after, or somebody else's."""
    return seen((await read_file(reader, change.real_path)).digest, change)


def seen(digest: str, change: FileChange) -> Seen:
    if digest == change.sha256_after:
        return "after"
    return "before" if digest == change.sha256_before else "foreign"


async def make(change: FileChange, remote: Remote, run: str) -> Made:
    """Write the file. Raises StalePlanError when it is not as the plan read it; then nothing was written."""
    return await _replace(change, remote, run)


def inverted(change: FileChange) -> FileChange:
    """The change that leads back."""
    return change.model_copy(
        update={
            "sha256_before": change.sha256_after,
            "sha256_after": change.sha256_before,
            "splices": inverse(change.splices),
            "summary": f"put back: {change.summary}",
        }
    )


async def _replace(change: FileChange, remote: Remote, run: str) -> Made:
    old = remote.contents.get(change.sha256_before)
    if old is None:  # else the script alone says whether it is still so
        now = await read_file(remote, change.real_path)
        if (so := _so_already(change, now, remote)) is not None:
            return so
        old = now.content
    content = apply(old, change.splices)
    if content if change.removes else hashlib.sha256(content).hexdigest() != change.sha256_after:
        raise StalePlanError(f"{change.path} would not become what the plan says", where=remote.target.name)
    output = await remote.act(
        "act_replace.sh",
        change.real_path,
        change.sha256_before,
        change.sha256_after,
        base64.b64encode(content).decode(),
        run,
        "folder" if change.folder else "",
        f"{change.mode:04o}",
        lock=run,
    )
    if output.exit_status == DIGEST_DIFFERS:
        if (so := _so_already(change, await read_file(remote, change.real_path), remote)) is not None:
            return so
        raise ForeignEditError(
            f"{change.path} was edited while we wrote: nothing was replaced", where=remote.target.name
        )
    if output.exit_status != 0:
        said = one_line(output.stderr.decode("utf-8", "replace"), 300)
        kind = RefusedError if output.exit_status == NO_ROOM else StepFailedError
        raise kind(
            f"{change.path} was not written: {said or output.exit_status}",
            where=remote.target.name,
            hint=way_out(said),
        )
    return Made({"sha256": change.sha256_before}, {"sha256": change.sha256_after}, message=change.summary)


def _so_already(change: FileChange, now: UnitFile, remote: Remote) -> Made | None:
    """What to say of a file that has its new content; None of one that has the old. Raises ForeignEditError."""
    state = seen(now.digest, change)
    if state == "foreign":
        raise ForeignEditError(
            f"{change.path} was edited by somebody else meanwhile: nothing was written",
            where=remote.target.name,
            hint="look at the file, then plan again",
        )
    is_so = {"sha256": now.digest}
    return Made(is_so, is_so, already=True, message=f"{change.path} is so already") if state == "after" else None
