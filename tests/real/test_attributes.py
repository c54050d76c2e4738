"""What hangs on a file beside its bytes stays as it was; where it cannot be written, nothing is begun."""

from __future__ import annotations

import pytest

from tests.hosts.engine_unit import UNIT, install_engine, serving, start_and_wait, unit_text
from tests.hosts.host import Host
from tests.real.desk import EXTEND_CONTEXT, Desk
from tests.real.ready import QUICK_LOAD_S
from tests.real.state_of import UNIT_FILE, digest, everywhere, snapshot, starts

pytestmark = [pytest.mark.real_host, pytest.mark.by_hand]

FOLDER = "/etc/systemd/system"
LABEL = "system_u:object_r:systemd_unit_file_t:s0"


def hangs_on(host: Host, path: str) -> str:
    """Owner, mode, ACL, every extended attribute with SELinux's label, and the attributes of chattr."""
    looks = ('stat -c "%a %u:%g"', "getfacl -p", "getfattr --absolute-names -d -m -", "lsattr -d")
    return host.out("sh", "-c", "; ".join(f'{look} "$1"' for look in looks), "sh", path)


def test_everything_that_hangs_on_the_file_stays(host: Host, desk: Desk) -> None:
    host.run("chown", "daemon:adm", UNIT_FILE)
    host.run("chmod", "0640", UNIT_FILE)
    host.run("setfacl", "-m", "u:games:r,g:backup:r", UNIT_FILE)
    host.run("setfattr", "-n", "user.origin", "-v", "image 7", UNIT_FILE)
    host.run("setfattr", "-n", "security.selinux", "-v", LABEL, UNIT_FILE)
    host.run("chattr", "+Ad", UNIT_FILE)
    before, content = hangs_on(host, UNIT_FILE), host.read_bytes(UNIT_FILE)
    assert LABEL in before
    assert "games" in before

    done = desk.extend()

    assert done.code == 0, done.err
    assert hangs_on(host, UNIT_FILE) == before
    back = desk.console("rollback", done.run_id, "--yes")
    assert back.code == 0, back.err
    assert (hangs_on(host, UNIT_FILE), host.read_bytes(UNIT_FILE)) == (before, content)

    again = desk.extend()
    assert again.code == 0, again.err
    said = host.out("sh", f"/var/lib/console/{UNIT}/{again.run_id}/undo.sh")
    assert UNIT_FILE in said
    assert (hangs_on(host, UNIT_FILE), host.read_bytes(UNIT_FILE)) == (before, content)


@pytest.mark.parametrize(("path", "flag", "kind"), [(UNIT_FILE, "a", "append-only"), (FOLDER, "i", "immutable")])
def test_what_somebody_froze(host: Host, desk: Desk, path: str, flag: str, kind: str) -> None:
    content, first = digest(host), starts(host)
    host.run("chattr", f"+{flag}", path)
    planned, done = desk.console("plan", EXTEND_CONTEXT), desk.extend()
    host.run("chattr", f"-{flag}", path)
    assert (planned.code, done.code) == (1, 1), done.err
    assert f"{path} has the {kind} attribute" in planned.said
    assert f"chattr -{flag}" in planned.said
    assert done.outcome == "failed-unchanged"
    assert digest(host) == content
    assert starts(host) == first


def test_a_masked_unit(host: Host, desk: Desk) -> None:
    host.run("systemctl", "stop", UNIT)
    host.run("mv", UNIT_FILE, "/root/kept.service")
    host.run("systemctl", "mask", "--quiet", UNIT)
    before = snapshot(host)
    done = desk.extend()
    assert done.code == 1, done.err
    assert f"{UNIT} is masked" in done.said
    assert f"systemctl unmask {UNIT}" in done.said
    assert snapshot(host) == before


def test_a_generated_unit_names_its_source(host: Host, desk: Desk) -> None:
    host.write("/etc/engines.conf", "k26 32768\n")
    host.write("/root/unit", unit_text().replace("[Unit]\n", "[Unit]\nSourcePath=/etc/engines.conf\n"))
    host.run("systemctl", "disable", "--quiet", UNIT)
    host.run("rm", UNIT_FILE)
    host.write("/etc/systemd/system-generators/engines", f'#!/bin/sh\ncp /root/unit "$1/{UNIT}"\n', mode=0o755)
    host.run("systemctl", "daemon-reload")
    start_and_wait(host)
    before = snapshot(host)
    done = desk.extend()
    assert done.code == 1, done.err
    assert "is generated" in done.said
    assert "/etc/engines.conf" in done.said
    assert snapshot(host) == before


def test_a_full_disk(host: Host, desk: Desk) -> None:
    before = snapshot(host)
    with host.disk_left(0):
        planned, done = desk.console("plan", EXTEND_CONTEXT), desk.extend()
        assert (planned.code, done.code) == (1, 1), done.err
        assert snapshot(host) == before
    assert "0 MiB free for the unit's folder" in planned.said
    assert desk.extend().code == 0


def test_a_folder_of_units_that_is_full_and_a_tmp_that_runs_nothing(host: Host, desk: Desk) -> None:
    for folder in ("/tmp", "/var/tmp", "/dev/shm"):
        host.run("mount", "-t", "tmpfs", "-o", "noexec,nosuid,nodev", "test", folder)
    host.run("cp", "-a", "/etc/systemd/system", "/root/units")
    host.run("mount", "-t", "tmpfs", "-o", "size=80m,mode=0755", "test", "/etc/systemd/system")
    host.run("cp", "-a", "/root/units/.", "/etc/systemd/system/")
    host.run("sh", "-c", "dd if=/dev/zero of=/etc/systemd/system/zeros bs=64k status=none || true", check=False)
    host.run("systemctl", "daemon-reload")
    before = snapshot(host)

    refused = desk.extend()

    assert refused.code == 1, refused.err
    assert "0 MiB free for the unit's folder" in refused.said
    assert snapshot(host).starts == before.starts
    assert host.out("sh", "-c", "find /etc/systemd/system -name '.*console*'") == ""
    assert serving(host) == 32768
    host.run("rm", "/etc/systemd/system/zeros")
    done = desk.extend()
    assert done.code == 0, done.err
    assert everywhere(host) == ("200000",) * 4


def test_a_unit_of_no_bytes_and_a_drop_in_that_says_all(host: Host, desk: Desk) -> None:
    """systemd takes the empty file for a mask, whatever drop-ins say."""
    host.write(f"/etc/systemd/system/{UNIT}.d/all.conf", unit_text())
    host.write(UNIT_FILE, "")
    host.run("systemctl", "daemon-reload")
    before = snapshot(host)
    done = desk.extend()
    assert done.code == 1, done.err
    assert "masked" in done.said
    assert snapshot(host) == before


def test_an_environment_file_in_a_read_only_place(host: Host, desk: Desk) -> None:
    host.write("/srv/config/window", "WINDOW=32768\n")
    host.run("mount", "--bind", "/srv/config", "/srv/config")
    host.run("mount", "-o", "remount,ro,bind", "/srv/config")
    text = unit_text(flags={"--context-length": "${WINDOW}"})
    install_engine(
        host,
        text.replace("Restart=on-failure", "EnvironmentFile=/srv/config/window\nRestart=on-failure"),
        load_s=QUICK_LOAD_S,
    )
    before = snapshot(host)
    done = desk.extend()
    assert done.code == 1, done.err
    assert "/srv/config/window is on a file system mounted read-only" in done.said
    assert snapshot(host) == before
