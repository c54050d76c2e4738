"""What is left where: the state of each target at this moment, from what its events prove."""

from __future__ import annotations

from console.runs.state import RunState
from console.runs.target_state import ChangeState, TargetState
from console.schema.change import CommandChange, FileChange
from console.untrusted import one_line
from console.views.cells import wrap


def left_where(state: RunState, width: int = 80) -> list[str]:
    """Per target: what stands on the host, whether a process runs it, and the commands that put it back."""
    said: list[str] = []
    for target in state.targets.values():
        said += wrap(f"{target.name}  {target.unit}: {standing(target)}", width, rest="  ")
        said += [line for change in target.changes.values() for line in _change(change, width)]
        said += [f"  put back with: {command}" for command in undo_commands(state.run, target)]
    return said or ["nothing was begun"]


def standing(target: TargetState) -> str:
    """One sentence: what of this run is on the host."""
    if target.finished is not None:
        return f"ended {target.finished.outcome}"
    left = [change for change in target.changes.values() if change.state != "undone"]
    files = [change for change in left if isinstance(change.change, FileChange)]
    if not left:
        return "nothing is changed" if not target.changes else "everything is put back"
    said = []
    if files:
        said.append(f"{len(files)} file{'s' if len(files) > 1 else ''} changed")
    if any(isinstance(change.change, CommandChange) for change in left):
        said.append("commands were run")
    restarts = [change for change in left if change.change.kind == "restart"]
    if any(change.state == "intended" for change in left):
        said.append("one action is in flight")
    if restarts:
        said.append("restarted and proven" if target.proven else "restarted, not proven")
    elif files:
        said.append("not restarted: takes effect at the next restart")
    if target.left_out is not None:
        said.append("still out of its balancer")
    if target.undoing:
        said.append("the old state is being put back")
    return ", ".join(said) or "only read again"


def undo_commands(run: str, target: TargetState) -> list[str]:
    """How to put it back, with this tool and with nothing but a shell on the host; none where nothing stands."""
    left = [change for change in target.changes.values() if change.state != "undone"]
    if not left:
        return []
    backup = next((change.backup for change in left if change.backup), "")
    on_host = [f"sudo sh {one_line(backup)}/undo.sh   (on the host)"] if backup else []
    return [f"console rollback {run}", *on_host]


def _change(change: ChangeState, width: int) -> list[str]:
    word = {"made": "changed", "intended": "in flight", "undoing": "being put back", "undone": "put back"}[change.state]
    what = change.change
    if isinstance(what, FileChange):
        text = f"{what.path} ({what.summary})"
    elif isinstance(what, CommandChange):
        text = f"command: {one_line(what.command, 200)}"
    else:
        text = what.summary
    return wrap(text, width, first=f"  {word:<10} ")
