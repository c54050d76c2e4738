"""Files as they lie on real hosts: shared, owned, linked, frozen, read-only. The right edit, or the right refusal."""

from __future__ import annotations

import pytest

from tests.hosts.engine_unit import UNIT, install_engine, serving, unit_text
from tests.hosts.host import Host
from tests.real.desk import EXTEND_CONTEXT, Desk
from tests.real.ready import QUICK_LOAD_S
from tests.real.state_of import UNIT_FILE, comes_to_serve, snapshot, starts

pytestmark = pytest.mark.real_host

VARIABLES = "/etc/default/window"
WINDOW = "WINDOW=32768\n"


def from_variables(file: str = VARIABLES) -> str:
    text = unit_text(flags={"--context-length": "${WINDOW}"})
    return text.replace("Restart=on-failure", f"EnvironmentFile={file}\nRestart=on-failure")


def test_an_environment_file_under_four_other_units(host: Host, desk: Desk) -> None:
    """Two instances that run, a unit that reads it by a pattern, and one on disk that systemd has not loaded."""
    host.write(VARIABLES, WINDOW)
    sleeper = "[Service]\nExecStart=/bin/sleep infinity\nEnvironmentFile={}\n"
    host.write(
        "/etc/systemd/system/worker@.service", sleeper.format(f"-/etc/default/%p-%i\nEnvironmentFile={VARIABLES}")
    )
    host.write("/etc/systemd/system/pattern.service", sleeper.format("-/etc/default/win*"))
    host.write("/etc/systemd/system/asleep.service", sleeper.format(VARIABLES))
    host.write("/etc/systemd/system/comment.service", f"# not {VARIABLES}\n[Service]\nExecStart=/bin/true\n")
    install_engine(host, from_variables(), load_s=QUICK_LOAD_S)
    host.run("systemctl", "start", "worker@a", "worker@b", "pattern")
    before = snapshot(host)
    running = {unit: host.show(unit, "InvocationID") for unit in ("worker@a.service", "worker@b.service")}

    refused = desk.extend()

    assert refused.code == 1, refused.err
    for unit in ("worker@a.service", "worker@b.service", "pattern.service", "asleep.service"):
        assert f"{unit} reads {VARIABLES}" in refused.err
    assert "comment.service" not in refused.err
    assert "--also-affects 4" in refused.err
    assert desk.extend("--also-affects", "3").code == 1
    assert snapshot(host) == before

    done = desk.extend("--also-affects", "4")

    assert done.code == 0, done.err
    assert host.read(VARIABLES) == "WINDOW=200000\n"
    assert {unit: host.show(unit, "InvocationID") for unit in running} == running
    back = desk.console("rollback", done.run_id, "--yes")
    assert back.code == 0, back.err
    assert host.read(VARIABLES) == WINDOW
    assert serving(host) == 32768


@pytest.mark.by_hand
def test_what_ansible_writes_is_edited_for_a_while_only(host: Host, desk: Desk) -> None:
    head = "# Ansible managed: roles/engine/templates/unit.j2\n"
    install_engine(host, head + unit_text(), load_s=QUICK_LOAD_S)
    before = snapshot(host)
    refused = desk.extend()
    assert refused.code == 1, refused.err
    said = refused.said
    assert "belongs to Ansible" in said
    assert "change roles/engine/templates/unit.j2" in said
    assert snapshot(host) == before

    done = desk.extend("--temporary", "until the role is merged", "--until", "3d")

    assert done.code == 0, done.err
    assert done.outcome == "verified"
    assert host.read(UNIT_FILE).startswith(head)
    (listed,) = desk.open_runs()
    assert listed["id"] == done.run_id
    assert "until the role is merged" in listed["why"]
    assert desk.console("rollback", done.run_id, "--yes").code == 0
    assert desk.open_runs() == []


@pytest.mark.by_hand
def test_linked_units_and_attributes_stay_as_they_are(host: Host, desk: Desk) -> None:
    """A unit that is a link into another folder: what it leads to is edited, and keeps owner, mode, ACL and xattr."""
    real = "/srv/units/engine.service"
    host.write(real, unit_text(), mode=0o640)
    host.run("useradd", "--system", "keeper")
    host.run("chown", "keeper:adm", real)
    host.run("setfacl", "-m", "u:games:r", real)
    host.run("setfattr", "-n", "user.origin", "-v", "image 7", real)
    host.run("rm", UNIT_FILE)
    host.run("ln", "-s", real, UNIT_FILE)
    host.run("systemctl", "daemon-reload")
    host.run("systemctl", "restart", UNIT)
    assert comes_to_serve(host, 32768)
    before = kept(host, real)
    done = desk.extend()
    assert done.code == 0, done.err
    assert "--context-length 200000" in host.read(real)
    assert host.out("readlink", UNIT_FILE) == real
    assert kept(host, real) == before
    assert desk.console("rollback", done.run_id, "--yes").code == 0
    assert kept(host, real) == before


def kept(host: Host, path: str) -> str:
    return host.out("sh", "-c", 'stat -c "%a %U %G" "$1"; getfacl -p "$1"; getfattr -d "$1" 2>&1', "sh", path)


@pytest.mark.by_hand
def test_a_read_only_etc_is_refused_at_planning(host: Host, desk: Desk) -> None:
    host.run("mount", "--bind", "/etc/systemd/system", "/etc/systemd/system")
    host.run("mount", "-o", "remount,ro,bind", "/etc/systemd/system")
    before = snapshot(host)
    planned, done = desk.console("plan", EXTEND_CONTEXT), desk.extend()
    assert (planned.code, done.code) == (1, 1), done.err
    assert "mounted read-only" in planned.err
    assert done.outcome == "failed-unchanged"
    assert snapshot(host) == before


@pytest.mark.by_hand
def test_an_empty_unit_file_masks_the_unit(host: Host, desk: Desk) -> None:
    host.write(UNIT_FILE, "")
    host.run("systemctl", "daemon-reload")
    first = starts(host)
    done = desk.extend()
    assert done.code == 1, done.err
    assert "masked" in done.err
    assert starts(host) == first


@pytest.mark.by_hand
def test_a_reload_that_another_unit_waits_for_must_be_accepted(host: Host, desk: Desk) -> None:
    host.write_unit("bystander.service", "[Service]\nExecStart=/bin/sleep infinity\n")
    host.run("systemctl", "start", "bystander")
    host.write("/etc/systemd/system/bystander.service", "[Service]\nExecStart=/bin/sleep 1\n")
    before = snapshot(host)
    refused = desk.extend()
    assert refused.code == 1, refused.err
    assert "bystander.service" in refused.err
    assert snapshot(host) == before
    done = desk.extend("--accept-pending")
    assert done.code == 0, done.err
    assert host.show("bystander.service", "NeedDaemonReload") == "no"


@pytest.mark.by_hand
def test_a_file_that_somebody_froze(host: Host, desk: Desk) -> None:
    host.run("chattr", "+i", UNIT_FILE)
    before = snapshot(host)
    planned, done = desk.console("plan", EXTEND_CONTEXT), desk.extend()
    assert (planned.code, done.code) == (1, 1), done.err
    assert "immutable attribute" in planned.said
    assert snapshot(host) == before
    host.run("chattr", "-i", UNIT_FILE)
    assert desk.extend().code == 0
