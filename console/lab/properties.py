"""`systemctl show`: properties in systemd's own form."""

from __future__ import annotations

import signal
import time

from .service import Service
from .supervisor import Supervisor
from .unit_files import Command
from .unit_state import Main, seconds


def show(supervisor: Supervisor, service: Service) -> dict[str, str]:
    """Every property the lab knows; what is not here is not answered."""
    unit, state, main = service.unit, service.state, service.state.main
    return {
        "Type": unit.get("Type", "simple") if unit.commands else "",
        "Restart": unit.get("Restart", "no"),
        "RestartUSec": span(seconds(unit.get("RestartSec"), 0.1)),
        "TimeoutStartUSec": span(seconds(unit.get("TimeoutStartSec"), 90.0)),
        "TimeoutStopUSec": span(seconds(unit.get("TimeoutStopSec"), 90.0)),
        "MainPID": str(state.main_pid),
        "Result": state.result,
        "NRestarts": str(state.restarts),
        "ExecMainStartTimestamp": stamp(main.started[0]),
        "ExecMainStartTimestampMonotonic": str(main.started[1]),
        "ExecMainExitTimestamp": stamp(main.ended[0]),
        "ExecMainExitTimestampMonotonic": str(main.ended[1]),
        "ExecMainPID": str(main.pid),
        "ExecMainCode": str(main.code),
        "ExecMainStatus": str(main.status),
        "ExecStart": "\n".join(exec_start(command, service) for command in unit.commands),
        "ControlGroup": "",
        "Environment": " ".join(quoted(variable) for variable in unit.environment),
        "EnvironmentFiles": "\n".join(
            f"{path} (ignore_errors={'yes' if optional else 'no'})" for path, optional in unit.environment_files
        ),
        "WorkingDirectory": unit.get("WorkingDirectory"),
        "StandardOutput": unit.get("StandardOutput", "journal" if unit.commands else "inherit"),
        "StandardError": unit.get("StandardError", "inherit"),
        "User": unit.get("User"),
        "KillMode": unit.get("KillMode", "control-group"),
        "Id": unit.name,
        "Names": unit.name,
        "RequiredBy": "",
        "WantedBy": " ".join(unit.settings.get("WantedBy", ())),
        "BoundBy": "",
        "ConsistsOf": "",
        "Description": unit.get("Description") or unit.name,
        "LoadState": unit.load_state,
        "LoadError": load_error(service),
        "ActiveState": state.active,
        "SubState": state.sub,
        "FragmentPath": str(unit.fragment or ""),
        "SourcePath": "",
        "DropInPaths": " ".join(str(path) for path in unit.drop_ins),
        "UnitFileState": supervisor.file_state(unit),
        "StateChangeTimestamp": stamp(state.changed[0]),
        "StateChangeTimestampMonotonic": str(state.changed[1]),
        "ActiveEnterTimestamp": stamp(state.active_since[0]),
        "ActiveEnterTimestampMonotonic": str(state.active_since[1]),
        "InactiveEnterTimestamp": stamp(state.inactive_since[0]),
        "InactiveEnterTimestampMonotonic": str(state.inactive_since[1]),
        "Job": str(state.job) if state.job else "",
        "NeedDaemonReload": "yes" if supervisor.needs_reload(unit) else "no",
        "InvocationID": state.invocation,
    }


# One line for each value, none where there is no value; all others are printed empty.
REPEATED = {"ExecStart", "EnvironmentFiles"}


def exec_start(command: Command, service: Service) -> str:
    # A reload forgets how the command went; the properties of the main process stay.
    main = Main() if service.forgotten else service.state.main
    if main.ended[0] and main.code == 1:
        code, status = "exited", str(main.status)
    elif main.ended[0]:
        code, status = "killed", f"{main.status}/{signal.Signals(main.status).name.removeprefix('SIG')}"
    else:
        code, status = "(null)", "0/0"
    return (
        f"{{ path={command.path} ; argv[]={' '.join(command.argv)} ; "
        f"ignore_errors={'yes' if command.ignore_failure else 'no'} ; "
        f"start_time=[{stamp(main.started[0]) or 'n/a'}] ; stop_time=[{stamp(main.ended[0]) or 'n/a'}] ; "
        f"pid={main.pid} ; code={code} ; status={status} }}"
    )


def load_error(service: Service) -> str:
    unit = service.unit
    if unit.load_state == "not-found":
        return f'org.freedesktop.systemd1.NoSuchUnit "Unit {unit.name} not found."'
    if unit.load_state == "bad-setting":
        return f'org.freedesktop.systemd1.BadUnitSetting "Unit {unit.name} has a bad unit file setting."'
    if unit.load_state == "masked":
        return f'org.freedesktop.systemd1.UnitMasked "Unit {unit.name} is masked."'
    return ""


def quoted(word: str) -> str:
    if any(char.isspace() or char in "\"'\\$`" for char in word):
        return '"' + word.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$").replace("`", "\\`") + '"'
    return word


def stamp(microseconds: int) -> str:
    """`Sat 2025-11-29 18:21:03 UTC`; nothing for never."""
    if not microseconds:
        return ""
    return time.strftime("%a %Y-%m-%d %H:%M:%S UTC", time.gmtime(microseconds / 1e6))


def span(value: float) -> str:
    """A time span as systemd writes it: `100ms`, `15s`, `1min 30s`, `infinity`."""
    if value >= 1e9:
        return "infinity"
    left = round(value * 1000)
    parts = []
    for size, name in ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1000, "s"), (1, "ms")):
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count}{name}")
    return " ".join(parts) or "0"
