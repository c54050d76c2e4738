"""Made-up hosts: facts from real unit bytes, looks at a start, and a host in memory that can be acted on."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from console.clock import stamp
from console.engines.base import LogLine, Reply, Request
from console.engines.registry import engine_named
from console.facts.watch import PortOwner, Watch
from console.remote.scripts import Output
from console.remote.session import LockHold, Reader, Remote
from console.runner.abort import Abort
from console.runner.ask import Desk, Nobody
from console.runner.context import Options, RunContext
from console.runner.target_run import TargetRun
from console.runs.directory import RunDirectory
from console.schema.events import Event
from console.schema.facts import Facts, HostState, Process, UnitFile, UnitState
from console.schema.hosts import Host, Service, Target
from console.schema.plan import Plan, PlannedStep
from console.schema.serving import Serving
from console.secrets import Redactor
from console.settings import resolve
from console.steps.base import StepIO
from console.units.effective import EffectiveUnit, UnitSource

SomeEvent = TypeVar("SomeEvent", bound=Event)

RUN = "01K2EXAMPLE0000000000000ZZ"
SGLANG = engine_named("sglang")
UNIT_NAME = "chat.service"
FRAGMENT = "/etc/systemd/system/chat.service"
DROPIN = "/etc/systemd/system/chat.service.d/10-window.conf"
OLD, NEW, NEWER = "1" * 32, "2" * 32, "3" * 32
UNIT = """\
[Unit]
Description=Chat model

[Service]
Environment=HF_HOME=/models
ExecStart=/opt/engine/bin/python -m sglang.launch_server \\
  --model-path /models/chat-70b \\
  --context-length 32768 \\
  --mem-fraction-static 0.85 \\
  --port 30000
Restart=on-failure

