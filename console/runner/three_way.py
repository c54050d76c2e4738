"""A file that somebody edited after a run wrote it: what the run changed, and what was changed since."""

from __future__ import annotations

import hashlib

from console.errors import ConnectError
from console.planning.differences import text_diff
from console.remote.files import read_file
from console.remote.session import Reader
from console.runner.ledger import backup_of
from console.schema.change import ABSENT
from console.schema.plan import Plan
from console.schema.splice import apply
from console.schema.writes import Writes, written
from console.untrusted import clean


async def three_way(writes: Writes, plan: Plan, entry_run: str, reader: Reader) -> str:
    """Both differences, masked, from the backup in the ledger; or why they cannot be shown. `reader`: of its host."""
    path = writes.changes[0].path
    target = reader.target
    folder = f"{target.host.state_folder}/{target.service.unit}/{entry_run}"
    of_host = written(plan.changes, writes.changes[0].node)
    backup = f"{folder}/{backup_of(writes, list(of_host).index(writes.path) + 1)}"
    try:
        now = await read_file(reader, writes.path)
        before = None if writes.before == ABSENT else await read_file(reader, backup)
    except ConnectError as error:
        return f"the backup could not be read: {error.message}"
    if before is not None and before.sha256 != writes.before:
        return f"{backup} is not the file as it was before the run"
    old = before.content if before is not None else None
    ours = old
    for each in writes.changes:
        ours = None if each.removes else apply(ours or b"", each.splices)
    if ours is not None and hashlib.sha256(ours).hexdigest() != writes.after:
        return f"{backup} does not become what the run wrote"
    said = [
        f"what run {entry_run} changed:",
        text_diff(path, old, ours, reader.redactor),
        "what somebody changed since:",
        text_diff(path, ours, None if now.missing else now.content, reader.redactor),
    ]
    return clean("\n".join(text.rstrip("\n") for text in said))
