"""One plan and one set of facts, with made-up values, for the views that show them."""

from __future__ import annotations

from typing import Any

from console.schema.facts import Facts, Gpu, HostState, LedgerEntry, Process, UnitFile, UnitState
from console.schema.hosts import Host, Service, Target
from console.schema.plan import Answers, FileEdit, Plan, PlannedStep, SettingChange
from console.schema.serving import Serving
from console.settings.levels import NOT_GIVEN, Level, Levels
from tests.views import story

HOSTILE = "a[/red][bold]b\x1b[2Jc\u202ed\u200be\x07f"
LONG = "x" * 10_000
WIDE = "模型" * 60

ARGV = [
    *("/opt/engine/bin/python", "-m", "sglang.launch_server", "--model-path", "/models/chat-70b"),
    *("--context-length", "16384", "--mem-fraction-static", "0.85", "--port", "30000", "--api-key", "***"),
]

DIFF = f"""\
--- a{story.FILE}
+++ b{story.FILE}
@@ -1,3 +1,3 @@
 [Service]
 ExecStart=
-ExecStart=/opt/engine/bin/serve --context-length 16384
+ExecStart=/opt/engine/bin/serve --context-length 65536"""


def target(**host: Any) -> Target:
    given: dict[str, Any] = {"address": "node7.example.net", "user": "ops", "jump": "bastion", "protected": True}
    return Target(
        host_name="node7",
        service_name="chat",
        host=Host(**(given | host)),
        service=Service(unit=story.UNIT, engine="sglang", url="http://127.0.0.1:30000"),
    )


def setting(name: str, flag: str, before: str | None, after: str, *, lossy: bool = False) -> SettingChange:
    return SettingChange(setting=name, flag=flag, before=before, after=after, path=story.FILE, line=3, lossy=lossy)


def plan(**more: Any) -> Plan:
    """The main job with a second setting, which the file did not have."""
    after = ["65536" if word == "16384" else word for word in ARGV] + ["--kv-cache-dtype", "fp8_e4m3"]
    given: dict[str, Any] = {
        "target": target(),
        "runbook": "extend-context",
        "title": "Extend the served context window",
        "runbook_sha256": "e" * 64,
        "runbook_text": "",
        "variables": {},
        "made_at": "2026-03-04T03:02:11.000Z",
        "steps": tuple(
            PlannedStep(
                id=name,
                index=index,
                uses=uses,
                title=title,
                on_failure="stop",
                skipped="when = 'mem_fraction' does not hold" if name == "share" else "",
            )
            for index, (name, uses, title) in enumerate(story.STEPS, start=1)
        ),
        "changes": (story.FILE_CHANGE,),
        "edits": (
            FileEdit(
                path=story.FILE,
                real_path=story.FILE,
                splices=(),
                sha256_before="a" * 64,
                sha256_after="b" * 64,
                diff=DIFF,
                steps=("set",),
                change="c1",
            ),
        ),
        "settings": (
            setting("context_length", "--context-length", "16384", "65536"),
            setting("kv_cache_dtype", "--kv-cache-dtype", None, "fp8_e4m3", lossy=True),
        ),
        "argv_before": tuple(ARGV),
        "argv_after": tuple(after),
        "answers": Answers.model_validate(story.ANSWERS),
        "warnings": ("the unit is not enabled: it does not start at boot",),
    }
    return Plan(**(given | more))


def facts(**more: Any) -> Facts:
    given: dict[str, Any] = {
        "target": story.TARGET,
        "read_at": "2026-03-04T03:02:11.000Z",
        "host": HostState(
            hostname="node7",
            os="Debian GNU/Linux 12",
            kernel="6.1.0-18-amd64",
            boot_id="abcdef0123",
            uptime_s=987_654,
            systemd_version=252,
            login_user="ops",
            sudo="passwordless",
            free_bytes_unit_folder=53 * 1024**3,
            gpus=(
                Gpu(index=0, name="Example GPU 80GB", memory_total_mib=81_559, memory_used_mib=71_234),
                Gpu(index=1, name="Example GPU 80GB", memory_total_mib=81_559, memory_used_mib=71_230),
            ),
        ),
        "unit": UnitState(
            id=story.UNIT,
            load_state="loaded",
            active_state="active",
            sub_state="running",
            unit_file_state="enabled",
            invocation_id="1" * 32,
            main_pid=41,
            need_daemon_reload=True,
        ),
        "files": (
            UnitFile(path=story.FILE, real_path="/srv/units/20-window.conf", kind="dropin", size=88, sha256="9" * 64),
        ),
        "process": Process(pid=44, argv=tuple(ARGV)),
        "serving": Serving(
            model="chat-70b",
            version="0.5.10",
            context_length=16_384,
            pool_tokens=88_000,
            largest_request_tokens=16_379,
            running_requests=2,
            queued_requests=0,
        ),
        "load_times_s": (361.0, 340.2),
        "foreign_requests_60s": 14,
        "ledger": (
            LedgerEntry(
                run="01K2EXAMPLE0000000000000ZZ",
                state="open",
                operator="ops",
                at="2026-03-01T10:00:00Z",
                summary="context_length 8192 -> 16384",
            ),
        ),
    }
    return Facts(**(given | more))


def levels(
    *values: str | None, name: str = "context_length", differs: str | None = None, reason: str = NOT_GIVEN
) -> Levels:
    """disk, loaded, running, serving; None is a level without a value, for `reason`."""
    disk, loaded, running, serving = (Level(value, "" if value is not None else reason) for value in values)
    return Levels(name, disk, loaded, running, serving, 88_000, differs is None, differs)
