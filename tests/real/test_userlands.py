"""Login shells, languages, tools and clocks as they are elsewhere: the same job, or a refusal that says why."""

from __future__ import annotations

import re

import pytest

from tests.hosts.host import Host
from tests.hosts.packages import unpack
from tests.real.conftest import MakeDesk
from tests.real.state_of import digest, everywhere, snapshot, starts

pytestmark = [pytest.mark.real_host, pytest.mark.by_hand]

SHELLS = {"fish": ("fish", "fish-common", "libpcre2-32-0"), "tcsh": ("tcsh",)}


@pytest.mark.parametrize("shell", SHELLS)
def test_a_login_shell_that_is_no_bourne_shell(host: Host, make_desk: MakeDesk, shell: str) -> None:
    unpack(host, *SHELLS[shell])
    path = host.out("sh", "-c", f"command -v {shell}")
    host.add_user("ops", sudo=True)
    host.run("usermod", "--shell", path, "ops")
    assert host.ssh("echo", "$version", user="ops").stdout
    desk = make_desk([host], user="ops")

    done = desk.extend()

    assert done.code == 0, done.err
    assert everywhere(host) == ("200000",) * 4
    back = desk.console("rollback", done.run_id, "--yes")
    assert back.code == 0, back.err


def test_a_login_shell_that_lets_nobody_in(host: Host, make_desk: MakeDesk) -> None:
    host.add_user("ops", sudo=True)
    host.run("usermod", "--shell", "/usr/sbin/nologin", "ops")
    before = snapshot(host)
    desk = make_desk([host], user="ops")
    for done in (desk.extend(), desk.console("facts", f"{host.name}/k26")):
        assert done.code == 7, done.err
        assert "no command of ours runs (status 1): This account is currently not available" in done.said
    assert snapshot(host) == before


def test_a_language_with_other_letters_and_numbers(host: Host, make_desk: MakeDesk) -> None:
    """Turkish: `I` and `i` are no pair, and a comma stands before the decimals."""
    unpack(host, "locales")
    host.run("mkdir", "-p", "/usr/lib/locale")
    host.run("localedef", "-i", "tr_TR", "-f", "UTF-8", "tr_TR.UTF-8")
    host.write("/etc/ssh/sshd_config.d/test.conf", "SetEnv LANG=tr_TR.UTF-8 LC_ALL=tr_TR.UTF-8\n")
    host.write("/etc/sudoers.d/zz", 'Defaults env_keep += "LANG LC_*"\n', mode=0o440)
    host.run("systemctl", "restart", "ssh")
    host.add_user("ops", sudo=True)
    assert b"tr_TR" in host.ssh("env", user="ops").stdout
    desk = make_desk([host], user="ops")
    done = desk.extend()
    assert done.code == 0, done.err
    assert everywhere(host) == ("200000",) * 4


def busybox(host: Host, *tools: str) -> None:
    """Its applets before everything else; without names all that it has, but for the shell and what starts a system."""
    unpack(host, "busybox-static")
    host.run("sh", "-c", "mkdir -p /opt/bb && /bin/busybox --install -s /opt/bb")
    for name in ("sh", "su", "reboot", "init", "poweroff", "halt", "login", "passwd", "ip"):
        host.run("rm", "-f", f"/opt/bb/{name}")
    host.run(
        "sh",
        "-c",
        'cd /opt/bb; [ $# -gt 0 ] || set -- *; for tool; do ln -s "$PWD/$tool" /usr/local/bin/; done',
        "sh",
        *tools,
    )


def test_nothing_but_busybox_is_refused(host: Host, make_desk: MakeDesk) -> None:
    busybox(host)
    before = digest(host), starts(host)
    done = make_desk([host]).extend()
    assert done.code == 1, done.err
    assert "the tools of coreutils are needed (BusyBox has too few)" in done.said
    assert (digest(host), starts(host)) == before
    assert not host.exists("/var/lib/console")


def test_text_tools_of_busybox_do(host: Host, make_desk: MakeDesk) -> None:
    """awk and the like are often its, where coreutils are there."""
    busybox(
        host, "awk", "sed", "grep", "cut", "tr", "head", "tail", "sort", "base64", "sha256sum", "cat", "wc", "printf"
    )
    host.add_user("ops", sudo=True)
    desk = make_desk([host], user="ops")
    done = desk.extend()
    assert done.code == 0, done.err
    assert everywhere(host) == ("200000",) * 4
    assert desk.console("rollback", done.run_id, "--yes").code == 0


def test_a_clock_that_is_off_is_told(host: Host, make_desk: MakeDesk) -> None:
    """Seen from a desk: the host's `date` is five minutes ahead."""
    ahead = '#!/bin/sh\ncase $* in *%3N*) exec /bin/date -d "+300 seconds" "$@" ;; esac\nexec /bin/date "$@"\n'
    host.write("/usr/local/bin/date", ahead, mode=0o755)
    desk = make_desk([host])
    shown = desk.console("facts", f"{host.name}/k26")
    assert shown.code == 0, shown.err
    done = desk.extend()
    assert done.code == 0, done.err
    assert re.search(r"its clock is (29\d|30\d) s ahead of ours", done.said), done.err
