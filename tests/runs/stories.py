"""Event logs of runs as they happen, for tests of everything that reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from console.schema.change import Change, CommandChange, FileChange, ReloadChange, RestartChange
from console.schema.events import (
    ChangeIntended,
    ChangeMade,
    ChangeUndone,
    EditPlanned,
    Event,
    FactsRead,
    FindingMade,
    LevelsRead,
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
from console.schema.outcome import StepOutcome
from console.schema.splice import Splice

RUN = "01KAYX5V00000000000000000A"
TARGET = "gpu7/llm"
UNIT = "engine-llm.service"
FILE = f"/etc/systemd/system/{UNIT}"
STEPS = (
    ("preflight", "host.preflight"),
    ("set", "unit.set"),
    ("reload", "systemd.daemon_reload"),
    ("restart", "service.restart"),
    ("wait", "service.wait_ready"),
    ("verify", "service.verify"),
)


def file_change(change_id: str = "file-1", path: str = FILE) -> FileChange:
    return FileChange(
        id=change_id,
        step="set",
        path=path,
        real_path=path,
        sha256_before="a" * 64,
        sha256_after="b" * 64,
        splices=(Splice(start=10, old=b"4096", new=b"8192"),),
        mode=0o644,
        uid=0,
        gid=0,
        summary=f"write {path}",
    )


RELOAD = ReloadChange(id="reload", step="reload", unit=UNIT)
RESTART = RestartChange(id="restart", step="restart", unit=UNIT, invocation_before="0" * 32)
COMMAND = CommandChange(id="command", step="command", command="sysctl -w vm.nr_hugepages=8", summary="set huge pages")


class Story:
    """Numbers and stamps events as the log of one run would. Methods add what a run says at that point."""

    def __init__(self, run: str = RUN, target: str = TARGET, purpose: str = "run", parent: str = "") -> None:
        self.run, self.target, self.purpose, self.parent = run, target, purpose, parent
        self.events: list[Event] = []
        self.done: list[str] = []

    def say(self, event: Event, target: str | None = None) -> Story:
        seq = len(self.events) + 1
        where = self.target if target is None else target
        stamped = {
            "seq": seq,
            "ts": f"2026-03-04T05:{seq // 60:02d}:{seq % 60:02d}.000Z",
            "run": self.run,
            "target": where,
        }
        self.events.append(event.model_copy(update=stamped))
        return self

    def begin(self, steps: Sequence[tuple[str, str]] = STEPS, *, nothing_to_do: bool = False) -> Story:
        self.of = len(steps)
        self.say(
            RunStarted(
                runbook="extend-window",
                runbook_sha256="c" * 64,
                purpose=self.purpose,
                parent=self.parent,
                targets=(self.target,),
                vars={"to": 8192},
                operator="casey",
                from_host="desk4",
                console_version="0.1",
                pid=4242,
            ),
            target="",
        )
        self.say(TargetStarted(unit=UNIT, engine="sglang"))
        self.say(
            FactsRead(when="plan", facts={"host": {"simulated": False}, "serving": {"model": "m-1", "version": "0.5"}})
        )
        self.levels("4096")
        if not nothing_to_do:
            self.say(
                EditPlanned(
                    step="set", file=f"{FILE}:12", setting="context_length", before="4096", after="8192",
                    diff="-ExecStart=engine 4096\n+ExecStart=engine 8192\n",
                )
            )  # fmt: skip
        return self.say(
            PlanMade(
                plan_sha256="d" * 64,
                settings=("context_length 4096 -> 8192",),
                nothing_to_do=nothing_to_do,
                steps=tuple(f"{name}: {uses}" for name, uses in steps),
            )
        )

    def levels(
        self, disk: str, loaded: str | None = None, running: str | None = None, serving: str | None = None
    ) -> Story:
        values = (disk, loaded or disk, running or disk, serving or disk)
        return self.say(
            LevelsRead(
                setting="context_length", disk=values[0], loaded=values[1], running=values[2], serving=values[3],
                pool_tokens=20000, agree=len(set(values)) == 1,
            )
        )  # fmt: skip

    def ask(self, answer: str = "yes") -> Story:
        self.say(QuestionAsked(question="confirm", text="Restart?", choices=("yes", "no"), default="no"))
        self.say(QuestionAnswered(question="confirm", answer=answer, by="casey"))
        if answer == "no":
            self.phase("confirm", "aborted", 130)
        return self

    def phase(self, name: str, outcome: StepOutcome, code: int) -> Story:
        return self.say(
            StepFinished(step=name, uses=name, outcome=outcome, message=name, error={"kind": "X", "exit_code": code})
        )

    def start(self, name: str) -> Story:
        uses = dict(STEPS).get(name, name)
        return self.say(StepStarted(step=name, uses=uses, index=len(self.done) + 1, of=self.of, title=name))

    def end(self, name: str, outcome: StepOutcome = "ok", code: int | None = None, message: str = "") -> Story:
        self.done.append(name)
        error = {"kind": "X", "exit_code": code} if code is not None else None
        uses = dict(STEPS).get(name, name)
        return self.say(StepFinished(step=name, uses=uses, outcome=outcome, message=message, error=error))

    def intend(self, change: Change) -> Story:
        return self.say(ChangeIntended(change=change, step=change.step, kind=change.kind, backup="/var/lib/console/x"))

    def make(self, change: Change) -> Story:
        return self.say(ChangeMade(change=change, step=change.step, kind=change.kind))

    def undo(self, change: Change, how: str = "run") -> Story:
        return self.say(ChangeUndone(change=change, step=change.step, kind=change.kind, how=how))

    def change(self, name: str, *changes: Change) -> Story:
        self.start(name)
        for change in changes:
            self.intend(change).make(change)
        return self.end(name, "changed")

    def written(self) -> Story:
        """Asked, and the file written and loaded."""
        self.begin().ask().start("preflight").end("preflight")
        return self.change("set", file_change()).change("reload", RELOAD)

    def restarted(self) -> Story:
        return self.written().change("restart", RESTART)

    def ready(self) -> Story:
        self.restarted().start("wait")
        self.say(StepProgress(step="wait", phase="weights", done=1, total=4, eta_s=30))
        return self.end("wait")

    def verify(self) -> Story:
        self.start("verify").levels("8192")
        self.say(FindingMade(name="prompt_tokens", value=4160, method="probe past-old", source="engine", n=1))
        self.say(Verified(invocation_id="1" * 32, message="context_length 8192"))
        return self.end("verify")

    def put_back(self, *changes: Change, proven: bool | None = True) -> Story:
        self.say(UndoStarted(reason="it did not come up"))
        for change in changes:
            self.undo(change)
        if proven is not None:
            self.say(UndoFinished(proven=proven))
        return self

    def close(self, outcome: str, code: int, live: bool | None = None) -> Story:
        self.say(
            TargetFinished(
                outcome=outcome, exit_code=code, duration_s=12.5, live=live, next=("console facts gpu7/llm",)
            )
        )
        self.say(RecordSaved(path="/r/record.json"))
        self.say(RecordCommitted(path="/r/record.json", sha="e" * 40))
        return self.say(RunFinished(exit_code=code, outcomes={self.target: outcome}), target="")


def verified(**story: Any) -> Story:
    return Story(**story).ready().verify().close("verified", 0)


def rolled_back(**story: Any) -> Story:
    story_ = Story(**story).restarted().start("wait").end("wait", "failed", 1, "out of memory")
    return story_.put_back(file_change(), RELOAD, RESTART).close("rolled-back", 4)


def aborted_in_wait(**story: Any) -> Story:
    return (
        Story(**story).restarted().start("wait").end("wait", "aborted", 130).close("applied-unverified", 3, live=True)
    )


def aborted_before_restart(**story: Any) -> Story:
    told = Story(**story).written().phase("stop", "aborted", 130)
    return told.put_back(file_change(), RELOAD).close("aborted-unchanged", 130)


def refused(**story: Any) -> Story:
    return Story(**story).begin().phase("plan", "refused", 1).close("failed-unchanged", 1)


def nothing_to_do(**story: Any) -> Story:
    told = Story(**story).begin(nothing_to_do=True).start("preflight").end("preflight").start("set").end("set")
    for name in ("reload", "restart", "wait"):
        told.end(name, "skipped")
    told.start("verify").levels("8192")
    told.say(FindingMade(name="pool_tokens", value=20000))
    return told.end("verify").close("no-change", 0)


def verified_then_failed(**story: Any) -> Story:
    told = Story(**story)
    steps = (*STEPS, ("after", "measure.decode"))
    told.begin(steps).ask().start("preflight").end("preflight").change("set", file_change()).change("reload", RELOAD)
    told.change("restart", RESTART).start("wait").end("wait").verify()
    return told.start("after").end("after", "failed", 1).close("verified-incomplete", 10)


def rollback_run(**story: Any) -> Story:
    told = Story(**{"purpose": "rollback", "parent": RUN, **story}).begin().ask().start("preflight").end("preflight")
    told.change("set", file_change()).change("reload", RELOAD).change("restart", RESTART).start("wait").end("wait")
    return told.verify().close("verified", 0)


ALL = {
    "verified": verified,
    "rolled_back": rolled_back,
    "aborted_in_wait": aborted_in_wait,
    "aborted_before_restart": aborted_before_restart,
    "refused": refused,
    "nothing_to_do": nothing_to_do,
    "verified_then_failed": verified_then_failed,
    "rollback_run": rollback_run,
}
