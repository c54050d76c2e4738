"""What the stand-ins answer, and what they refuse to."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from console.lab.answers import Answers
from console.lab.supervisor import Supervisor


@pytest.fixture
def answers(tmp_path: Path) -> Answers:
    units, state = tmp_path / "units", tmp_path / "state"
    units.mkdir()
    state.mkdir()
    (units / "a.service").write_text("[Service]\nExecStart=/bin/true --x 1\n", encoding="utf-8")
    return Answers(Supervisor(units, "/usr/bin:/bin"), state)


@pytest.mark.parametrize(
    "words",
    [
        ["systemctl", "restart", "a.service"],  # would block
        ["systemctl", "cat", "a.service"],
        ["systemctl", "show", "a.service"],
        ["systemctl", "show", "--property=Id,CPUQuota", "--", "a.service"],
        ["systemctl", "--user", "show", "--property=Id", "a.service"],
        ["journalctl", "-f"],
        ["journalctl", "--output=short", "A=b"],
        ["journalctl", "--dmesg", "--output=json"],
        ["nvidia-smi"],
        ["nvidia-smi", "--query-gpu=index,vbios_version", "--format=csv,noheader,nounits"],
        ["systemd-run", "--on-active=5", "true"],
        ["systemd-analyze", "blame"],
        ["reboot"],
    ],
)
def test_other_invocations_are_64_and_say_so(answers: Answers, words: list[str]) -> None:
    answer = answers.answer(words)
    assert answer.status == 64
    assert answer.err.startswith("lab: ")


def test_show_prints_what_was_asked_for(answers: Answers) -> None:
    answer = answers.answer(["systemctl", "show", "--no-pager", "--property=Id,LoadState,Job,DropInPaths", "--", "a"])
    assert sorted(answer.out.splitlines()) == ["DropInPaths=", "Id=a.service", "Job=", "LoadState=loaded"]


def test_a_unit_that_is_not_there(answers: Answers) -> None:
    shown = answers.answer(["systemctl", "show", "--property=LoadState,LoadError,FragmentPath", "--", "b.service"])
    assert shown.status == 0
    assert "LoadState=not-found" in shown.out
    assert "NoSuchUnit" in shown.out
    restarted = answers.answer(["systemctl", "restart", "--no-block", "--", "b.service"])
    assert (restarted.status, restarted.err) == (5, "Failed to restart b.service: Unit b.service not found.\n")


def test_gpus_hold_what_a_living_simulator_says(answers: Answers) -> None:
    query = ["nvidia-smi", "--query-gpu=memory.total,memory.used", "--format=csv,noheader,nounits"]
    assert answers.answer(query).out.splitlines() == ["97894, 3"] * 8
    told = {"pid": 1, "gpus": 2, "used_mib": 1000}
    (answers.state / "gpu-a.json").write_text(json.dumps(told), encoding="utf-8")
    assert answers.answer(query).out.splitlines()[:3] == ["97894, 1003", "97894, 1003", "97894, 3"]
    (answers.state / "gpu-a.json").write_text(json.dumps({**told, "pid": 2**22 + 1}), encoding="utf-8")
    assert answers.answer(query).out.splitlines()[0] == "97894, 3"
    (answers.state / "no-gpus").touch()
    assert answers.answer(query).status == 9


def test_kernel_lines(answers: Answers) -> None:
    query = ["journalctl", "--no-pager", "--quiet", "--dmesg", "--boot", "--output=cat", "--lines=20"]
    query.append("--grep=NVRM: Xid")
    assert answers.answer(query).out == ""
    (answers.state / "kernel.log").write_text("usb\nNVRM: Xid (PCI:0000:01:00): 79, GPU lost\n", encoding="utf-8")
    assert answers.answer(query).out == "NVRM: Xid (PCI:0000:01:00): 79, GPU lost\n"


def test_logger_writes_to_the_journal(answers: Answers) -> None:
    assert answers.answer(["logger", "-t", "console", "--", "changed a.service"]).status == 0
    found = answers.answer(["journalctl", "--output=json", "--all", "SYSLOG_IDENTIFIER=console"])
    assert json.loads(found.out)["MESSAGE"] == "changed a.service"


def test_verify_warns_of_a_lost_line_and_refuses_a_missing_binary(answers: Answers, tmp_path: Path) -> None:
    path = tmp_path / "units" / "a.service"
    assert answers.answer(["systemd-analyze", "verify", str(path)]).status == 0
    path.write_text("[Service]\nExecStart=/bin/true\n  --lost 1\n", encoding="utf-8")
    answer = answers.answer(["systemd-analyze", "verify", str(path)])
    assert (answer.status, answer.err) == (0, f"{path}:3: Missing '=', ignoring line.\n")
    path.write_text("[Service]\nExecStart=/no/such\n", encoding="utf-8")
    answer = answers.answer(["systemd-analyze", "verify", str(path)])
    assert answer.status == 1
    assert "Command /no/such is not executable: No such file or directory" in answer.err


def test_a_cursor_continues_where_it_was(answers: Answers) -> None:
    for text in ("one", "two", "three"):
        answers.answer(["logger", "--", text])
    lines = answers.answer(["journalctl", "--output=json", "--all", "--lines=3", "_TRANSPORT=syslog"]).out.splitlines()
    cursor = json.loads(lines[1])["__CURSOR"]
    rest = answers.answer(["journalctl", "--output=cat", f"--after-cursor={cursor}", "_TRANSPORT=syslog"])
    assert rest.out == "three\n"
    assert answers.answer(["journalctl", "--output=cat", "--after-cursor=junk"]).status == 1
