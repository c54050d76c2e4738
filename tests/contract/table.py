"""Every call that the scripts make of a host's tools, and the form of its answer: the lab and a real host keep to it.

`{name}` in a call is filled in by the place: `{engine}` is the unit of a serving engine; `{failed}`,
`{edited}`, `{masked}`, `{twice}`, `{quote}`, `{lost}`, `{nobinary}` are those of `UNITS`; `{absent}` is none. `{units}`
is the folder they lie in, `{invocation}` and `{failed_invocation}` are starts, `{cursor}` stands before the end of the
failed one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tests.contract.states import (
    ABSENT,
    EDITED,
    EMPTY,
    ENTRY,
    FAILED,
    GROUP,
    INVOCATION,
    MASKED,
    NUMBER,
    QUOTE,
    RUNNING,
    TWICE,
)

FACTS = (
    "Id,LoadState,LoadError,ActiveState,SubState,Result,Type,UnitFileState,FragmentPath,SourcePath,DropInPaths,"
    "EnvironmentFiles,NeedDaemonReload,MainPID,InvocationID,NRestarts,ExecStart,ExecMainCode,ExecMainStatus,"
    "ExecMainStartTimestampMonotonic,Restart,RestartUSec,TimeoutStartUSec,User,WorkingDirectory,ControlGroup,Job,"
    "RequiredBy,BoundBy,ConsistsOf,StandardOutput"
)
MOVES = (
    "Id,LoadState,ActiveState,SubState,Result,NeedDaemonReload,MainPID,InvocationID,NRestarts,ExecMainCode,"
    "ExecMainStatus,ControlGroup,Job"
)
WATCHED = f"{MOVES},ExecStart,WorkingDirectory"
HEALTH = (
    "index,pci.bus_id,pstate,utilization.gpu,temperature.gpu,power.draw,power.limit,clocks.sm,clocks.max.sm,"
    "clocks.mem,clocks.max.mem,pcie.link.gen.current,pcie.link.gen.max,pcie.link.width.current,pcie.link.width.max,clocks_throttle_reasons.active,ecc.errors.uncorrected.volatile.total"
)
AROUND = (
    "Id,FragmentPath,DropInPaths,EnvironmentFiles,ExecStart,NeedDaemonReload,"
    "Conflicts,ConflictedBy,TriggeredBy,Requires,BindsTo,WatchdogUSec"
)
ENGINES = "Id,ActiveState,FragmentPath,ExecStart,MainPID,ControlGroup"
ERRORS = "index,ecc.errors.uncorrected.volatile.total,remapped_rows.pending,retired_pages.pending"
NOT_AROUND = "around a simulated unit nothing is looked at"
FIELDS = "--output-fields=MESSAGE,_SYSTEMD_INVOCATION_ID,INVOCATION_ID,_PID"
JOURNAL = ("journalctl", "--no-pager", "--quiet", "--all", "--output=json", FIELDS)


@dataclass(frozen=True)
class Row:
    """A call and its answer.

    `properties`: exactly these names are printed, each value as a whole like its pattern. `entries`: at least one line
    of JSON, and each has at least these fields. `out`, `err`: patterns of the whole.
    """

    name: str
    words: tuple[str, ...]
    status: int = 0
    out: str = EMPTY
    err: str = EMPTY
    properties: Mapping[str, str] | None = None
    entries: Mapping[str, str] | None = None
    messages: tuple[object, ...] = ()  # among the entries' MESSAGE
    soon: bool = False  # it may take a moment until that is the answer
    lab_only: str = ""  # why a real host of the tests cannot answer
    real_only: str = ""  # why the lab is never asked


def show(name: str, properties: Mapping[str, str]) -> Row:
    words = ("systemctl", "show", "--no-pager", f"--property={FACTS}", "--", f"{{{name}}}")
    return Row(f"facts of {name}", words, properties=properties)


NO_GUARD = "no guard is armed on a simulated host"
WATCHING = "ActiveState,SubState,NRestarts,ExecMainStartTimestampMonotonic,ControlGroup,Job"


def guard_rows() -> tuple[Row, ...]:
    """What is asked of the timer that a guard is."""
    state = {"ActiveState": "active", "NextElapseUSecMonotonic": r"((\d+(\.\d+)?)(y|month|w|d|h|min|s|ms|us) ?)+"}
    elapse = ("systemctl", "show", "--no-pager", "--property=ActiveState,NextElapseUSecMonotonic", "--", "{timer}")
    watched = ("systemctl", "show", "--no-pager", f"--property={WATCHING}", "--", "{engine}")
    load = ("systemctl", "show", "--no-pager", "--property=LoadState", "--", "{timer}")
    names = WATCHING.split(",")
    return (
        Row("what a guard sees", watched, properties={name: RUNNING[name] for name in names}),
        Row(
            "where a guard looks for processes",
            ("systemctl", "show", "--no-pager", "--property=ControlGroup", "--", "{engine}"),
            properties={"ControlGroup": GROUP},
        ),
        Row("begin to wait", ("systemctl", "restart", "--", "{timer}"), real_only=NO_GUARD),
        Row(
            "begin again without waiting",
            ("systemctl", "restart", "--no-block", "--", "{timer}"),
            real_only=NO_GUARD,
        ),
        Row("when it fires", elapse, properties=state, real_only=NO_GUARD),
        Row("stop waiting", ("systemctl", "stop", "--", "{timer}"), real_only=NO_GUARD),
        Row("a timer that is not loaded", load, out=r"LoadState=(loaded|not-found)\n", real_only=NO_GUARD),
        Row(
            "a command in a scope",
            (
                "systemd-run",
                "--scope",
                "--quiet",
                "--collect",
                "--description=of the contract",
                "--unit=contract-scope",
                "--",
                "echo",
                "ran",
            ),
            out="ran\n",
        ),
        Row(
            "how a scope is",
            ("systemctl", "show", "--no-pager", "--property=ActiveState", "--", "contract-scope.scope"),
            out="ActiveState=inactive\n",
            soon=True,
        ),
        Row(
            "stop a scope that is over",
            ("systemctl", "kill", "--signal=TERM", "--", "contract-scope.scope"),
            status=1,
            err=r"Failed to kill unit contract-scope\.scope: Unit contract-scope\.scope not loaded\.\n",
            real_only="the lab has no scopes: what runs in one is stopped as a process",
        ),
        Row("stop it again", ("systemctl", "stop", "--", "{timer}"), real_only=NO_GUARD),
        Row("stop it without waiting", ("systemctl", "stop", "--no-block", "--", "{timer}"), real_only=NO_GUARD),
    )


TABLE: tuple[Row, ...] = (
    show("engine", RUNNING),
    show("failed", FAILED),
    show("edited", EDITED),
    show("absent", ABSENT),
    show("masked", MASKED),
    show("quote", QUOTE),
    show("twice", TWICE),
    Row(
        "what moves",
        ("systemctl", "show", "--no-pager", f"--property={WATCHED}", "--", "{engine}"),
        properties={name: RUNNING[name] for name in WATCHED.split(",")},
    ),
    Row(
        "what moves, and nothing else",
        ("systemctl", "show", "--no-pager", f"--property={MOVES}", "--", "{engine}"),
        properties={name: RUNNING[name] for name in MOVES.split(",")},
    ),
    Row(
        "invocation and job",
        ("systemctl", "show", "--no-pager", "--property=InvocationID,NRestarts,Job", "--", "{engine}"),
        properties={"InvocationID": INVOCATION, "NRestarts": NUMBER, "Job": EMPTY},
    ),
    Row(
        "read again",
        ("systemctl", "show", "--no-pager", "--property=Id,LoadState,NeedDaemonReload", "--", "{engine}"),
        properties={name: RUNNING[name] for name in ("Id", "LoadState", "NeedDaemonReload")},
    ),
    Row("version", ("systemctl", "--version"), out=r"systemd \d+ \(.+\)\n\+PAM .*\n"),
    Row("reset a failure", ("systemctl", "reset-failed", "--", "{engine}")),
    Row(
        "reset nobody's failure",
        ("systemctl", "reset-failed", "--", "{absent}"),
        status=1,
        err=r"Failed to reset failed state of unit (\S+): Unit \1 not loaded\.\n",
    ),
    Row(
        "restart nobody",
        ("systemctl", "restart", "--no-block", "--", "{absent}"),
        status=5,
        err=r"Failed to restart contract-absent\.service: Unit contract-absent\.service not found\.\n",
    ),
    Row(
        "restart a masked unit",
        ("systemctl", "restart", "--no-block", "--", "{masked}"),
        status=1,
        err=r"Failed to restart contract-masked\.service: Unit contract-masked\.service is masked\.\n",
    ),
    Row(
        "restart a broken unit",
        ("systemctl", "restart", "--no-block", "--", "{quote}"),
        status=1,
        err=r"Failed to restart contract-quote\.service: Unit contract-quote\.service has a bad unit file setting\.\n"
        r"See system logs and 'systemctl status contract-quote\.service' for details\.\n",
    ),
    Row(
        "first lines of a start",
        (*JOURNAL, "_SYSTEMD_INVOCATION_ID={invocation}", "+", "INVOCATION_ID={invocation}"),
        entries=ENTRY,
    ),
    Row("everything said is written", ("journalctl", "--sync")),
    Row(
        "last lines of a start",
        (
            *JOURNAL,
            "--lines=400",
            "_SYSTEMD_INVOCATION_ID={failed_invocation}",
            "+",
            "INVOCATION_ID={failed_invocation}",
        ),
        entries=ENTRY,
        messages=(
            list(b"one\rtwo"),
            "Started contract-failed.service - Fails.",
            "contract-failed.service: Main process exited, code=exited, status=3/NOTIMPLEMENTED",
            "contract-failed.service: Failed with result 'exit-code'.",
        ),
    ),
    Row(
        "lines of a unit since a moment",
        (*JOURNAL, "--since=@1000000000", "_SYSTEMD_UNIT={failed}", "+", "UNIT={failed}"),
        entries=ENTRY,
        messages=(list(b"one\rtwo"), "contract-failed.service: Failed with result 'exit-code'."),
    ),
    Row(
        "what a unit said since a moment, and no more",
        (
            "journalctl",
            "--no-pager",
            "--quiet",
            "--all",
            "--output=cat",
            "--since=@1000000000",
            "_SYSTEMD_UNIT={failed}",
        ),
        out=r"(?s).*one.two\n.*",
    ),
    Row("no lines", (*JOURNAL, "--since=@9999999999", "_SYSTEMD_UNIT={failed}", "+", "UNIT={failed}")),
    Row(
        "lines after a cursor",
        (*JOURNAL, "--after-cursor={cursor}", "_SYSTEMD_UNIT={failed}", "+", "UNIT={failed}"),
        entries=ENTRY,
        messages=("contract-failed.service: Failed with result 'exit-code'.",),
    ),
    Row(
        "a cursor that is none",
        (*JOURNAL, "--after-cursor=nonsense", "_SYSTEMD_UNIT={failed}", "+", "UNIT={failed}"),
        status=1,
        err=r"Failed to seek to cursor: Invalid argument\n",
    ),
    Row(
        "kernel lines that are not there",
        ("journalctl", "--no-pager", "--quiet", "--dmesg", "--boot", "--output=cat", "--lines=20", "--grep=NVRM: Xid"),
        status=1,
    ),
    Row("verify", ("systemd-analyze", "verify", "--man=no", "{units}/{engine}")),
    Row(
        "verify the unit alone", ("systemd-analyze", "verify", "--man=no", "--recursive-errors=no", "{units}/{engine}")
    ),
    Row(
        "verify a lost line",
        ("systemd-analyze", "verify", "--man=no", "{units}/{lost}"),
        err=r"/\S+/contract-lost\.service:4: Missing '=', ignoring line\.\n",
    ),
    Row(
        "verify a missing binary",
        ("systemd-analyze", "verify", "--man=no", "{units}/{nobinary}"),
        status=1,
        err=r"contract-nobinary\.service: Command /nonexistent/binary is not executable: No such file or directory\n",
    ),
    Row(
        "verify two commands",
        ("systemd-analyze", "verify", "--man=no", "{units}/{twice}"),
        status=1,
        err=r"contract-twice\.service: Service has more than one ExecStart= setting, which is only allowed for "
        r"Type=oneshot services\. Refusing\.\nUnit contract-twice\.service has a bad unit file setting\.\n",
    ),
    Row(
        "verify an open quote",
        ("systemd-analyze", "verify", "--man=no", "{units}/{quote}"),
        status=1,
        err=r'/\S+/contract-quote\.service:2: Unbalanced quoting, ignoring: "/bin/true "open"\n'
        r"contract-quote\.service: Unit configuration has fatal error, unit will not be started\.\n"
        r"Unit contract-quote\.service has a bad unit file setting\.\n",
    ),
    Row(
        "verify nothing",
        ("systemd-analyze", "verify", "--man=no", "{units}/{absent}"),
        status=1,
        err=r"Unit contract-absent\.service not found\.\n",
    ),
    Row(
        "what moves with a unit, whose block comes first, and every service there is",
        ("systemctl", "show", "--no-pager", f"--property={AROUND}", "--", "{engine}", "*.service"),
        out=r"(?s)"
        + "".join(
            rf"(?=((?!\n\n).)*(?<!\S){said}\n)"
            for said in (
                r"Id=sglang-k26\.service",
                r"Conflicts=shutdown\.target",
                r"Requires=(sysinit\.target|system\.slice|-\.mount| )+",
                r"WatchdogUSec=(0|infinity)",
            )
        )
        + r".*\n\n.*Id=systemd-journald\.service\n.*",
        real_only=NOT_AROUND,
    ),
    Row(
        "every service that may be an engine",
        ("systemctl", "show", "--no-pager", f"--property={ENGINES}", "--", "*.service"),
        out=r"(?s)(.*\n)?Id=sglang-k26\.service\n.*",
        real_only=NOT_AROUND,
    ),
    Row(
        "the fabric manager",
        ("systemctl", "show", "--no-pager", "--value", "--property=ActiveState", "--", "{absent}"),
        out=r"inactive\n",
        real_only=NOT_AROUND,
    ),
    Row(
        "memory errors of the GPUs",
        ("nvidia-smi", f"--query-gpu={ERRORS}", "--format=csv,noheader,nounits"),
        lab_only="no GPU in the real hosts of the tests",
        real_only=NOT_AROUND,
    ),
    Row(
        "processes on the GPUs",
        ("nvidia-smi", "--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits"),
        lab_only="no GPU in the real hosts of the tests",
        real_only=NOT_AROUND,
    ),
    Row(
        "what else the driver said",
        (
            *("journalctl", "--no-pager", "--quiet", "--dmesg", "--boot", "--output=cat", "--lines=10"),
            "--grep=NVRM: [^X]",
        ),
        status=1,
        real_only=NOT_AROUND,
    ),
    Row("a line in the host's log", ("logger", "-t", "console", "--", "contract")),
    Row("sudo without a password", ("sudo", "-n", "--", "true")),
    Row(
        "GPUs",
        (
            "nvidia-smi",
            "--query-gpu=index,name,memory.total,memory.used,driver_version,uuid,clocks.sm",
            "--format=csv,noheader,nounits",
        ),
        out=r"(\d, NVIDIA [^,]+, 97894, \d+, \d+\.\d+\.\d+, GPU-[0-9a-f-]{36}, \d+\n){8}",
        lab_only="no GPU in the real hosts of the tests",
    ),
    Row(
        "memory of the GPUs",
        ("nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"),
        out=r"(\d+\n){8}",
        lab_only="no GPU in the real hosts of the tests",
    ),
    Row(
        "clocks, heat and power of the GPUs",
        ("nvidia-smi", "--query-gpu=clocks.sm,temperature.gpu,power.draw", "--format=csv,noheader,nounits"),
        out=r"(\d+, \d+, \d+\.\d+\n){8}",
        lab_only="no GPU in the real hosts of the tests",
    ),
    Row(
        "how the GPUs are",
        ("nvidia-smi", f"--query-gpu={HEALTH}", "--format=csv,noheader,nounits"),
        out=r"(\d, 00000000:\d\d:00\.0, P0, [\d., ]+, 0x[0-9a-f]{16}, 0\n){8}",
        lab_only="no GPU in the real hosts of the tests",
    ),
    Row(
        "who uses the GPUs",
        (
            "nvidia-smi",
            "--query-compute-apps=gpu_bus_id,pid,process_name,used_memory",
            "--format=csv,noheader,nounits",
        ),
        out=r"(00000000:\d\d:00\.0, \d+, python3, \d+\n){8}",
        lab_only="no GPU in the real hosts of the tests",
    ),
    *guard_rows(),
    Row(
        "load of the GPUs",
        ("nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits"),
        out=r"(\d+\n){8}",
        lab_only="no GPU in the real hosts of the tests",
    ),
    # Last: what was loaded before is asked for above.
    Row(
        "restart",
        ("systemctl", "restart", "--no-block", "--", "{edited}"),
        err=r"Warning: The unit file, source configuration file or drop-ins of contract-edited\.service changed on "
        r"disk\. Run 'systemctl daemon-reload' to reload units\.\n",
    ),
    Row("reload", ("systemctl", "daemon-reload")),
)
