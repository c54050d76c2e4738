"""The end of a run: a table of its targets, what each came to, and the commands to go on."""

from __future__ import annotations

from console.runs.state import RunState
from console.runs.target_state import TargetState
from console.schema.events import PlanMade
from console.schema.outcome import Outcome
from console.views.cells import wrap
from console.views.diagnosis import diagnosis_lines
from console.views.figures import clock_s, duration, number
from console.views.load import load_lines
from console.views.measured import measured_lines
from console.views.tables import table

UNCHANGED = frozenset({Outcome.FAILED_UNCHANGED, Outcome.ABORTED_UNCHANGED})
HEAD = ("target", "outcome", "exit", "time", "settings")


def final_lines(state: RunState, width: int = 80) -> list[str]:
    """What stands at the end of a run on stdout. Commands are never broken over lines: they are copied."""
    finished = state.finished
    names = list(finished.outcomes) if finished and finished.outcomes else list(state.targets)
    said = table(
        HEAD,
        [_row(state, name, finished.outcomes.get(name, "") if finished else "") for name in names],
        width,
        right=(2, 3),
        wrapped=4,
    )
    for name in names:
        target = state.targets.get(name)
        if target is not None and target.cells:
            said += ["", *measured_lines(target.cells, target.findings, width), ""]
        if target is not None and target.loads:
            said += ["", *load_lines(target.loads, width), ""]
        if target is not None and (told := diagnosis_lines(target.findings, target.conclusions, width)):
            said += ["", *told, ""]
        if target is not None:
            said += _words(target, width, named=len(names) > 1)
    if finished and finished.message:
        said += wrap(finished.message, width)
    said += _keepings(state)
    said += _next(state)
    return said


def _row(state: RunState, name: str, outcome: str) -> tuple[str, ...]:
    target = state.targets.get(name)
    if target is None or target.finished is None:
        return (name, outcome or state.outcome(name).value, "-", "-", "")
    done = target.finished
    code = "-" if done.exit_code is None else str(done.exit_code)
    settings = ", ".join(settings_text(done.outcome, target.plan)) if target.plan else ""
    return (name, done.outcome, code, duration(done.duration_s), settings)


def settings_text(outcome: str, plan: PlanMade) -> list[str]:
    """Each setting as the run left it, not as it was asked for."""
    said = []
    for sentence in plan.settings:
        before, arrow, after = sentence.partition(" -> ")
        name, _, value = before.partition(" ")
        if not arrow:
            said.append(sentence)
        elif value == after or plan.nothing_to_do or outcome == Outcome.NO_CHANGE:
            said.append(f"{name} already {after}")
        elif outcome == Outcome.ROLLED_BACK:
            said.append(f"{name} back to {value}")
        elif outcome in UNCHANGED:
            said.append(f"{name} still {value}")
        else:
            said.append(sentence)
    return said


def _words(target: TargetState, width: int, *, named: bool) -> list[str]:
    """What the outcome's word alone does not say."""
    done = target.finished
    if done is None:
        return []
    said = []
    if done.message and done.outcome not in (Outcome.VERIFIED, Outcome.NO_CHANGE, Outcome.MEASURED):
        said.append(done.message.split("\n")[0])
    if done.outcome == Outcome.APPLIED_UNVERIFIED:
        said.append(
            "live: a process runs it, unproven" if done.live else "on disk only: takes effect at the next restart"
        )
    since = same_process(target)
    if since:
        said.append(since)
    if simulated(target):
        said.append("simulated: every figure here is of a simulated host")
    first = f"  {target.name}: " if named else "  "
    return [line for text in said for line in wrap(text, width, first=first, rest="    ")]


def simulated(target: TargetState) -> bool:
    """Whether the host said of itself that it is a simulation."""
    host = target.facts.get("plan", {}).get("host", {})
    return isinstance(host, dict) and host.get("simulated") is True


def same_process(target: TargetState) -> str:
    """`same process since 03:31:07Z …`: verified is about one process. Empty without a proof of one."""
    proof = target.verified
    if proof is None or target.undo_started is not None:
        return ""
    pool = next((finding.value for finding in target.findings if finding.name == "pool_tokens"), None)
    held = f", pool {number(pool)} tokens" if pool is not None else ""
    now = target.facts.get("after", {}).get("unit", {})
    invocation = now.get("invocation_id") if isinstance(now, dict) else None
    if invocation and proof.invocation_id and invocation != proof.invocation_id:
        return f"restarted since it was proven at {clock_s(proof.ts)}{held}"
    return f"same process since it was proven at {clock_s(proof.ts)} (invocation {proof.invocation_id[:8]}){held}"


def _keepings(state: RunState) -> list[str]:
    said = []
    for target in state.targets.values():
        if target.committed is not None and target.committed.sha:
            said.append(f"record: {target.record.path if target.record else target.committed.path}")
            where = state.started.results_path if state.started else ""
            said.append(f"commit: {target.committed.sha}" + (f" in {where}" if where else ""))
        elif target.record is not None and target.committed is None:
            said.append(f"record: {target.record.path} (kept, not committed)")
        elif target.record is not None:
            said.append(f"record: {target.record.path} (saved, not committed: console recover commits it)")
    return said


def _next(state: RunState) -> list[str]:
    commands: list[str] = []
    for target in state.targets.values():
        for command in target.finished.next if target.finished else ():
            if command not in commands:
                commands.append(command)
    return [f"{'next:' if index == 0 else '     '} {command}" for index, command in enumerate(commands)]
