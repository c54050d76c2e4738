"""The units of the contract, and what systemd says of each in the state it is brought to."""

from __future__ import annotations

from collections.abc import Mapping

# Beside the engine's own unit. `failed` writes a carriage return and ends with 3.
UNITS: Mapping[str, str] = {
    "failed": (
        "[Unit]\nDescription=Fails\n[Service]\nEnvironmentFile=-/nonexistent/a.env\nEnvironmentFile=-/nonexistent/b.env\n"
        "WorkingDirectory=/tmp\nExecStart=/bin/sh -c 'printf \"one\\\\rtwo\\\\n\"; exit 3' two\\x20words\n"
    ),
    "edited": "[Service]\nExecStart=/bin/sleep 1000\nRestart=always\nRestartSec=90\nTimeoutStartSec=infinity\n",
    "twice": "[Service]\nExecStart=/bin/true\nExecStart=/bin/true\n",
    "quote": '[Service]\nExecStart=/bin/true "open\n',
    "lost": "[Service]\nExecStart=/bin/true --a \\\n  --b\n  --lost 1\n",
    "nobinary": "[Service]\nExecStart=/nonexistent/binary --a\n",
}
DROP_IN = "[Service]\nRestart=no\n"  # of `edited`

PATH = r"/\S+"
NUMBER = r"\d+"
EMPTY = ""
EXEC = (
    r"\{ path=\S+ ; argv\[\]=.* ; ignore_errors=(yes|no) ; start_time=\[.*\] ; stop_time=\[.*\] ; pid=\d+ ; "
    r"code=(\(null\)|exited|killed) ; status=[^ ]+ \}"
)
GROUP = r"(/\S+)?"  # the lab has no control groups
INVOCATION = r"[0-9a-f]{32}"

RUNNING = {
    "Type": "simple",
    "Restart": r"on-failure",
    "RestartUSec": "1s",
    "TimeoutStartUSec": "1min 30s",
    "MainPID": r"[1-9]\d*",
    "Result": "success",
    "NRestarts": "0",
    "ExecMainStartTimestampMonotonic": r"[1-9]\d*",
    "ExecMainCode": "0",
    "ExecMainStatus": "0",
    "ExecStart": EXEC,
    "ControlGroup": GROUP,
    "WorkingDirectory": EMPTY,
    "StandardOutput": "journal",
    "User": EMPTY,
    "Id": r"sglang-k26\.service",
    "RequiredBy": EMPTY,
    "BoundBy": EMPTY,
    "ConsistsOf": EMPTY,
    "LoadState": "loaded",
    "LoadError": EMPTY,
    "ActiveState": "active",
    "SubState": "running",
    "FragmentPath": PATH,
    "SourcePath": EMPTY,
    "DropInPaths": EMPTY,
    "UnitFileState": "enabled",
    "Job": EMPTY,
    "NeedDaemonReload": "no",
    "InvocationID": INVOCATION,
}
FAILED = RUNNING | {
    "Restart": "no",
    "RestartUSec": "100ms",
    "MainPID": "0",
    "Result": "exit-code",
    "ExecMainCode": "1",
    "ExecMainStatus": "3",
    "ExecStart": EXEC.replace(".* ; ignore", r"/bin/sh -c printf \"one\\rtwo\\n\"; exit 3 two words ; ignore", 1)
    .replace(r"(\(null\)|exited|killed)", "exited")
    .replace("[^ ]+", "3"),
    "EnvironmentFiles": r"/nonexistent/[ab]\.env \(ignore_errors=yes\)",
    "WorkingDirectory": "/tmp",
    "Id": r"contract-failed\.service",
    "ActiveState": "failed",
    "SubState": "failed",
    "UnitFileState": "static",
}
EDITED = RUNNING | {
    "Restart": "no",
    "RestartUSec": "1min 30s",
    "TimeoutStartUSec": "infinity",
    "Id": r"contract-edited\.service",
    "DropInPaths": PATH,
    "UnitFileState": "static",
    "NeedDaemonReload": "yes",
}
ABSENT = {name: value for name, value in RUNNING.items() if name != "ExecStart"} | {
    "Type": EMPTY,
    "Restart": "no",
    "RestartUSec": "100ms",
    "MainPID": "0",
    "ExecMainStartTimestampMonotonic": "0",
    "ControlGroup": EMPTY,
    "StandardOutput": "inherit",
    "Id": r"contract-absent\.service",
    "LoadState": "not-found",
    "LoadError": r'org\.freedesktop\.systemd1\.NoSuchUnit "Unit contract-absent\.service not found\."',
    "ActiveState": "inactive",
    "SubState": "dead",
    "FragmentPath": EMPTY,
    "UnitFileState": EMPTY,
    "InvocationID": EMPTY,
}
MASKED = ABSENT | {
    "Id": r"contract-masked\.service",
    "LoadState": "masked",
    "LoadError": r'org\.freedesktop\.systemd1\.UnitMasked "Unit contract-masked\.service is masked\."',
    "FragmentPath": PATH,
    "UnitFileState": "masked",
}
QUOTE = ABSENT | {
    "Id": r"contract-quote\.service",
    "LoadState": "bad-setting",
    "LoadError": r'org\.freedesktop\.systemd1\.BadUnitSetting "Unit contract-quote\.service has a bad unit .+\."',
    "FragmentPath": PATH,
    "UnitFileState": "static",
}
TWICE = QUOTE | {
    "Id": r"contract-twice\.service",
    "LoadError": QUOTE["LoadError"].replace("quote", "twice"),
    "Type": "simple",
    "StandardOutput": "journal",
    "ExecStart": EXEC,
}
ENTRY = {
    "__CURSOR": r"s=[0-9a-f]+;i=[0-9a-f]+;b=[0-9a-f]{32};m=[0-9a-f]+;t=[0-9a-f]+;x=[0-9a-f]+",
    "__REALTIME_TIMESTAMP": r"\d{16}",
    "__MONOTONIC_TIMESTAMP": NUMBER,
    "_BOOT_ID": INVOCATION,
    "_PID": NUMBER,
}