[Install]
WantedBy=multi-user.target
"""
ARGV = (
    *("/opt/engine/bin/python", "-m", "sglang.launch_server", "--model-path", "/models/chat-70b"),
    *("--context-length", "32768", "--mem-fraction-static", "0.85", "--port", "30000"),
)


@dataclass
class FakeClock:
    """Time that passes only while somebody sleeps."""

    at: float = 1000.0
    slept: list[float] = field(default_factory=list)

    def now(self) -> datetime:
        return datetime(2026, 3, 4, 3, 2, 11, tzinfo=UTC) + timedelta(seconds=self.at - 1000.0)

    def monotonic(self) -> float:
        return self.at

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.at += seconds
        await asyncio.sleep(0)


def target(*, engine: str = "sglang", url: str = "http://127.0.0.1:30000", **host: Any) -> Target:
    return Target(
        host_name="node7",
        service_name="chat",
        host=Host(**({"address": "node7.example.net", "user": "ops"} | host)),
        service=Service(unit=UNIT_NAME, engine=engine, url=url),
    )


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def unit_file(path: str, text: str, **more: Any) -> UnitFile:
    """A file as it was read; its kind follows from its path."""
    content = text.encode()
    kind = "fragment" if path == FRAGMENT else "dropin" if path.endswith(".conf") else "environment"
    given = {"path": path, "real_path": path, "kind": kind, "sha256": sha256(content), "size": len(content)}
    return UnitFile(**(given | {"content": content} | more))


def effective(*texts: str, files: Mapping[str, str] | None = None, name: str = UNIT_NAME) -> EffectiveUnit:
    """A unit out of the text of its fragment and of its drop-ins."""
    paths = [FRAGMENT, *(f"{FRAGMENT}.d/{number}0-more.conf" for number in range(1, len(texts)))]
    sources = tuple(UnitSource(path, text.encode()) for path, text in zip(paths, texts, strict=True))
    return EffectiveUnit(name, sources, files={path: text.encode() for path, text in (files or {}).items()})


def state(**more: Any) -> UnitState:
    given = {
        "id": UNIT_NAME,
        "load_state": "loaded",
        "active_state": "active",
        "sub_state": "running",
        "unit_file_state": "enabled",
        "type": "simple",
        "fragment_path": FRAGMENT,
        "invocation_id": OLD,
        "main_pid": 41,
    }
    return UnitState(**(given | more))


def host(**more: Any) -> HostState:
    given = {
        "hostname": "node7",
        "boot_id": "boot-1",
        "now": "2026-03-04T03:02:11+00:00",
        "login_user": "ops",
        "sudo": "passwordless",
        "free_bytes_unit_folder": 50 * 1024**3,
        "free_bytes_state_folder": 50 * 1024**3,
    }
    return HostState(**(given | more))


def serving(**more: Any) -> Serving:
    given: dict[str, Any] = {"context_length": 32768, "pool_tokens": 88_000, "running_requests": 2, "version": "0.5.10"}
    return Serving(**(given | more))


def facts(
    text: str = UNIT,
    *,
    dropins: Mapping[str, str] | None = None,
    environment_files: Mapping[str, str] | None = None,
    running: Sequence[str] | None = None,
    environment: Mapping[str, str] | None = None,
    unit: Mapping[str, Any] | None = None,
    **more: Any,
) -> Facts:
    """A target where systemd has loaded what the files say, and a process runs it, unless `running` says otherwise."""
    files = [unit_file(path, body) for path, body in {FRAGMENT: text, **(dropins or {})}.items()]
    files += [unit_file(path, body) for path, body in (environment_files or {}).items()]
    seen = Facts(
        target="node7/chat",
        read_at="2026-03-04T03:02:11.000Z",
        host=host(),
        unit=state(dropin_paths=tuple(dropins or {})),
        files=tuple(files),
    )
    on_disk = resolve.unit_of(seen)
    variables = resolve.environment_on_disk(on_disk)
    words = tuple(resolve.argv_on_disk(on_disk, variables) or ())
    argv = words if running is None else tuple(running)
    given: dict[str, Any] = {
        "unit": seen.unit.model_copy(update={"exec_start": (" ".join(words),), **(unit or {})}),
        "process": Process(
            pid=44, argv=argv, environment=dict(variables if environment is None else environment), started_ticks=7
        ),
        "serving": serving(),
        "foreign_requests_60s": 0,
    }
    return seen.model_copy(update=given | more)


def watch(
    invocation: str = NEW,
    *lines: LogLine,
    port: PortOwner = "none",
    port_pid: int = 0,
    boot_id: str = "boot-1",
    cursor: str = "s=1",
    gpu: int | None = None,
    read: int | None = None,
    raw: Sequence[str] | None = None,
    **unit: Any,
) -> Watch:
    """One look at a starting service; what is not said of the unit is a start under way."""
    given = {"active_state": "activating", "sub_state": "start", "invocation_id": invocation}
    return Watch(
        unit=state(**(given | unit)),
        invocation=invocation,
        boot_id=boot_id,
        cursor=cursor,
        port_owner=port,
        port_pid=port_pid,
        lines=lines,
        raw_lines=tuple(line.text for line in lines) if raw is None else tuple(raw),
        gpu_used_mib=gpu,
        read_bytes=read,
    )


def plan(**more: Any) -> Plan:
    """A plan of nothing, as a step that looks is given one."""
    given: dict[str, Any] = {
        "target": target(),
        "runbook": "extend-context",
        "title": "Extend the served context window",
        "runbook_sha256": "e" * 64,
        "runbook_text": "",
        "variables": {},
        "made_at": "2026-03-04T03:02:11.000Z",
        "steps": (),
    }
    return Plan(**(given | more))


@dataclass
class Told:
    """Collects events."""

    events: list[Event] = field(default_factory=list)

    def __call__(self, event: Event) -> None:
        self.events.append(event)

    def of(self, kind: type[SomeEvent]) -> list[SomeEvent]:
        return [event for event in self.events if isinstance(event, kind)]


OPTIONS = Options(operator="kim", from_host="desk.example.net", reason="longer prompts", ticket="T-1")


def context(folder: Path, told: Told | None = None, **options: Any) -> RunContext:
    """A run with a real directory and log; `told` hears its events."""
    clock, redactor = FakeClock(), Redactor()
    directory = RunDirectory.create(folder / "runs", RUN)
    log = directory.log(now=lambda: stamp(clock.now()), redactor=redactor)
    if told is not None:
        log.subscribe(told)
    desk = Desk(Nobody(), log.append)
    return RunContext(RUN, directory, log, redactor, clock, desk, Abort(), replace(OPTIONS, **options))


def target_run(run: RunContext, remote: FakeRemote, planned: Plan, at: Target | None = None) -> TargetRun:
    """A target's run on a host in memory; its plan is `planned`, bound to what the host shows."""

    async def open_reader() -> Reader:
        return remote

    async def planner(seen: Facts, reader: Reader) -> Plan:
        return planned

    return TargetRun(run, at or target(), SGLANG, open_reader, planner)


def step_io(remote: FakeRemote, uses: str, told: Told, *, timeout_s: float | None = None, **more: Any) -> StepIO:
    """What a looking step is given when its turn comes."""
    step = PlannedStep(id="look", index=1, uses=uses, title=uses, on_failure="stop", timeout_s=timeout_s)
    given: dict[str, Any] = {
        "reader": remote,
        "engine": SGLANG,
        "plan": plan(),
        "step": step,
        "clock": remote.clock,
        "emit": told,
        "before": facts(),
        "request_id": "console-r1",
        "invocation_before": OLD,
        "restarted": True,
    }
    return StepIO(**(given | more))


def ok(**sections: str) -> Output:
    return Output(0, {name: text.encode() for name, text in sections.items()})


class FakeHold(LockHold):
    def __init__(self) -> None:
        self.lost = asyncio.Event()
        self.released = 0

    async def release(self) -> None:
        self.released += 1


Answer = Output | Exception | Callable[..., Output]


