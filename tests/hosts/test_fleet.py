"""The hosts of the tests: they are real, and they leave nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.hosts import remains
from tests.hosts.commands import CommandError, run, text
from tests.hosts.engine_unit import UNIT, install_engine, serving, set_fault, unit_text
from tests.hosts.fleet import PROJECT, Fleet
from tests.hosts.host import Host

pytestmark = pytest.mark.real_host


def traces(fleet: str) -> list[str]:
    """Everything on this machine that carries a fleet's id."""
    found = [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if fleet in line]
    found += [
        str(path)
        for folder in ("/sys/class/net", "/run/netns", "/run/console-test")
        for path in Path(folder).glob(f"{fleet}*")
    ]
    found += [str(path) for path in Path("/run/systemd/nspawn").glob(f"*/{fleet}*")]
    found += [str(group) for group in remains.groups(fleet)]
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = process.read_bytes()
        except OSError:
            continue
        if fleet.encode() in words:
            found.append(text(words))
    return found


def test_systemd_is_first_and_ssh_is_strict(host: Host) -> None:
    assert text(host.ssh("ps", "-p", "1", "-o", "comm=").stdout).strip() == "systemd"
    assert host.out("systemctl", "is-system-running") == "running"
    assert host.out("hostname") == host.name
    host.known_hosts.write_text(host.known_hosts.read_text().replace(f"{host.name},{host.address}", "elsewhere"))
    try:
        with pytest.raises(CommandError, match="Host key verification failed"):
            host.ssh("true")
    finally:
        host.known_hosts.write_text(host.known_hosts.read_text().replace("elsewhere", f"{host.name},{host.address}"))


def test_hosts_are_apart(fresh_hosts: Callable[[int], list[Host]]) -> None:
    one, two = fresh_hosts(2)
    service = "[Service]\nExecStart=/usr/bin/sleep 1000\n"
    for each in (one, two):
        each.write_unit("same.service", service, enable=False)
        each.run("systemctl", "start", "same.service")
    one.run("systemctl", "stop", "same.service")
    assert two.show("same.service", "ActiveState") == "active"
    assert two.main_argv("same.service") == ["/usr/bin/sleep", "1000"]
    assert one.boot_id() != two.boot_id()
    assert one.read("/etc/machine-id") != two.read("/etc/machine-id")


def test_a_restart_is_a_new_invocation(host: Host) -> None:
    install_engine(host)
    before = host.show(UNIT, "InvocationID")
    assert serving(host) == 32768
    assert "--context-length" in host.main_argv(UNIT)
    host.write_unit(UNIT, unit_text(flags={"--context-length": 200000}))
    host.run("systemctl", "restart", UNIT)
    assert remains.wait_until(lambda: serving(host) == 200000, 20.0, every_s=0.1)
    assert len(before) == 32
    assert host.show(UNIT, "InvocationID") != before
    assert any("fired up" in line for line in host.journal(UNIT))


def test_a_fault_holds_from_the_next_start(host: Host) -> None:
    install_engine(host, unit_text(service=["Restart=no"]).replace("Restart=on-failure\n", ""))
    set_fault(host, "oom", above_context=32768)
    host.write_unit(UNIT, unit_text(flags={"--context-length": 200000}).replace("Restart=on-failure\n", ""))
    host.run("systemctl", "restart", UNIT)
    assert remains.wait_until(lambda: host.show(UNIT, "ActiveState") == "failed", 20.0, every_s=0.1)


