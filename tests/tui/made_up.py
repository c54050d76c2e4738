"""A made-up fleet for the screens: facts as they would be read, looks that cost nothing, runs told from events."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from textual.app import App

from console.engines.registry import engine_named
from console.errors import ConsoleError
from console.facts.journal import JournalLine
from console.facts.watch import Watch
from console.planning import lint, policy
from console.planning.groups import Groups
from console.planning.plan import make_plan
from console.planning.preview import Preview
from console.planning.shelf import runbook_path
from console.runs.directory import RunDirectory
from console.schema.events import Event
from console.schema.facts import Facts, Gpu, HostState, Process, UnitFile, UnitState
from console.schema.hosts import Host, Inventory, Service, Target
from console.schema.runbook import Runbook, Value
from console.schema.serving import Serving
from console.secrets import Redactor

RUN = "01K2ABCDEFGHJKMNPQRSTVWXYZ"
UNIT = "sglang-chat.service"
FRAGMENT = f"/etc/systemd/system/{UNIT}"
ARGV = ("/opt/sglang/bin/serve", "--model-path", "/srv/models/chat", "--context-length", "32768", "--port", "30000")


def inventory(path: Path | None = None, *, protected: bool = False, hosts: Iterable[str] = ("node7",)) -> Inventory:
    service = Service(unit=UNIT, engine="sglang", url="http://127.0.0.1:30000")
    table = {name: Host(address="192.0.2.7", protected=protected, services={"chat": service}) for name in hosts}
    made = Inventory.model_validate({"schema": 1}).model_copy(update={"hosts": table, "path": path})
    assert made.targets()
    return made


def facts(target: str = "node7/chat", *, running: str = "32768", active: str = "active", **more: object) -> Facts:
    """A service at 32768; `running` says otherwise for the process."""
    content = f"[Service]\nExecStart={' '.join(ARGV)}\n".encode()
    argv = tuple(running if word == "32768" else word for word in ARGV)
    read = Facts(
        target=target,
        read_at="2026-03-04T03:00:00.000Z",
        host=HostState(hostname="node7", boot_id="b" * 32, sudo="root", login_user="root", gpus=(GPU,)),
        unit=UnitState(
            id=UNIT,
            load_state="loaded",
            active_state=active,
            sub_state="running",
            unit_file_state="enabled",
            fragment_path=FRAGMENT,
            invocation_id="1" * 32,
            main_pid=100,
            exec_start=(" ".join(ARGV),),
        ),
        files=(
            UnitFile(
                path=FRAGMENT,
                real_path=FRAGMENT,
                kind="fragment",
                size=len(content),
                sha256=hashlib.sha256(content).hexdigest(),
                content=content,
            ),
        ),
        process=Process(pid=101, argv=argv),
        serving=Serving(model="chat", context_length=int(running), pool_tokens=300000, running_requests=2),
        load_times_s=(50.0,),
    )
    return read.model_copy(update=more)


GPU = Gpu(index=0, name="GPU of 96 GB", memory_total_mib=97894, memory_used_mib=80000)


@dataclass
class FakeLooks:
    """Answers from memory; an error in place of facts is raised."""

    known: dict[str, Facts | ConsoleError] = field(default_factory=dict)
    looked: list[str] = field(default_factory=list)
    glanced: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    said: list[tuple[str, ...]] = field(default_factory=list)
    accepted: list[bool] = field(default_factory=list)
    redactor: Redactor = field(default_factory=Redactor)

    async def facts(self, target: Target) -> Facts:
        self.looked.append(target.name)
        found = self.known.get(target.name, facts(target.name))
        if isinstance(found, ConsoleError):
            raise found
        return found

    async def glance(self, target: Target, before: Facts | None = None) -> Facts:
        self.glanced.append(target.name)
        found = self.known.get(target.name, facts(target.name))
        if isinstance(found, ConsoleError):
            raise found
        return found

    async def journal(self, target: Target, cursor: str = "") -> Watch:
        self.asked.append(cursor)
        lines = self.said.pop(0) if self.said else ()
        said = tuple(JournalLine(text=text, cursor="c", at=0.0, invocation="1" * 32) for text in lines)
        unit = facts(target.name).unit
        return Watch(unit, "1" * 32, "b" * 32, f"c{len(self.asked)}", "unit", journal=said)

    async def preview(
        self,
        runbook: Runbook,
        target: Target,
        variables: Mapping[str, Value],
        *,
        accept_pending: bool = False,
        groups: Groups | None = None,
    ) -> Preview:
        self.accepted.append(accept_pending)
        read, plan = None, None
        try:
            read = await self.facts(target)
            engine = engine_named(target.service.engine)
            now = datetime(2026, 3, 4, 3, 0, tzinfo=UTC)
            plan = make_plan(runbook, target, read, engine, variables, redactor=self.redactor, now=now)
            policy.pending(plan, accept=accept_pending)
        except ConsoleError as error:
            return Preview(target, read, plan, error)
        return Preview(target, read, plan)


def extend_context() -> Runbook:
    return lint.load(runbook_path("extend_context.toml"))


def screen_text(app: App[None]) -> str:
    """What stands on the screen, line by line. Textual keeps this to itself, so it is asked for here only."""
    strips = app.screen._compositor.render_strips(app.size)
    return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips)


def write_run(base: Path, events: Iterable[Event], *, owned: bool = False, run: str = RUN) -> RunDirectory:
    """A run directory with these events; `owned` keeps it alive until its `release`."""
    base.mkdir(parents=True, exist_ok=True)
    directory = RunDirectory.create(base, run)
    append(directory, events)
    if not owned:
        directory.release()
    return directory


def append(directory: RunDirectory, events: Iterable[Event]) -> None:
    with directory.events_path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(event.line() | {"run": directory.run_id}) + "\n" for event in events)
