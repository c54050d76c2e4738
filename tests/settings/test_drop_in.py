"""A file that is not this unit's alone stays: a drop-in repeats the line in force, with the one word changed."""

from __future__ import annotations

import pytest

from console import errors
from console.engines.base import Engine
from console.schema.splice import apply
from console.settings.edit import Edit, plan_edit
from console.settings.resolve import argv_on_disk, environment_on_disk
from console.units.effective import EffectiveUnit, UnitSource

ETC, LIB = "/etc/systemd/system", "/usr/lib/systemd/system"
COMMAND = (
    "ExecStart=/opt/x/python3 -m sglang.launch_server \\\n  # the window\n  --context-length  32768 \\\n  --port %i0\n"
)
OWN = "chat.service.d/50-console.conf"


def unit_of(*files: tuple[str, str], name: str = "chat.service", **more: object) -> EffectiveUnit:
    return EffectiveUnit(name, tuple(UnitSource(path, text.encode()) for path, text in files), **more)  # type: ignore[arg-type]


def window(unit: EffectiveUnit, engine: Engine, to: int = 200000, **more: object) -> Edit:
    return plan_edit(unit, engine, setting="context_length", to=to, own_file=True, **more)  # type: ignore[arg-type]


def after(unit: EffectiveUnit, edit: Edit) -> tuple[EffectiveUnit, str]:
    """The unit with the edit made, and the text of the edited file."""
    content = apply(b"" if edit.makes else unit.content(edit.path), edit.splices)
    return unit.with_drop_in(edit.path, content), content.decode()


def words(unit: EffectiveUnit) -> list[str]:
    return argv_on_disk(unit, environment_on_disk(unit)) or []


def test_the_unit_of_a_package_gets_a_drop_in(sglang: Engine) -> None:
    unit = unit_of((f"{LIB}/chat.service", f"[Service]\nType=simple\n{COMMAND}Restart=always\n"))
    edit = window(unit, sglang, expect=32768)
    changed, text = after(unit, edit)
    assert (edit.path, edit.makes, edit.line) == (f"{ETC}/{OWN}", True, 6)
    assert text == (
        f"# For this unit alone: {LIB}/chat.service belongs to a package.\n[Service]\nExecStart=\n"
        + COMMAND.replace("32768", "200000")
    )
    assert words(changed) == [word.replace("32768", "200000") for word in words(unit)]
    assert f"{LIB}/chat.service belongs to a package" in edit.notes[-1]


def test_without_leave_for_a_file_of_its_own_it_is_refused(sglang: Engine) -> None:
    unit = unit_of((f"{LIB}/chat.service", f"[Service]\n{COMMAND}"))
    with pytest.raises(errors.SettingElsewhereError, match="belongs to a package"):
        plan_edit(unit, sglang, setting="context_length", to=200000)


def test_an_instance_leaves_its_template_alone(sglang: Engine) -> None:
    unit = unit_of((f"{ETC}/chat@.service", f"[Service]\n{COMMAND}"), name="chat@3.service")
    edit = window(unit, sglang)
    changed, text = after(unit, edit)
    assert edit.path == f"{ETC}/chat@3.service.d/50-console.conf"
    assert "decides every instance of chat@.service" in text
    assert "--port %i0" in text, "what systemd fills in stays as it is written"
    assert words(changed)[-3:] == ["200000", "--port", "30"]


def test_the_drop_in_that_is_there_is_edited_in_its_place(sglang: Engine) -> None:
    unit = unit_of((f"{LIB}/chat.service", f"[Service]\n{COMMAND}"))
    once, text = after(unit, window(unit, sglang))
    again = window(once, sglang, to=65536)
    assert (again.path, again.makes, again.before) == (f"{ETC}/{OWN}", False, "200000")
    assert [splice.new for splice in again.splices] == [b"65536"]
    assert after(once, again)[1] == text.replace("200000", "65536")


def test_what_is_so_already_makes_no_file(sglang: Engine) -> None:
    edit = window(unit_of((f"{LIB}/chat.service", f"[Service]\n{COMMAND}")), sglang, to=32768)
    assert (edit.already, edit.path, edit.splices) == (True, f"{LIB}/chat.service", ())


def test_a_variable_of_a_package_is_said_again_and_nothing_else(engines: dict[str, Engine]) -> None:
    text = '[Service]\nEnvironment=A=1 "WINDOW=32768" B=2\nExecStart=/opt/llama-server -c $WINDOW\n'
    unit = unit_of((f"{LIB}/chat.service", text))
    edit = window(unit, engines["llamacpp"])
    changed, written = after(unit, edit)
    assert written.partition("[Service]\n")[2] == 'Environment="WINDOW=200000"\n'
    assert words(changed) == ["/opt/llama-server", "-c", "200000"]
    assert environment_on_disk(changed) == {"A": "1", "WINDOW": "200000", "B": "2"}


