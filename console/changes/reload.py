"""`systemctl daemon-reload`: has no undo of its own; after a file is put back it is done again."""

from __future__ import annotations

from console.changes.base import Made, Seen
from console.errors import StepFailedError
from console.remote.session import Reader, Remote
from console.remote.systemd import parse_unit, unit_state
from console.schema.change import ReloadChange
from console.untrusted import one_line


async def look(change: ReloadChange, reader: Reader) -> Seen:
    """Whether systemd has read the files as they are now, on every host that the change is for."""
    hosts = (reader, *(reader.at(node) for node in change.nodes))
    states = [await unit_state(host, host.target.service.unit) for host in hosts]
    return "before" if any(state.need_daemon_reload for state in states) else "after"


async def make(change: ReloadChange, remote: Remote, run: str) -> Made:
    """Reload, and see that systemd no longer asks for one; on every host that the change is for."""
    for node in change.nodes:
        await _reload(change, remote.at(node), run)
    return await _reload(change, remote, run)


async def _reload(change: ReloadChange, remote: Remote, run: str) -> Made:
    unit = remote.target.service.unit
    output = await remote.act("act_reload.sh", unit, lock=run, timeout_s=120.0)
    if output.exit_status != 0:
        said = one_line(output.stderr.decode("utf-8", "replace"), 300)
        raise StepFailedError(f"daemon-reload failed: {said or output.exit_status}", where=remote.target.name)
    state = parse_unit(output.text("unit"), unit)
    if state.need_daemon_reload:
        raise StepFailedError(f"{unit} still needs a daemon-reload after one", where=remote.target.name)
    if state.load_state not in ("loaded", ""):
        raise StepFailedError(f"systemd cannot load {unit} now ({state.load_state})", where=remote.target.name)
    return Made(after={"load_state": state.load_state}, message="systemd read the unit files again")
