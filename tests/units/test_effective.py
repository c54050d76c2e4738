from __future__ import annotations

import pytest

from console.units.effective import EffectiveUnit, UnitSource

FRAGMENT = b"[Service]\nType=simple\nUser=llm\nEnvironment=A=1\nExecStart=/bin/x --port 1\n"


def unit_of(*contents: bytes) -> EffectiveUnit:
    paths = ["/etc/systemd/system/x.service", *(f"/etc/systemd/system/x.service.d/{n}0.conf" for n in range(1, 9))]
    return EffectiveUnit("x.service", tuple(UnitSource(*pair) for pair in zip(paths, contents, strict=False)))


def test_the_last_file_wins_for_a_key_with_one_value() -> None:
    unit = unit_of(FRAGMENT, b"[Service]\nUser=other\n", b"[Unit]\nUser=nobody\n")
    assert unit.last("Service", "User") == "other"
    found = unit.last_assignment("Service", "User")
    assert found is not None
    assert found.where == "/etc/systemd/system/x.service.d/10.conf:2"


def test_an_empty_assignment_takes_back_what_stood_before_in_any_file() -> None:
    unit = unit_of(FRAGMENT, b"[Service]\nEnvironment=B=2\n", b"[Service]\nEnvironment=\nEnvironment=C=3\nUser=\n")
    assert [each.value for each in unit.assignments("Service", "Environment")] == ["C=3"]
    assert unit.last("Service", "User") is None


def test_the_command_of_the_dropin_that_resets_it_is_the_one() -> None:
    unit = unit_of(FRAGMENT, b"[Service]\nExecStart=\n\nExecStart=/bin/y \\\n  --port 2\n")
    (command,) = unit.commands()
    assert command.argv == ["/bin/y", "--port", "2"]
    assert (command.path, command.line) == ("/etc/systemd/system/x.service.d/10.conf", 4)


def test_a_bad_command_in_a_dropin_loses_the_rest_of_that_dropin_only() -> None:
    unit = unit_of(FRAGMENT, b"[Service]\nExecStart=\nExecStart=bin/y\nUser=a\n", b"[Service]\nExecStart=/bin/z\n")
    assert [command.argv for command in unit.commands()] == [["/bin/z"]]
    assert unit.last("Service", "User") == "llm"


def test_other_content_gives_another_unit() -> None:
    unit = unit_of(FRAGMENT)
    changed = unit.with_content("/etc/systemd/system/x.service", FRAGMENT.replace(b"port 1", b"port 22"))
    assert changed.commands()[0].argv[-1] == "22"
    assert unit.commands()[0].argv[-1] == "1"
    with pytest.raises(KeyError):
        unit.with_content("/etc/other", b"")


@pytest.mark.parametrize(
    ("content", "kind"),
    [(b"", "oneshot"), (b"[Service]\nExecStart=/bin/x\n", "simple"), (b"[Service]\nType=notify\n", "notify")],
)
def test_the_type_where_none_is_set(content: bytes, kind: str) -> None:
    assert unit_of(content).service_type == kind
