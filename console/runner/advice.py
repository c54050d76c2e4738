"""The commands to go on after a run, with this tool and without it."""

from __future__ import annotations

from console.schema.hosts import Target
from console.schema.outcome import Outcome
from console.schema.plan import Plan


def commands(
    outcome: Outcome, target: Target, run: str, plan: Plan | None, *, purpose: str = "run", root: str = ""
) -> tuple[str, ...]:
    """What a person would type next; the last ones need no console.

    `root`: the run whose changes a resume or a rollback is about: it is what can be undone, and holds the backups.
    """
    unit = target.service.unit
    user = target.host.user or target.defaults.user
    port = f"-p {target.host.port} " if target.host.port else ""
    login = f"ssh {port}{user}@{target.address}" if user else f"ssh {port}{target.address}"
    undone = root or run
    by_hand = f"{login} sudo sh {target.host.state_folder}/{unit}/{undone}/undo.sh"
    changed = plan is not None and bool(plan.edits)
    look = (f"{login} systemctl status {unit}", by_hand)
    match outcome:
        case Outcome.VERIFIED | Outcome.VERIFIED_INCOMPLETE if purpose != "rollback" and changed:
            return (f"console facts {target.name}", f"console rollback {undone}", by_hand)
        case Outcome.APPLIED_UNVERIFIED | Outcome.UNKNOWN if purpose != "rollback":
            return (f"console resume {run}", f"console rollback {undone}", *look)
        case Outcome.ROLLBACK_FAILED if purpose != "rollback":
            return (f"console rollback {undone}", *look)
        case Outcome.APPLIED_UNVERIFIED | Outcome.UNKNOWN | Outcome.ROLLBACK_FAILED:
            return (f"console resume {run}", *look)
        case Outcome.ROLLED_BACK | Outcome.FAILED_UNCHANGED | Outcome.ABORTED_UNCHANGED:
            book = plan.runbook_path if plan and plan.runbook_path else "RUNBOOK"
            # A run of one step has no file: its path is the command that made it.
            again = f"{book} {target.name}" if book.startswith("console ") else f"console plan {book} {target.name}"
            return (again, f"{login} journalctl -u {unit} -n 200")
        case _:
            return (f"console facts {target.name}",)
