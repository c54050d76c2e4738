"""A unit's file, or the ledger, on a file system of its own: one that another host serves, one with a quota."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.hosts import remains
from tests.hosts.engine_unit import UNIT, serving, unit_text
from tests.hosts.host import Host
from tests.hosts.packages import unpack
from tests.real.conftest import MakeDesk
from tests.real.desk import EXTEND_CONTEXT, Desk
from tests.real.held import held
from tests.real.ready import Ready
from tests.real.state_of import LEDGER, UNIT_FILE, comes_to_serve, digest, snapshot, starts, tree

pytestmark = [pytest.mark.real_host, pytest.mark.by_hand]

SHARE = "/srv/units"
SHARED_FILE = f"{SHARE}/engine.service"
FOLDER = "/etc/systemd/system"


@pytest.fixture
def server(ready: Ready, host: Host) -> Iterator[Host]:
    """Another host, whose engine reads the same unit file: `host` has it by sshfs, both by a link."""
    taken = ready.take()
    taken.write(SHARED_FILE, unit_text(), mode=0o640)
    taken.run("chown", "daemon:adm", SHARED_FILE)
    mount_sshfs(host, taken)
    for each in (taken, host):
        each.run("ln", "-sf", SHARED_FILE, UNIT_FILE)
        each.run("systemctl", "daemon-reload")
        each.run("systemctl", "restart", UNIT)
    for each in (taken, host):
        assert comes_to_serve(each, 32768)
    yield taken
    ready.give_back(taken)


def mount_sshfs(host: Host, server: Host) -> None:
    unpack(host, "sshfs", "libfuse3-3", "fuse3", "libglib2.0-0")
    host.write("/root/share", server.identity.read_text(), mode=0o600)
    host.write("/root/known", server.known_hosts.read_text())
    host.run("mknod", "/dev/fuse", "c", "10", "229")
    host.run("mkdir", "-p", SHARE)
    options = "IdentityFile=/root/share,UserKnownHostsFile=/root/known,allow_other,default_permissions"
    source = f"root@{server.address}:{SHARE}"
    host.run("systemd-run", "--quiet", "--unit=share", "sshfs", "-f", "-o", options, source, SHARE)
    assert remains.wait_until(lambda: host.exists(SHARED_FILE), 20.0, every_s=0.1), host.out(
        "journalctl", "--unit=share", "--lines=5"
    )
    assert host.out("findmnt", "-no", "FSTYPE", SHARE) == "fuse.sshfs"


def stands(host: Host, path: str) -> str:
    return host.out("stat", "-c", "%a %U:%G", path)


def test_a_unit_linked_into_a_network_file_system(host: Host, server: Host, desk: Desk) -> None:
    content, elsewhere = host.read_bytes(SHARED_FILE), server.show(UNIT, "InvocationID")
    before, beside = snapshot(host), tree(server, SHARE)
    everybody = f"every host that mounts root@{server.address}:{SHARE}"

    planned, refused = desk.console("plan", EXTEND_CONTEXT), desk.extend()

    assert (planned.code, refused.code) == (1, 1), refused.err
    for told in (planned, refused):
        assert f"{everybody} reads {UNIT_FILE} (fuse.sshfs)" in told.said
        assert "--also-affects 1" in told.said
    assert refused.outcome == "failed-unchanged"
    assert desk.extend("--also-affects", "2").code == 1
    assert (snapshot(host), tree(server, SHARE)) == (before, beside)

    done = desk.extend("--also-affects", "1")

    assert done.code == 0, done.err
    for each in (host, server):
        assert "--context-length 200000" in each.read(SHARED_FILE)
        assert stands(each, SHARED_FILE) == "640 daemon:adm"
    assert host.out("readlink", UNIT_FILE) == SHARED_FILE
    assert serving(host) == 200000
    assert (serving(server), server.show(UNIT, "InvocationID")) == (32768, elsewhere)
    assert server.out("ls", "-A", SHARE) == "engine.service"

    back = desk.console("rollback", done.run_id, "--yes")

    assert back.code == 0, back.err
    assert server.read_bytes(SHARED_FILE) == host.read_bytes(SHARED_FILE) == content
    assert stands(server, SHARED_FILE) == "640 daemon:adm"
    assert host.out("readlink", UNIT_FILE) == SHARED_FILE
    assert serving(host) == 32768
    assert server.out("ls", "-A", SHARE) == "engine.service"

    again = desk.extend("--also-affects", "1")
    assert again.code == 0, again.err
    host.run("sh", f"{LEDGER}/{UNIT}/{again.run_id}/undo.sh")
    assert server.read_bytes(SHARED_FILE) == content
    assert stands(server, SHARED_FILE) == "640 daemon:adm"
    assert host.out("readlink", UNIT_FILE) == SHARED_FILE


def with_quota(host: Host, folder: str) -> None:
    """The folder on btrfs, and its quota used up: who asks the file system for its free space is told of plenty.

    Quota groups hold for root as well, whatever its capabilities.
    """
    unpack(host, "btrfs-progs", "liblzo2-2")
    host.run(
        "sh", "-c", "mknod /dev/loop-control c 10 237; for n in 0 1 2 3 4 5 6 7; do mknod /dev/loop$n b 7 $n; done"
    )
    host.run("truncate", "--size=200M", "/var/tmp/image")
    host.run("mkfs.btrfs", "--quiet", "--mixed", "/var/tmp/image")
    host.run("mkdir", "-p", folder, "/mnt/whole")
    host.run("mount", "-o", "loop", "/var/tmp/image", "/mnt/whole")
    host.run("btrfs", "quota", "enable", "/mnt/whole")
    host.run("btrfs", "subvolume", "create", "/mnt/whole/part")
    host.run("cp", "-a", f"{folder}/.", "/mnt/whole/part/")
    host.run("sync", "-f", "/mnt/whole")
    host.run("mount", "--bind", "/mnt/whole/part", folder)


def limit(host: Host, folder: str, size: str) -> None:
    host.run("btrfs", "qgroup", "limit", size, folder)


def use_up(host: Host, folder: str) -> None:
    """Down to the last byte: until a file of a few bytes is refused, too."""
    limit(host, folder, "2M")
    host.run("sh", "-c", 'dd if=/dev/urandom of="$1/filler" bs=4k count=600', "sh", folder, check=False)
    host.run("sync", "-f", folder)
    tried = host.run(
        "sh", "-c", 'n=0; while printf %5000d 1 >"$1/few$n"; do n=$((n + 1)); done', "sh", folder, check=False
    )
    assert b"quota exceeded" in tried.stderr, tried
    host.run("sh", "-c", 'rm -f "$1"/few*', "sh", folder, check=False)


def linked(host: Host) -> None:
    """The unit's file in a folder of its own, which has the quota."""
    host.write(SHARED_FILE, unit_text(), mode=0o640)
    host.run("chown", "daemon:adm", SHARED_FILE)
    with_quota(host, SHARE)
    host.run("ln", "-sf", SHARED_FILE, UNIT_FILE)
    host.run("systemctl", "daemon-reload")


