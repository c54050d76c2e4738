"""sudo as fleets have it: a password, a few commands only, a terminal; and what its log says beside our record."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.hosts.engine_unit import UNIT, serving
from tests.hosts.host import Host
from tests.real.conftest import MakeDesk
from tests.real.desk import EXTEND_CONTEXT, Desk, plain
from tests.real.state_of import UNIT_FILE, everywhere, snapshot

pytestmark = pytest.mark.real_host

PASSWORD = "only for; this $test"
ANYBODY = "account required pam_permit.so\nsession required pam_permit.so\n"


def with_password(desk: Desk, *words: str, said: str = PASSWORD) -> subprocess.CompletedProcess[bytes]:
    """`console WORDS --ask-sudo` without a terminal: the password is the first line of stdin."""
    return desk.piped(*words, "--ask-sudo", said=f"{said}\n")


def test_a_password_is_asked_once_and_stays_on_stdin(host: Host, make_desk: MakeDesk, tmp_path: Path) -> None:
    host.add_user("careful", sudo=True, password=PASSWORD)
    host.write("/etc/sudoers.d/zz", "Defaults timestamp_timeout=0, log_allowed\n", mode=0o440)
    desk = make_desk([host], user="careful")
    before = snapshot(host)

    refused = desk.extend()
    wrong = with_password(desk, "run", EXTEND_CONTEXT, said="not it")

    assert (refused.code, wrong.returncode) == (7, 7), (refused.err, wrong.stderr)
    assert "--ask-sudo" in refused.err
    assert "did not take the password" in plain(wrong.stderr.decode()), wrong.stderr.decode()
    assert snapshot(host) == before

    done = with_password(desk, "run", EXTEND_CONTEXT)

    assert done.returncode == 0, done.stderr.decode()
    assert everywhere(host) == ("200000",) * 4
    assert PASSWORD not in desk.everything()
    assert host.run("grep", "-rlF", PASSWORD, "/etc", "/var", "/run", "/root", "/home", check=False).stdout == b""
    assert "dd if=/proc/" in "\n".join(sudo_log(host))

    back = with_password(desk, "rollback", f"{host.name}/k26", "--yes")
    assert back.returncode == 0, back.stderr.decode()
    assert serving(host) == 32768


@pytest.mark.by_hand
def test_only_the_commands_that_doctor_prints(host: Host, make_desk: MakeDesk) -> None:
    host.add_user("narrow", sudo=True)
    host.write("/etc/sudoers.d/narrow", "narrow ALL=(root) NOPASSWD: /usr/bin/true\n", mode=0o440)
    desk = make_desk([host], user="narrow")
    before = snapshot(host)

    refused = desk.extend()

    assert refused.code == 7, refused.err
    said = refused.said
    assert "sudo mkdir -p -m 0755 -- /run/console" in said
    assert f"console doctor {host.name}/k26 --sudoers" in said
    assert snapshot(host) == before

    lines = desk.console("doctor", f"{host.name}/k26", "--sudoers")
    assert lines.code == 0, lines.err
    host.write("/etc/sudoers.d/narrow", lines.out, mode=0o440)
    host.run("visudo", "--check", "--quiet")
    assert host.ssh("sudo", "-n", "cat", "/etc/shadow", user="narrow", check=False).returncode != 0

    done = desk.extend()

    assert done.code == 0, done.err
    assert everywhere(host) == ("200000",) * 4
    back = desk.console("rollback", done.run_id, "--yes")
    assert back.code == 0, back.err


@pytest.mark.by_hand
def test_a_sudo_that_wants_a_terminal_gets_one(host: Host, make_desk: MakeDesk) -> None:
    host.add_user("oldfashioned", sudo=True)
    host.write("/etc/sudoers.d/zz", "Defaults requiretty\nDefaults lecture=always\n", mode=0o440)
    desk = make_desk([host], user="oldfashioned")
    done = desk.extend()
    assert done.code == 0, done.err
    assert done.outcome == "verified"
    assert everywhere(host) == ("200000",) * 4


@pytest.mark.by_hand
def test_a_code_that_is_good_for_one_call_only(host: Host, make_desk: MakeDesk) -> None:
    """The first call is let through, and the next one is not: known before anything is changed."""
    host.add_user("coded", sudo=True, password=PASSWORD)
    check = '#!/bin/sh\nread -r code; [ "$code" = 271828 ] && [ ! -e /run/spent ] && touch /run/spent\n'
    host.write("/usr/local/sbin/check-code", check, mode=0o755)
    host.write(
        "/etc/pam.d/sudo",
        f"auth required pam_exec.so quiet seteuid expose_authtok /usr/local/sbin/check-code\n{ANYBODY}",
    )
    desk = make_desk([host], user="coded")
    before = snapshot(host)

    refused = with_password(desk, "run", EXTEND_CONTEXT, said="271828")

    said = plain(refused.stderr.decode())
    assert refused.returncode == 7, said
    assert "sudo took the answer once and not a second time" in said
    assert f"console doctor {host.name}/k26 --sudoers" in said
    assert host.exists("/run/spent")
    assert snapshot(host) == before
    assert with_password(desk, "run", EXTEND_CONTEXT, "--i-will-be-here", said="271828").returncode == 7
    assert snapshot(host) == before


@pytest.mark.by_hand
def test_an_approval_at_each_call(host: Host, make_desk: MakeDesk) -> None:
    """Somebody's telephone is asked each time: refused, unless they say that they will be there."""
    host.add_user("pushed", sudo=True, password=PASSWORD)
    host.write("/etc/push", "Pushed a login request to your device.\n")
    host.write(
        "/etc/sudoers.d/zz", "Defaults lecture=always, lecture_file=/etc/push, timestamp_timeout=0\n", mode=0o440
    )
    desk = make_desk([host], user="pushed")
    before = snapshot(host)

    refused = with_password(desk, "run", EXTEND_CONTEXT)

    said = plain(refused.stderr.decode())
    assert refused.returncode == 7, said
    assert "sudo waits for an approval at each call" in said
    assert "--i-will-be-here" in said
    assert snapshot(host) == before

    done = with_password(desk, "run", EXTEND_CONTEXT, "--i-will-be-here")

    assert done.returncode == 0, done.stderr.decode()
    assert everywhere(host) == ("200000",) * 4
    back = with_password(desk, "rollback", f"{host.name}/k26", "--yes")
    assert back.returncode == 0, back.stderr.decode()

    # Text that stands in the answers makes them worthless, whoever is there.
    host.write("/usr/local/sbin/push", "#!/bin/sh\ncat /etc/push\n", mode=0o755)
    host.write(
        "/etc/pam.d/sudo",
        f"auth optional pam_exec.so stdout /usr/local/sbin/push\nauth required pam_permit.so\n{ANYBODY}",
    )
    mixed = with_password(desk, "run", EXTEND_CONTEXT, "--i-will-be-here")
    assert mixed.returncode == 7, mixed.stderr.decode()
    assert "sudo writes into what commands answer" in plain(mixed.stderr.decode())