def test_the_variable_that_an_engine_reads_itself(engines: dict[str, Engine]) -> None:
    text = "[Service]\nEnvironment=LLAMA_ARG_CTX_SIZE=32768\nExecStart=/opt/llama-server --port 1\n"
    unit = unit_of((f"{LIB}/chat.service", text))
    changed, written = after(unit, window(unit, engines["llamacpp"]))
    assert written.endswith("[Service]\nEnvironment=LLAMA_ARG_CTX_SIZE=200000\n")
    assert words(changed) == words(unit)


def test_an_environment_file_is_edited_where_it_is(sglang: Engine) -> None:
    command = "/opt/x/python3 -m sglang.launch_server --context-length ${W}"
    text = f"[Service]\nEnvironmentFile=/etc/default/chat\nExecStart={command}\n"
    unit = unit_of((f"{LIB}/chat.service", text), files={"/etc/default/chat": b"W=32768\n"})
    edit = window(unit, sglang)
    assert (edit.path, edit.makes) == ("/etc/default/chat", False)


def test_a_flag_is_added_in_the_drop_in(sglang: Engine) -> None:
    text = COMMAND.replace("  --context-length  32768 \\\n", "")
    unit = unit_of((f"{LIB}/chat.service", f"[Service]\n{text}"))
    edit = window(unit, sglang, when_absent="add")
    changed, written = after(unit, edit)
    assert edit.path == f"{ETC}/{OWN}"
    assert words(changed) == [*words(unit), "--context-length", "200000"]
    assert written.endswith("--context-length 200000\n")


@pytest.mark.parametrize(
    ("later", "name"),
    [("10-command.conf", "50-console.conf"), ("60-command.conf", "zz-console.conf"), ("zzz-command.conf", "")],
)
def test_it_has_to_win_over_the_drop_in_that_decides(later: str, name: str, sglang: Engine) -> None:
    """Of two drop-ins the one with the later name wins, whatever folders they are in."""
    unit = unit_of(
        (f"{LIB}/chat.service", "[Service]\nExecStart=/bin/true\n"),
        (f"{LIB}/chat.service.d/{later}", f"[Service]\nExecStart=\n{COMMAND}"),
    )
    if name:
        assert window(unit, sglang).path == f"{ETC}/chat.service.d/{name}"
        return
    with pytest.raises(errors.SettingElsewhereError, match=r"no drop-in of chat\.service alone would win"):
        window(unit, sglang)


def test_it_does_not_hide_one_of_the_same_name(sglang: Engine) -> None:
    """Of two of one name the instance's folder wins over the template's, and the other is not read at all."""
    unit = unit_of(
        (f"{ETC}/chat@.service", f"[Service]\n{COMMAND}"),
        (f"{ETC}/chat@.service.d/50-console.conf", "[Service]\nLimitNOFILE=9\n"),
        name="chat@a.service",
    )
    assert window(unit, sglang).path == f"{ETC}/chat@a.service.d/zz-console.conf"


def test_a_link_to_the_file_of_a_package(sglang: Engine) -> None:
    path = f"{ETC}/chat.service"
    unit = unit_of((path, f"[Service]\n{COMMAND}"), links={path: f"{LIB}/other.service"})
    assert window(unit, sglang).path == f"{ETC}/{OWN}"


def test_what_is_generated_stays_refused(sglang: Engine) -> None:
    unit = unit_of(("/run/systemd/generator/chat.service", f"[Service]\n{COMMAND}"))
    with pytest.raises(errors.SettingElsewhereError, match="generated"):
        window(unit, sglang)


START = '#!/bin/sh\nexec /opt/x/python3 -m sglang.launch_server --context-length "${CTX:-32768}" --port 30000\n'


@pytest.mark.parametrize(
    "files",
    [
        ((f"{LIB}/chat.service", "[Service]\nExecStart=/opt/start.sh\n"),),
        (
            (f"{ETC}/chat.service", "[Service]\nExecStart=/opt/start.sh\n"),
            (f"{LIB}/chat.service.d/60-env.conf", "[Service]\nEnvironment=A=1\n"),
        ),
    ],
)
def test_a_variable_that_a_script_would_read_is_not_added_to_a_packages_file(
    files: tuple[tuple[str, str], ...], sglang: Engine
) -> None:
    unit = unit_of(*files, files={"/opt/start.sh": START.encode()})
    with pytest.raises(errors.SettingElsewhereError, match="CTX would be set in /usr/lib/systemd/system") as refused:
        window(unit, sglang, when_absent="add")
    assert "systemctl edit chat.service" in refused.value.hint