def test_cut_and_heal(host: Host) -> None:
    held = subprocess.Popen(
        [*host.ssh_words(), "echo in; read line; echo got $line"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert held.stdout is not None
    assert held.stdout.readline() == b"in\n"
    with held, host.cut_off():
        with pytest.raises(CommandError):
            host.ssh("true", timeout_s=20)
        assert host.out("cat", "/sys/class/net/eth0/carrier") == "1"
        assert held.poll() is None
        host.heal()
        # What was sent before the cut goes on after it.
        assert held.communicate(b"line\n", timeout=30)[0] == b"got line\n"
    host.ssh("true")


def test_sessions_are_killed_and_the_server_stays(host: Host) -> None:
    host.add_user("ops")
    held = subprocess.Popen(
        [*host.ssh_words("ops"), "echo in; sleep 100"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with held:
        assert held.stdout is not None
        assert held.stdout.readline() == b"in\n"
        assert host.kill_sessions() >= 1
        assert held.wait(timeout=10) == 255
    host.ssh("true")


def test_users(host: Host) -> None:
    host.add_user("ops", sudo=True)
    host.add_user("careful", sudo=True, password="only for this test")
    host.add_user("guest")
    assert host.ssh("sudo", "-n", "id", "-u", user="ops").stdout == b"0\n"
    for user in ("careful", "guest"):
        with pytest.raises(CommandError, match=r"password is required|may not run"):
            host.ssh("sudo", "-n", "id", "-u", user=user)
    asked = run([*host.ssh_words("careful"), "sudo -S -p '' id -u"], input_bytes=b"only for this test\n", check=False)
    assert asked.stdout == b"0\n"


def test_a_full_disk(host: Host) -> None:
    with host.disk_left(4), pytest.raises(CommandError, match="No space left"):
        host.write("/var/lib/big", b"x" * (8 << 20))
    host.write("/var/lib/big", b"x" * (8 << 20))


def test_extended_attributes_and_acls_are_kept(host: Host) -> None:
    host.write("/etc/example", "text\n")
    host.run("setfattr", "-n", "user.origin", "-v", "deployed", "/etc/example")
    host.run("setfacl", "-m", "u:daemon:r", "/etc/example")
    assert 'user.origin="deployed"' in host.out("getfattr", "-d", "/etc/example")
    assert "user:daemon:r--" in host.out("getfacl", "/etc/example")


def test_a_reboot_is_another_boot(host: Host) -> None:
    host.write("/etc/kept", "kept\n")
    before = host.boot_id()
    host.reboot()
    host.ssh("true")
    assert host.boot_id() != before
    assert host.read("/etc/kept") == "kept\n"


def test_a_fresh_host_remembers_nothing(fresh_hosts: Callable[[int], list[Host]]) -> None:
    (first,) = fresh_hosts(1)
    first.write("/etc/mark", "mine\n")
    first.cut()
    (again,) = fresh_hosts(1)
    assert again.address == first.address
    assert not again.exists("/etc/mark")
    again.ssh("true")


def test_nothing_is_left_behind() -> None:
    with Fleet(2) as fleet:
        name = fleet.folder.name
        # A unit that will not stop does not hold the end up.
        stubborn = "[Service]\nExecStart=/bin/sh -c 'trap \"\" TERM; while :; do sleep 1; done'\n"
        fleet.hosts[0].write_unit("stubborn.service", stubborn, enable=False)
        fleet.hosts[0].run("systemctl", "start", "stubborn.service")
        assert len(traces(name)) > 10
        watcher = fleet.watcher
        began = time.monotonic()
    assert time.monotonic() - began < 8
    watcher.wait(timeout=10)
    assert traces(name) == []


ENDLESS = """
import sys, time
from tests.hosts.fleet import Fleet
with Fleet(1) as fleet:
    print(fleet.folder.name, fleet.watcher.pid, flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("watcher_dies_too", [False, True])
def test_a_killed_process_leaves_nothing_behind(fleet: Fleet, watcher_dies_too: bool) -> None:
    (neighbour,) = fleet.fresh(1)
    child = subprocess.Popen([sys.executable, "-c", ENDLESS], cwd=PROJECT, stdout=subprocess.PIPE)
    with child:
        assert child.stdout is not None
        name, watcher = text(child.stdout.readline()).split()
        if watcher_dies_too:
            os.kill(int(watcher), signal.SIGKILL)
        child.kill()
    if watcher_dies_too:
        assert traces(name)
        said = run([sys.executable, "-m", "tests.hosts.reap"], timeout_s=60)
    assert remains.wait_until(lambda: traces(name) == [], 20.0, every_s=0.1), traces(name)
    if watcher_dies_too:
        assert name in text(said.stdout)
    # The living are left alone.
    neighbour.ssh("true")
