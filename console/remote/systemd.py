"""What `systemctl show` says of a unit."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from console.remote.session import Reader
from console.schema.facts import UnitState
from console.untrusted import clean, decode

# Every property the scripts ask for. A line that starts with none of them goes on with the value before it: argv words
# may hold newlines.
PROPERTIES = frozenset(
    [
        "Id",
        "LoadState",
        "LoadError",
        "ActiveState",
        "SubState",
        "Result",
        "Type",
        "UnitFileState",
        "FragmentPath",
        "SourcePath",
        "DropInPaths",
        "EnvironmentFiles",
        "NeedDaemonReload",
        "MainPID",
        "InvocationID",
        "NRestarts",
        "ExecStart",
        "ExecMainCode",
        "ExecMainStatus",
        "ExecMainStartTimestampMonotonic",
        "Restart",
        "RestartUSec",
        "TimeoutStartUSec",
        "User",
        "WorkingDirectory",
        "ControlGroup",
        "Job",
        "RequiredBy",
        "BoundBy",
        "ConsistsOf",
        "StandardOutput",
    ]
)
_NAMED = re.compile(r"([A-Z][A-Za-z]*)=(.*)", re.DOTALL)
_ARGV = re.compile(r"(?:^|; )argv\[\]=(.*?) ; ignore_errors=", re.DOTALL)
# systemd.time(7), as format_timespan() writes it
_UNITS_S = {
    "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0,
    "month": 2629800.0, "y": 31557600.0,
}  # fmt: skip
_SPAN = re.compile(r"(\d+(?:\.\d+)?)(us|ms|s|min|h|d|w|month|y)")


def properties(text: str) -> Mapping[str, Sequence[str]]:
    """Name → values in order, split at the first `=` only. Repeated names (ExecStart, EnvironmentFiles) keep all."""
    found: dict[str, list[str]] = {}
    last: list[str] | None = None
    for line in text.split("\n"):
        match = _NAMED.match(line)
        if match and match[1] in PROPERTIES:
            last = found.setdefault(match[1], [])
            last.append(match[2])
        elif last is not None and line:
            last[-1] += "\n" + line
    return found


def parse_unit(text: str, unit: str) -> UnitState:
    """The state out of `systemctl show`'s text; where systemd said nothing, `load_state` is empty."""
    values = properties(text)

    def one(name: str) -> str:
        return values.get(name, [""])[0]

    def number(name: str) -> int:
        value = one(name)
        return int(value) if value.isdigit() else 0

    job = one("Job").split(" ")[0]
    return UnitState(
        id=one("Id") or unit,
        load_state=one("LoadState"),
        active_state=one("ActiveState"),
        sub_state=one("SubState"),
        result=one("Result"),
        type=one("Type"),
        unit_file_state=one("UnitFileState"),
        fragment_path=one("FragmentPath"),
        source_path=one("SourcePath"),
        dropin_paths=tuple(one("DropInPaths").split()),
        environment_files=tuple(line for line in values.get("EnvironmentFiles", []) if line),
        need_daemon_reload=one("NeedDaemonReload") == "yes",
        main_pid=number("MainPID"),
        invocation_id=one("InvocationID"),
        n_restarts=number("NRestarts"),
        exec_start=tuple(clean(match[1]) for line in values.get("ExecStart", []) for match in _ARGV.finditer(line)),
        exec_main_code=one("ExecMainCode"),
        exec_main_status=number("ExecMainStatus"),
        restart=one("Restart"),
        restart_s=time_span_s(one("RestartUSec")) or 0.0,
        timeout_start_s=time_span_s(one("TimeoutStartUSec")),
        user=one("User"),
        working_directory=one("WorkingDirectory").removeprefix("!"),
        control_group=one("ControlGroup"),
        job=job if job not in ("", "0") else "",
        required_by=tuple(one("RequiredBy").split() + one("BoundBy").split()),
        triggers_with=tuple(one("ConsistsOf").split()),
    )


def time_span_s(text: str) -> float | None:
    """`1min 30s` as seconds; None for `infinity` and for what is no time span."""
    if not text or text == "infinity":
        return None
    if text == "0":
        return 0.0
    parts = _SPAN.findall(text)
    return sum(float(number) * _UNITS_S[unit] for number, unit in parts) if parts else None


async def unit_state(reader: Reader, unit: str, *, patience_s: float = 0.0) -> UnitState:
    """The unit as systemd sees it now. Raises ConnectError."""
    output = await reader.look("look_unit.sh", unit, patience_s=patience_s)
    return parse_unit(decode(output.sections.get("unit", b"")), unit)