def ledger_state(host: Host, run: str) -> str:
    return str(json.loads(host.read(f"{LEDGER}/{UNIT}/{run}/change.json"))["state"])


@pytest.mark.parametrize("user", ["root", "ops"])
def test_a_quota_that_keeps_the_file_from_being_written(host: Host, make_desk: MakeDesk, user: str) -> None:
    if user != "root":
        host.add_user(user, sudo=True)
    desk = make_desk([host], user=user)
    linked(host)
    use_up(host, SHARE)
    content, first, there = digest(host), starts(host), tree(host, SHARE)

    done = desk.extend()

    assert done.code == 1, done.err
    assert f"{UNIT_FILE} was not written: " in done.said
    assert "Disk quota exceeded" in done.said
    assert "next: clear or raise the quota there" in done.said
    assert done.outcome == "failed-unchanged"
    assert (digest(host), starts(host), serving(host)) == (content, first, 32768)
    assert tree(host, SHARE) == there
    assert host.out("readlink", UNIT_FILE) == SHARED_FILE
    assert desk.open_runs() == []
    assert ledger_state(host, done.run_id) == "unchanged"
    assert "console-guard" not in host.out("ls", "-R", FOLDER)

    limit(host, SHARE, "none")
    again = desk.extend()
    assert again.code == 0, again.err
    assert serving(host) == 200000
    assert stands(host, SHARED_FILE) == "640 daemon:adm"