@pytest.mark.by_hand
def test_a_ticket_that_somebody_left_is_no_right(host: Host, make_desk: MakeDesk) -> None:
    """It may end before the rollback."""
    host.add_user("ticketed", sudo=True, password=PASSWORD)
    host.write("/etc/sudoers.d/zz", "Defaults timestamp_type=global\n", mode=0o440)
    host.ssh("sh", "-c", f"printf '%s\\n' '{PASSWORD}' | sudo -S -p '' true", user="ticketed")
    assert host.ssh("sudo", "-n", "true", user="ticketed").returncode == 0
    before = snapshot(host)
    refused = make_desk([host], user="ticketed").extend()
    assert refused.code == 7, refused.err
    assert "--ask-sudo" in refused.said
    assert snapshot(host) == before


@pytest.mark.by_hand
def test_the_hosts_sudo_log_and_our_record_tell_the_same_acts_in_order(host: Host, make_desk: MakeDesk) -> None:
    host.add_user("ops", sudo=True)
    desk = make_desk([host], user="ops")
    done = desk.extend()
    assert done.code == 0, done.err
    acts = {
        f"mv -f -T -- /etc/systemd/system/.{UNIT}.console-{done.run_id} {UNIT_FILE}": "file",
        "systemctl daemon-reload": "reload",
        f"systemctl restart --no-block -- {UNIT}": "restart",
    }
    logged = [acts[line] for line in sudo_log(host) if line in acts]
    made = [change["kind"] for change in done.of("change.made")]
    assert logged[: len(made)] == made
    # The guard that was called off has units of its own, which systemd is to forget: that is an event of the run, too.
    assert logged[len(made) :] in ([], ["reload"])
    assert done.of("guard.changed")
    others = [line for line in sudo_log(host) if re.match(r"(systemctl|mv|dd|cp)\b", line) and line not in acts]
    assert [line for line in others if "/etc/systemd/system/k26" in line] == []


def sudo_log(host: Host) -> list[str]:
    """The commands in the host's own log of sudo, oldest first, without the folder of the program."""
    lines = host.out("journalctl", "--quiet", "--output=cat", "_COMM=sudo").splitlines()
    found = (re.search(r"COMMAND=(?:/usr)?/s?bin/(.*)", line) for line in lines)
    return [match[1] for match in found if match]
