"""The commands to go on after a run, with this tool and without it."""

from __future__ import annotations

from console.schema.hosts import Target
from console.schema.outcome import Outcome
from console.schema.plan import Plan


def commands(outcome: Outcome, target: Target, run: str, plan: Plan | None) -> tuple[str, ...]:
    """What a person would type next; the last ones need no console."""
    unit = target.service.unit
    user = target.host.user or target.defaults.user
    login = f"ssh {user}@{target.address}" if user else f"ssh {target.address}"
    by_hand = f"{login} sudo sh {target.host.state_folder}/{unit}/{run}/undo.sh"
    changed = plan is not None and bool(plan.edits)
    match outcome:
        case Outcome.VERIFIED | Outcome.VERIFIED_INCOMPLETE:
            back = (f"console rollback {run}", by_hand) if changed else ()
            return (f"console facts {target.name}", *back)
        case Outcome.APPLIED_UNVERIFIED | Outcome.UNKNOWN:
            return (f"console resume {run}", f"console rollback {run}", f"{login} systemctl status {unit}", by_hand)
        case Outcome.ROLLBACK_FAILED:
            return (f"console rollback {run}", f"{login} systemctl status {unit}", by_hand)
        case Outcome.ROLLED_BACK | Outcome.FAILED_UNCHANGED | Outcome.ABORTED_UNCHANGED:
            return (
                f"console plan {plan.runbook_path if plan and plan.runbook_path else 'RUNBOOK'} {target.name}",
                f"{login} journalctl -u {unit} -n 200",
            )
        case _:
            return (f"console facts {target.name}",)
