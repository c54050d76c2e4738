"""A file that somebody edited after a run wrote it: what the run changed, and what was changed since."""

from __future__ import annotations

import hashlib

from console.errors import ConnectError
from console.planning.differences import text_diff
from console.remote.files import read_file
from console.remote.session import Reader
from console.runner.ledger import kept_files
from console.schema.change import ABSENT, FileChange
from console.schema.plan import Plan
from console.schema.splice import apply
from console.untrusted import clean


async def three_way(change: FileChange, plan: Plan, entry_run: str, reader: Reader) -> str:
    """Both differences, masked, from the backup in the ledger; or why they cannot be shown."""
    writes = [each for each in plan.changes if isinstance(each, FileChange) and each.real_path == change.real_path]
    target = plan.target
    folder = f"{target.host.state_folder}/{target.service.unit}/{entry_run}"
    kept = next(file for file in kept_files(plan.changes) if file.path == change.real_path)
    backup = f"{folder}/{kept.backup}"
    try:
        now = await read_file(reader, change.real_path)
        before = None if kept.before == ABSENT else await read_file(reader, backup)
    except ConnectError as error:
        return f"the backup could not be read: {error.message}"
    if before is not None and before.sha256 != kept.before:
        return f"{backup} is not the file as it was before the run"
    old = before.content if before is not None else None
    ours = old
    for each in writes:
        ours = None if each.removes else apply(ours or b"", each.splices)
    if ours is not None and hashlib.sha256(ours).hexdigest() != kept.after:
        return f"{backup} does not become what the run wrote"
    said = [
        f"what run {entry_run} changed:",
        text_diff(change.path, old, ours, reader.redactor),
        "what somebody changed since:",
        text_diff(change.path, ours, None if now.missing else now.content, reader.redactor),
    ]
    return clean("\n".join(text.rstrip("\n") for text in said))
