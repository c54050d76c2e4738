"""The text of `systemctl show` as a unit's state."""

from __future__ import annotations

import pytest

from console.remote.systemd import parse_unit, time_span_s

SHOWN = """\
Type=simple
Restart=on-failure
TimeoutStartUSec=1min 30s
RestartUSec=100ms
MainPID=4711
NRestarts=2
ExecMainCode=0
ExecMainStatus=0
ExecStart={ path=/opt/py ; argv[]=/opt/py -m sglang.launch_server --note a=b; c --port 3000 ; ignore_errors=no ; pid=0 }
ControlGroup=/system.slice/sglang-k26.service
EnvironmentFiles=/etc/default/k26 (ignore_errors=no)
EnvironmentFiles=/etc/k26/*.conf (ignore_errors=yes)
WorkingDirectory=!/srv/k26
User=svc
Id=sglang-k26.service
RequiredBy=inference.target
BoundBy=router.service
ConsistsOf=sidecar.service exporter.service
LoadState=loaded
ActiveState=active
SubState=running
FragmentPath=/etc/systemd/system/sglang-k26.service
DropInPaths=/etc/systemd/system/sglang-k26.service.d/a.conf /run/systemd/system/service.d/b.conf
UnitFileState=enabled
NeedDaemonReload=yes
InvocationID=0123456789abcdef0123456789abcdef
Job=812
"""


def test_a_whole_unit() -> None:
    unit = parse_unit(SHOWN, "x.service")
    assert unit.id == "sglang-k26.service"
    assert unit.exec_start == ("/opt/py -m sglang.launch_server --note a=b; c --port 3000",)
    assert unit.environment_files == ("/etc/default/k26 (ignore_errors=no)", "/etc/k26/*.conf (ignore_errors=yes)")
    assert unit.dropin_paths[1] == "/run/systemd/system/service.d/b.conf"
    assert unit.need_daemon_reload
    assert unit.timeout_start_s == 90
    assert unit.restart_s == 0.1
    assert unit.working_directory == "/srv/k26"
    assert unit.required_by == ("inference.target", "router.service")
    assert unit.triggers_with == ("sidecar.service", "exporter.service")
    assert (unit.main_pid, unit.n_restarts, unit.job) == (4711, 2, "812")


def test_an_argument_with_newlines_is_one_value() -> None:
    argv = "/bin/sh -c echo one\nMODEL=two\nthree"
    text = f"ExecStart={{ path=/bin/sh ; argv[]={argv} ; ignore_errors=no ; pid=0 }}\nUser=svc\n"
    unit = parse_unit(text, "x.service")
    assert unit.exec_start == (argv,)
    assert unit.user == "svc"


def test_several_commands_of_a_oneshot() -> None:
    one = "ExecStart={ path=/bin/a ; argv[]=/bin/a 1 ; ignore_errors=no ; pid=0 }\n"
    unit = parse_unit(one + one.replace("/bin/a 1", "/bin/b 2"), "x.service")
    assert unit.exec_start == ("/bin/a 1", "/bin/b 2")


def test_nothing_said_is_no_exception() -> None:
    unit = parse_unit("Failed to connect to bus: Host is down\n", "x.service")
    assert (unit.id, unit.load_state, unit.active_state) == ("x.service", "", "")


def test_escapes_of_an_argument_are_made_visible() -> None:
    unit = parse_unit("ExecStart={ path=/a ; argv[]=/a \x1b[2J ; ignore_errors=no ; }\n", "x.service")
    assert "\x1b" not in unit.exec_start[0]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("infinity", None),
        ("", None),
        ("0", 0.0),
        ("100ms", 0.1),
        ("1min 30s", 90.0),
        ("1h 1min 1s 1ms", 3661.001),
        ("2d", 172800.0),
        ("5us", 5e-6),
        ("nonsense", None),
    ],
)
def test_time_spans(text: str, seconds: float | None) -> None:
    assert time_span_s(text) == (None if seconds is None else pytest.approx(seconds))
