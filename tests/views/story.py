"""Runs told as events, for every view: made-up values, numbered and stamped as the log does."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from console.schema.change import FileChange, ReloadChange, RestartChange
from console.schema.events import (
    AbortRequested,
    ChangeIntended,
    ChangeMade,
    ChangeUndone,
    ConnectionChanged,
    EditPlanned,
    Event,
    FindingMade,
    LevelsRead,
    LogLine,
    PlanMade,
    QuestionAnswered,
    QuestionAsked,
    RecordCommitted,
    RecordSaved,
    RunFinished,
    RunStarted,
    StepFinished,
    StepProgress,
    StepStarted,
    TargetFinished,
    TargetStarted,
    UndoFinished,
    UndoStarted,
    Verified,
)

RUN = "01K2EXAMPLE0000000000000AA"
TARGET = "node7/chat"
UNIT = "sglang-chat.service"
FILE = "/etc/systemd/system/sglang-chat.service.d/20-window.conf"
LEDGER = f"/var/lib/console/{UNIT}/{RUN}"

STEPS = (
    ("preflight", "host.preflight", "look for what would keep it from starting"),
    ("backup", "unit.backup", "keep the files on the host"),
    ("set", "unit.set", "set context_length to 65536"),
    ("share", "unit.set", "set mem_fraction"),
    ("reload", "systemd.daemon_reload", "have systemd read its files again"),
    ("restart", "service.restart", "restart sglang-chat.service"),
    ("wait", "service.wait_ready", "wait until the new process serves"),
    ("verify", "service.verify", "prove that the setting serves"),
)
ANSWERS = {
    "fits": ["the pool holds 88,000 tokens now: serves one request of 65,536"],
    "comes_back": ["driver 570.1 = libraries 570.1, no Xid since boot, weights local, unit enabled"],
    "also_live": ["--max-running-requests 24 -> 32   on disk, never restarted: needs --accept-pending"],
    "also_hit": ["daemon-reload reads every unit of the host again"],
    "outage": ["about 6 min (3 loads: 5 min-7 min), 2 requests in flight"],
    "undo": ["file at once, service after about 6 min; backup and undo.sh in /var/lib/console on the host"],
    "blocked_by": ["no open run or lock"],
}

FILE_CHANGE = FileChange(
    id="c1",
    step="set",
    path=FILE,
    real_path=FILE,
    sha256_before="a" * 64,
    sha256_after="b" * 64,
    splices=(),
    mode=0o644,
    uid=0,
    gid=0,
    summary="context_length 16384 -> 65536",
)
RELOAD_CHANGE = ReloadChange(id="c2", step="reload", unit=UNIT)
RESTART_CHANGE = RestartChange(id="c3", step="restart", unit=UNIT, invocation_before="1" * 32)


def numbered(events: Iterable[tuple[float, Event]], run: str = RUN) -> list[Event]:
    """Events with their number and their time, given in seconds after 03:00:00Z."""
    return [
        event.model_copy(update={"seq": seq, "run": run, "ts": stamp(at)})
        for seq, (at, event) in enumerate(events, start=1)
    ]


def stamp(at_s: float) -> str:
    minutes, seconds = divmod(at_s, 60)
    return f"2026-03-04T03:{int(minutes):02d}:{seconds:06.3f}Z"


def started(*targets: str, **more: Any) -> RunStarted:
    return RunStarted(
        runbook="extend-context",
        title="Extend the served context window",
        targets=targets or (TARGET,),
        operator="ops",
        **more,
    )


def planned(target: str = TARGET, **more: Any) -> PlanMade:
    given: dict[str, Any] = {
        "plan_sha256": "c" * 64,
        "settings": ("context_length 16384 -> 65536",),
        "steps": tuple(f"{name}: {title}" for name, _, title in STEPS),
        "answers": ANSWERS,
    }
    return PlanMade(target=target, **(given | more))


def begin(step: str, target: str = TARGET) -> StepStarted:
    index = [name for name, _, _ in STEPS].index(step) + 1
    _, uses, title = STEPS[index - 1]
    stops = "stops now" if step in ("wait", "verify") else "finishes this action"
    return StepStarted(target=target, step=step, uses=uses, index=index, of=len(STEPS), title=title, on_abort=stops)


def end(
    step: str, outcome: str, message: str = "", took: float = 0.0, target: str = TARGET, **more: Any
) -> StepFinished:
    uses = {name: kind for name, kind, _ in STEPS}.get(step, step)
    return StepFinished.model_validate(
        {"target": target, "step": step, "uses": uses, "outcome": outcome, "message": message, "duration_s": took}
        | more
    )


def change(kind: type[ChangeIntended | ChangeMade | ChangeUndone], what: Any, **more: Any) -> Event:
    event: Event = kind(target=TARGET, change=what, step=what.step, kind=what.kind, **more)
    return event


def up_to_restart() -> list[tuple[float, Event]]:
    return [
        (0.0, started(reason="INC-77 long documents")),
        (0.0, TargetStarted(target=TARGET, unit=UNIT, engine="sglang")),
        (0.3, ConnectionChanged(target=TARGET, state="connected", message="ops@192.0.2.7, key")),
        (
            0.6,
            LevelsRead(
                target=TARGET,
                setting="context_length",
                disk="16384",
                loaded="16384",
                running="16384",
                serving="16384",
                pool_tokens=88000,
                agree=True,
            ),
        ),
        (
            0.6,
            EditPlanned(
                target=TARGET,
                step="set",
                file=f"{FILE}:3",
                setting="context_length",
                before="16384",
                after="65536",
                argv_before=("serve", "--port", "30000", "--context-length", "16384", "--tp", "2"),
                argv_after=("serve", "--port", "30000", "--context-length", "65536", "--tp", "2"),
            ),
        ),
        (0.6, planned(warnings=("the unit is not enabled: it does not start at boot",))),
        (
            0.6,
            QuestionAsked(
                target=TARGET,
                question="confirm",
                text="Restart it? 2 requests in flight.",
                choices=("yes", "no"),
                default="no",
            ),
        ),
        (9.0, QuestionAnswered(target=TARGET, question="confirm", answer="yes", by="terminal")),
        (9.1, begin("preflight")),
        (9.1, end("preflight", "ok", "driver 570.1 = libraries 570.1, no Xid since boot, weights local")),
        (9.1, begin("backup")),
        (9.1, end("backup", "ok", f"in {LEDGER} on the host")),
        (9.1, begin("set")),
        (9.1, change(ChangeIntended, FILE_CHANGE, backup=LEDGER)),
        (9.3, change(ChangeMade, FILE_CHANGE, backup=LEDGER)),
        (9.3, end("set", "changed", "context_length 16384 -> 65536", 0.2)),
        (9.3, end("share", "skipped", "when = 'mem_fraction' does not hold")),
        (9.3, begin("reload")),
        (9.3, change(ChangeIntended, RELOAD_CHANGE)),
        (9.8, change(ChangeMade, RELOAD_CHANGE)),
        (9.8, end("reload", "changed", "systemd read the unit files again", 0.5)),
        (9.8, begin("restart")),
        (9.8, change(ChangeIntended, RESTART_CHANGE)),
        (10.0, change(ChangeMade, RESTART_CHANGE)),
        (10.0, end("restart", "changed", "restart queued", 0.2)),
        (10.0, begin("wait")),
    ]


def progress(
    phase: str, done: float | None = None, total: float | None = None, eta: float | None = None, message: str = ""
) -> Event:
    return StepProgress(target=TARGET, step="wait", phase=phase, done=done, total=total, eta_s=eta, message=message)


def waiting() -> list[tuple[float, Event]]:
    return [
        *up_to_restart(),
        (10.2, progress("stopping", message="the old process is stopping")),
        (11.0, progress("weights", 1, 24, 340.0)),
        (12.0, progress("weights", 2, 24, 338.0)),
        (17.0, progress("weights", 5, 24, 330.0)),
        (300.0, progress("graphs", 3, 18, 40.0)),
    ]


def verified() -> list[Event]:
    """The main job, well ended."""
    return numbered(
        [
            *waiting(),
            (355.0, end("wait", "ok", "ready after 345.0 s, invocation 22222222", 345.0)),
            (355.0, begin("verify")),
            (356.0, FindingMade(target=TARGET, name="pool_tokens", value=88000, method="server_info")),
            (362.0, Verified(target=TARGET, invocation_id="2" * 32)),
            (362.0, end("verify", "ok", "16,400 prompt tokens served, pool 88000", 7.0)),
            (
                362.5,
                TargetFinished(
                    target=TARGET,
                    outcome="verified",
                    exit_code=0,
                    duration_s=362.5,
                    next=(
                        f"console facts {TARGET}",
                        f"console rollback {RUN}",
                        f"ssh ops@192.0.2.7 sudo sh {LEDGER}/undo.sh",
                    ),
                ),
            ),
            (362.6, RecordSaved(target=TARGET, path="/home/ops/findings/node7/chat/2026/record.json")),
            (362.8, RecordCommitted(target=TARGET, path="node7/chat/2026/record.json", sha="d" * 40)),
            (362.9, RunFinished(exit_code=0, outcomes={TARGET: "verified"})),
        ]
    )


def rolled_back() -> list[Event]:
    """The start dies for want of memory; the old state is put back and proven."""
    oom = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"
    return numbered(
        [
            *waiting(),
            (301.0, LogLine(target=TARGET, kind="failure", text=oom)),
            (
                302.0,
                end(
                    "wait",
                    "failed",
                    f"{TARGET}: the unit failed (exit-code, status 1): out of memory\n    {oom}\n"
                    f"  next: journalctl -u {UNIT} -n 200",
                    292.0,
                    error={"kind": "NotReady", "exit_code": 1},
                ),
            ),
            (302.0, UndoStarted(target=TARGET, reason="the unit failed: out of memory")),
            (302.2, change(ChangeUndone, FILE_CHANGE, how="run")),
            (302.6, change(ChangeUndone, RELOAD_CHANGE, how="run")),
            (302.8, change(ChangeUndone, RESTART_CHANGE, how="run")),
            (
                302.8,
                StepStarted(
                    target=TARGET,
                    step="undo-wait_ready",
                    uses="service.wait_ready",
                    index=0,
                    of=0,
                    title="wait until the old setting serves",
                ),
            ),
            (
                600.0,
                end("undo-wait_ready", "ok", "ready after 297.0 s", 297.2, uses="service.wait_ready"),
            ),
            (601.0, UndoFinished(target=TARGET, proven=True, message="the old state is back")),
            (
                601.0,
                TargetFinished(
                    target=TARGET,
                    outcome="rolled-back",
                    exit_code=4,
                    duration_s=601.0,
                    message="the unit failed: out of memory",
                    next=(f"console plan extend-context {TARGET}",),
                ),
            ),
            (601.1, RecordSaved(target=TARGET, path="/home/ops/findings/node7/chat/2026/record.json")),
            (601.1, RecordCommitted(target=TARGET, path="x", error="saved, not committed: a hook refused")),
            (601.2, RunFinished(exit_code=4, outcomes={TARGET: "rolled-back"})),
        ]
    )


def stopped_twice() -> list[Event]:
    return numbered(
        [
            *waiting(),
            (305.0, AbortRequested(how="SIGINT")),
            (306.0, AbortRequested(how="SIGINT")),
        ]
    )
