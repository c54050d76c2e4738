"""The main job on hosts in memory: one edit, a reload, a restart, the wait and the proof, and what goes wrong there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest

from console.engines.base import Reply, Request
from console.remote.scripts import Output
from console.runner import prepare
from console.runner.context import RunContext
from console.runner.target_run import TargetRun
from console.runs.state import RunState
from console.schema.change import Change, CommandChange, FileChange, ReloadChange, RestartChange
from console.schema.events import Verified
from console.schema.plan import Plan, PlannedStep
from console.schema.splice import Splice
from console.steps.base import Step, StepIO, StepResult
from console.steps.registry import LOADED
from tests.fakes import (
    FRAGMENT,
    NEW,
    NEWER,
    OLD,
    UNIT,
    UNIT_NAME,
    FakeRemote,
    Told,
    ok,
    plan,
    sha256,
    state,
    target_run,
)

AFTER = UNIT.replace("32768", "200000")
FILE = FileChange(
    id="c1",
    step="set",
    path=FRAGMENT,
    real_path=FRAGMENT,
    sha256_before=sha256(UNIT.encode()),
    sha256_after=sha256(AFTER.encode()),
    splices=(Splice(start=UNIT.index("32768"), old=b"32768", new=b"200000"),),
    mode=0o644,
    uid=0,
    gid=0,
    summary="context_length 32768 -> 200000",
)
RELOAD = ReloadChange(id="c2", step="reload", unit=UNIT_NAME)
RESTART = RestartChange(id="c3", step="restart", unit=UNIT_NAME, invocation_before=OLD)
KINDS = {"file": "unit.set", "reload": "systemd.daemon_reload", "restart": "service.restart", "command": "host.command"}


def command(text: str = "nvidia-smi -pl 400", undo: str = "", change_id: str = "k1") -> CommandChange:
    return CommandChange(id=change_id, step=change_id, command=text, undo=undo, summary=text)


def step(uses: str, change: Change | None = None, **more: Any) -> PlannedStep:
    given: dict[str, Any] = {
        "id": change.step if change else uses.rpartition(".")[2],
        "index": 1,
        "uses": uses,
        "title": uses,
        "on_failure": "rollback",
        "changes": (change.id,) if change else (),
    }
    return PlannedStep(**(given | more))


def job(*parts: Change | str, **more: Any) -> Plan:
    """A plan of these changes and of these kinds of looking steps, in this order."""
    steps = [step(part) if isinstance(part, str) else step(KINDS[part.kind], part) for part in parts]
    changes = tuple(part for part in parts if not isinstance(part, str))
    return plan(**({"steps": tuple(steps), "changes": changes, "on_failure": "rollback"} | more))


class Host(FakeRemote):
    """Restarts when it is asked to: each start has an invocation of its own."""

    def __init__(self, **more: Any) -> None:
        super().__init__({FRAGMENT: UNIT.encode()}, **more)
        self.starts = [NEW, NEWER, "4" * 32, "5" * 32]
        self.answers.setdefault("act_restart.sh", self._restart)

    async def fetch(self, request: Request, *, patience_s: float = 0.0) -> Reply:
        self.requests.append(request)
        return Reply(0, error="not asked in these tests")

    def _restart(self, *_args: str) -> Output:
        ended = self.unit.invocation_id
        self.unit = state(invocation_id=self.starts.pop(0))
        return ok(ended=ended)


@dataclass
class Looks:
    """What the waits and proofs of a test do, one after the other; then all is well."""

    wait: list[Callable[[StepIO], None]] = field(default_factory=list)
    verify: list[Callable[[StepIO], None]] = field(default_factory=list)

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        looks = self

        class Wait(Step):
            uses: ClassVar[str] = "service.wait_ready"
            looks: ClassVar[bool] = True

            async def run(self, io: StepIO) -> StepResult:
                if looks.wait:
                    looks.wait.pop(0)(io)
                if io.regained is not None:
                    await io.regained()
                io.invocation = io.reader.unit.invocation_id  # type: ignore[attr-defined]
                return StepResult("ok", "ready")

        class Verify(Step):
            uses: ClassVar[str] = "service.verify"
            looks: ClassVar[bool] = True
            probe: str = "auto"
            require: str = "serve"

            async def run(self, io: StepIO) -> StepResult:
                if looks.verify:
                    looks.verify.pop(0)(io)
                io.emit(Verified(target=io.reader.target.name, invocation_id=io.invocation))
                return StepResult("ok", "served")

        monkeypatch.setitem(LOADED, "service.wait_ready", Wait)
        monkeypatch.setitem(LOADED, "service.verify", Verify)


def raises(error: Exception) -> Callable[[StepIO], None]:
    def fail(_io: StepIO) -> None:
        raise error

    return fail


async def carried_out(
    context: RunContext, host: FakeRemote, planned: Plan, before: Sequence[Callable[[TargetRun], None]] = ()
) -> tuple[TargetRun, RunState, Told]:
    """Plan, then carry out; what `before` does comes in between."""
    told, folded = Told(), RunState()
    context.log.subscribe(told)
    context.log.subscribe(folded.apply)
    run = target_run(context, host, planned)
    assert await prepare.prepare(run), told.events[-1]
    for act in before:
        act(run)
    await run.execute()
    return run, folded, told
