"""An engine in a user's own service manager: refused, with whose it is, where it lies, and what to do."""

from __future__ import annotations

import pytest

from tests.hosts import remains
from tests.hosts.engine_unit import UNIT, unit_text
from tests.hosts.host import Host
from tests.real.conftest import MakeDesk
from tests.real.state_of import UNIT_FILE

pytestmark = [pytest.mark.real_host, pytest.mark.by_hand]


@pytest.mark.parametrize("login", ["root", "owner"])
def test_whose_it_is_and_what_to_do(host: Host, make_desk: MakeDesk, login: str) -> None:
    path = f"/home/owner/.config/systemd/user/{UNIT}"
    host.add_user("owner")
    uid = host.out("id", "-u", "owner")
    host.run("systemctl", "disable", "--now", "--quiet", UNIT)
    host.run("rm", UNIT_FILE)
    host.run("systemctl", "daemon-reload")
    host.write(path, unit_text())
    host.run("chown", "-R", "owner:owner", "/home/owner")
    # Without PAM's module for it, which is what the hosts are short of.
    by_hand = "[Service]\nPAMName=\nEnvironment=XDG_RUNTIME_DIR=/run/user/%i\n"
    host.write("/etc/systemd/system/user@.service.d/by-hand.conf", by_hand)
    host.run("systemctl", "daemon-reload")
    host.run("systemctl", "start", f"user@{uid}.service")
    manager = ["runuser", "-u", "owner", "--", "env", f"XDG_RUNTIME_DIR=/run/user/{uid}", "systemctl", "--user"]
    host.run(*manager, "start", UNIT)
    assert remains.wait_until(lambda: host.out(*manager, "is-active", UNIT) == "active", 20, every_s=0.1)
    before = host.out("sha256sum", path)
    desk = make_desk([host], user=login)

    refused = desk.extend()

    assert refused.code == 1, refused.err
    said = refused.said
    assert f"{UNIT} is a user unit of owner ({path}, running)" in said
    assert "loginctl enable-linger owner" in said
    assert f"sudo -u owner XDG_RUNTIME_DIR=/run/user/{uid} systemctl --user daemon-reload" in said
    assert "User=owner" in said
    assert host.out("sha256sum", path) == before
    assert not host.exists("/var/lib/console")

    host.run("touch", "/var/lib/systemd/linger/owner")
    assert "logs out" not in desk.extend().said
