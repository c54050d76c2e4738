"""What systemd itself says of the files before they are written: second, after our own comparison of the words.

`systemd-analyze verify` exits 0 for most of what goes wrong in an edit (systemd#11651, systemd#23860), so its words
count and not its status; and what it said of the files before the edit is no news.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping

from console.errors import RefusedError
from console.remote.session import Remote
from console.schema.change import FileChange
from console.schema.facts import Facts
from console.schema.plan import Plan
from console.schema.splice import apply
from console.untrusted import decode, one_line


async def check(plan: Plan, facts: Facts, remote: Remote, folder: str, run: str) -> None:
    """Raise RefusedError when systemd complains of the unit as it would be, and did not before."""
    # Not the plan's edits: of a resumed run some are written already.
    changes = [change for change in plan.changes if isinstance(change, FileChange)]
    if not changes:
        return
    before = {file.path: file.content for file in facts.files if file.kind in ("fragment", "dropin")}
    after = dict(before)
    for change in (change for change in changes if change.makes or change.path in after):
        after[change.path] = apply(after.get(change.path, b""), change.splices)
    complaints = await _complaints(plan, facts, after, remote, folder, run)
    if not complaints:
        return
    known = await _complaints(plan, facts, before, remote, folder, run)
    fresh = [line for line in complaints if line not in known]
    if fresh:
        raise RefusedError(
            f"systemd would complain of the edited unit: {one_line('; '.join(fresh), 400)}; nothing was written",
            where=plan.target.name,
            hint="look at the edit in the plan",
        )


async def _complaints(
    plan: Plan, facts: Facts, contents: Mapping[str, bytes], remote: Remote, folder: str, run: str
) -> list[str]:
    """What `systemd-analyze verify` says of the unit with these contents, without line numbers and folders."""
    unit = plan.target.service.unit
    words: list[str] = []
    for path, content in contents.items():
        name = unit if path == facts.unit.fragment_path else f"{unit}.d/{path.rpartition('/')[2]}"
        words += [name, base64.b64encode(content).decode()]
    output = await remote.act("act_verify.sh", folder, unit, *words, lock=run)
    lines = decode(output.sections.get("warnings", b"")).splitlines()
    about = re.compile(rf"{re.escape(unit)}|{re.escape(folder)}")
    return [re.sub(rf"{re.escape(folder)}/verify/|:\d+:", ":", line) for line in lines if about.search(line)]