class FakeRemote(Remote):
    """A host in memory. Files are read and replaced as the scripts do it; everything else answers as it was told.

    `answers`: script → what it answers; a list is used up one by one, its last answer stays. `told`: what came in.
    """

    def __init__(
        self,
        files: Mapping[str, bytes] | None = None,
        *,
        unit: UnitState | None = None,
        answers: Mapping[str, Answer | list[Answer]] | None = None,
        replies: Sequence[Reply] = (),
    ) -> None:
        self.target = target()
        self.redactor = Redactor()
        self.clock: FakeClock = FakeClock()
        self.files = dict(files or {})
        self.unit = unit or state()
        self.answers = dict(answers or {})
        self.replies = list(replies)
        self.told: list[tuple[str, tuple[str, ...]]] = []
        self.locks: list[str] = []
        self.requests: list[Request] = []
        self.holds: list[FakeHold] = []
        self.host_holds: list[FakeHold] = []
        self.documents: list[Mapping[str, str]] = []
        self.was_regained = False
        self.closed = 0
        self.boot_id = "boot-1"

    @property
    def certificate_ends(self) -> None:
        return None

    @property
    def auth(self) -> str:
        return "publickey ops"

    def regained(self) -> bool:
        before, self.was_regained = self.was_regained, False
        return before

    async def look(self, script: str, *args: str, **_: Any) -> Output:
        self.told.append((script, args))
        return self._answer(script, args)

    async def act(
        self, script: str, *args: str, lock: str = "", timeout_s: float = 60.0, name: str = "", scope: str = ""
    ) -> Output:
        self.told.append((script, args))
        self.locks.append(lock)
        return self._answer(script, args)

    async def fetch(self, request: Request, *, patience_s: float = 0.0) -> Reply:
        self.requests.append(request)
        return self.replies.pop(0)

    def writer(self) -> Remote:
        return self

    async def until_quiet(self, *, patience_s: float) -> None:
        self.told.append(("until_quiet", ()))

    async def aclose(self) -> None:
        self.closed += 1

    async def hold_lock(
        self, run: str, document: Mapping[str, str], *, whole_host: bool = False, again: bool = False
    ) -> LockHold:
        if whole_host:
            self._answer("act_lock.sh host", ())
            self.host_holds.append(FakeHold())
            return self.host_holds[-1]
        self._answer("act_lock.sh", ())
        self.documents.append(document)
        self.holds.append(FakeHold())
        return self.holds[-1]

    def scripts(self) -> list[str]:
        return [script for script, _ in self.told]

    def _answer(self, script: str, args: tuple[str, ...]) -> Output:
        said = self.answers.get(script)
        if isinstance(said, list):
            said = said.pop(0) if len(said) > 1 else said[0]
        if isinstance(said, Exception):
            raise said
        if isinstance(said, Output):
            return said
        if said is not None:
            return said(*args)
        if script == "look_files.sh":
            return Output(0, {f"file.{number}": self._described(path) for number, path in enumerate(args, start=1)})
        if script == "look_facts.sh":
            return self._facts()
        if script in ("look_unit.sh", "act_reload.sh"):
            return ok(unit=shown(self.unit))
        return self._replaced(*args[:4]) if script == "act_replace.sh" else ok()

    def _facts(self) -> Output:
        """All files decide the unit; nothing is said of its process, so the argv that systemd loaded counts."""
        words = f"ExecStart={{ path=/opt/engine ; argv[]={' '.join(ARGV)} ; ignore_errors=no ; start_time=[n/a] }}\n"
        found = {f"file.{number}": self._described(path) for number, path in enumerate(self.files, start=1)}
        found["unit"] = (shown(self.unit) + f"FragmentPath={FRAGMENT}\nUnitFileState=enabled\n" + words).encode()
        found["host"] = f"hostname=node7\nboot_id={self.boot_id}\nlogin=ops\nsudo=passwordless\n".encode()
        return Output(0, found)

    def _described(self, path: str) -> bytes:
        if path not in self.files:
            return f"kind=source\npath={path}\nreal={path}\nmissing=yes\n".encode()
        content = base64.b64encode(self.files[path]).decode()
        kind = "fragment" if path == FRAGMENT else "dropin" if path.endswith(".conf") else "source"
        return f"kind={kind}\npath={path}\nreal={path}\nstat=644 0 0 9 regular file\ncontent={content}\n".encode()

    def _replaced(self, path: str, before: str, after: str, content: str) -> Output:
        data = base64.b64decode(content)
        if (sha256(self.files[path]) if path in self.files else "absent") != before:
            return Output(77, stderr=b"it is not as planned")
        if after == "absent":
            del self.files[path]
            return ok()
        assert sha256(data) == after
        self.files[path] = data
        return ok()


def shown(unit: UnitState) -> str:
    """What `systemctl show` says of a unit, as far as the tests need it."""
    return (
        f"Id={unit.id}\nLoadState={unit.load_state}\nActiveState={unit.active_state}\nSubState={unit.sub_state}\n"
        f"Result={unit.result}\nNeedDaemonReload={'yes' if unit.need_daemon_reload else 'no'}\n"
        f"InvocationID={unit.invocation_id}\nNRestarts={unit.n_restarts}\nJob={unit.job or 0}\n"
    )


def journal(*entries: tuple[str, str, str]) -> str:
    """journald's JSON of (cursor, invocation, message)."""
    return "".join(
        json.dumps({"__CURSOR": cursor, "_SYSTEMD_INVOCATION_ID": invocation, "MESSAGE": message}) + "\n"
        for cursor, invocation, message in entries
    )