def test_a_quota_that_keeps_the_file_from_being_put_back(host: Host, desk: Desk) -> None:
    linked(host)
    content = host.read_bytes(SHARED_FILE)
    done = desk.extend()
    assert done.code == 0, done.err
    use_up(host, SHARE)
    first, there = starts(host), tree(host, SHARE)

    refused = desk.console("rollback", done.run_id, "--yes")
    by_hand = host.run("sh", f"{LEDGER}/{UNIT}/{done.run_id}/undo.sh", check=False)

    assert refused.code == 1, refused.err
    assert "Disk quota exceeded" in refused.said
    assert "next: clear or raise the quota there" in refused.said
    assert by_hand.returncode == 1
    assert b"Disk quota exceeded" in by_hand.stderr
    assert f"{SHARED_FILE} was not put back".encode() in by_hand.stderr
    assert (tree(host, SHARE), starts(host), serving(host)) == (there, first, 200000)

    limit(host, SHARE, "none")
    back = desk.console("rollback", done.run_id, "--yes")
    assert back.code == 0, back.err
    assert host.read_bytes(SHARED_FILE) == content
    assert stands(host, SHARED_FILE) == "640 daemon:adm"
    assert serving(host) == 32768
    assert desk.open_runs() == []


def test_a_quota_that_keeps_the_guard_from_being_armed(host: Host, desk: Desk) -> None:
    with_quota(host, FOLDER)
    host.run("systemctl", "daemon-reload")
    use_up(host, FOLDER)
    first, there = starts(host), tree(host, FOLDER)

    done = desk.extend()

    assert done.code == 1, done.err
    assert "the guard cannot be armed" in done.said
    assert "Disk quota exceeded; nothing was changed" in done.said
    assert "next: clear or raise the quota there" in done.said
    assert done.outcome == "failed-unchanged"
    assert (tree(host, FOLDER), starts(host), serving(host)) == (there, first, 32768)
    assert desk.open_runs() == []
    assert ledger_state(host, done.run_id) == "unchanged"

    limit(host, FOLDER, "none")
    assert desk.extend().code == 0


def test_a_quota_on_the_ledger(host: Host, desk: Desk) -> None:
    with_quota(host, LEDGER)
    use_up(host, LEDGER)
    before = tree(host, "/etc", LEDGER), starts(host)

    done = desk.extend()

    assert done.code == 1, done.err
    assert "cannot be written: mkdir: cannot create directory" in done.said
    assert "Disk quota exceeded; nothing was changed" in done.said
    assert "next: clear or raise the quota there" in done.said
    assert done.outcome == "failed-unchanged"
    assert not done.of("change.intended")
    assert (tree(host, "/etc", LEDGER), starts(host)) == before
    assert desk.open_runs() == []

    limit(host, LEDGER, "none")
    again = desk.extend()
    assert again.code == 0, again.err
    assert serving(host) == 200000


def test_a_quota_that_is_used_up_while_the_ledger_entry_is_open(host: Host, desk: Desk) -> None:
    """The change is made and proven; only its end cannot be written down on the host."""
    with_quota(host, LEDGER)
    with held(host, "dd", "*.console-*") as point:
        going = desk.start("run", EXTEND_CONTEXT)
        assert point.reached()
        use_up(host, LEDGER)
        point.release()
        done = going.end()
    assert done.code == 0, done.err
    assert done.outcome == "verified"
    (ended,) = done.of("run.finished")
    assert "the ledger entry stays open: its end is not written into" in ended["message"]
    assert "Disk quota exceeded; next: clear or raise the quota there" in ended["message"]
    assert "the ledger entry stays open" in done.said + done.out
    assert ledger_state(host, done.run_id) == "open"
    assert ".change.json.new" not in host.out("ls", "-A", f"{LEDGER}/{UNIT}/{done.run_id}")

    limit(host, LEDGER, "none")
    back = desk.console("rollback", done.run_id, "--yes")
    assert back.code == 0, back.err
    assert ledger_state(host, done.run_id) == "rolled-back"
    assert serving(host) == 32768
