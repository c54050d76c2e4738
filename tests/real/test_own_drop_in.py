"""A unit of a package, and an instance of a template: changed by a drop-in of their own, which goes with the undo."""

from __future__ import annotations

import signal

import pytest

from tests.hosts import remains
from tests.hosts.engine_unit import UNIT, serving, set_fault, start_and_wait, unit_text
from tests.hosts.host import Host
from tests.real.books import guarded
from tests.real.conftest import MakeDesk
from tests.real.desk import EXTEND_CONTEXT, Desk
from tests.real.held import held
from tests.real.state_of import LEDGER, UNIT_FILE, comes_to_serve, flag, tree

pytestmark = pytest.mark.real_host

VENDOR_FILE = f"/usr/lib/systemd/system/{UNIT}"
FOLDER = f"/etc/systemd/system/{UNIT}.d"
DROP_IN = f"{FOLDER}/50-console.conf"


def package(host: Host) -> None:
    """The engine's unit where a package would have put it; it goes on running."""
    host.run("mv", UNIT_FILE, VENDOR_FILE)
    host.run("systemctl", "daemon-reload")
    host.run("systemctl", "reenable", "--quiet", UNIT)


def test_a_unit_of_a_package(host: Host, make_desk: MakeDesk) -> None:
    desk, other = make_desk([host]), make_desk([host])
    package(host)
    before, vendor, argv = tree(host, "/etc/systemd/system"), host.read(VENDOR_FILE), host.main_argv(UNIT)

    planned = desk.console("plan", EXTEND_CONTEXT)

    assert planned.code == 0, planned.err
    assert f"+++ b{DROP_IN}" in planned.out
    assert "--- /dev/null" in planned.out
    assert tree(host, "/etc/systemd/system") == before

    done = desk.extend()

    assert done.code == 0, done.err
    assert done.outcome == "verified"
    assert host.read(VENDOR_FILE) == vendor
    assert host.out("stat", "-c", "%A %U:%G %n", FOLDER, DROP_IN).splitlines() == [
        f"drwxr-xr-x root:root {FOLDER}",
        f"-rw-r--r-- root:root {DROP_IN}",
    ]
    now = host.main_argv(UNIT)
    assert [(one, other) for one, other in zip(argv, now, strict=True) if one != other] == [("32768", "200000")]
    assert serving(host) == 200000
    assert f"+--- /dev/null\n++++ b{DROP_IN}" in desk.git("show", "--format=", "HEAD")
    assert done.record["settings"][0]["path"] == DROP_IN
    levels = done.of("levels.read")
    assert [levels[0]["disk"], *(levels[-1][name] for name in ("disk", "loaded", "running", "serving"))] == [
        "32768",
        *["200000"] * 4,
    ]

    back = other.console("rollback", f"{host.name}/k26", "--yes")

    assert back.code == 0, back.err
    assert not host.exists(FOLDER)
    assert (serving(host), flag(host.main_argv(UNIT))) == (32768, "32768")


def test_an_instance_alone_and_back_by_hand(host: Host, make_desk: MakeDesk) -> None:
    unit, sibling = "engine@a.service", "engine@b.service"
    template = "/etc/systemd/system/engine@.service"
    drop_in = f"/etc/systemd/system/{unit}.d/50-console.conf"
    host.run("systemctl", "disable", "--quiet", "--now", UNIT)
    host.write(template, unit_text())
    host.write(f"/etc/systemd/system/{sibling}.d/10-idle.conf", "[Service]\nExecStart=\nExecStart=/bin/sleep 9999\n")
    host.run("systemctl", "daemon-reload")
    host.run("systemctl", "start", sibling)
    host.run("systemctl", "enable", "--quiet", unit)
    start_and_wait(host, unit)
    beside, template_is = host.show(sibling, "InvocationID"), host.read(template)
    desk = make_desk([host], unit=unit)

    def untouched() -> bool:
        return host.show(sibling, "InvocationID") == beside and host.read(template) == template_is

    done = desk.extend()

    assert done.code == 0, done.err
    assert flag(host.main_argv(unit)) == "200000"
    assert flag(host.read(drop_in).split()) == "200000"
    assert untouched()

    made = host.read(drop_in)
    host.write(drop_in, made + "# somebody\n")
    refused = host.run("sh", f"{LEDGER}/{unit}/{done.run_id}/undo.sh", check=False)
    assert (refused.returncode, b"was edited since" in refused.stderr) == (1, True)
    foreign = desk.console("rollback", done.run_id, "--yes")
    assert foreign.code == 8, foreign.err
    assert "+# somebody" in foreign.err
    host.write(drop_in, made)
    said = host.out("sh", f"{LEDGER}/{unit}/{done.run_id}/undo.sh")
    assert f"taken away: {drop_in}" in said
    assert not host.exists(f"/etc/systemd/system/{unit}.d")
    assert comes_to_serve(host, 32768)
    assert untouched()


@pytest.mark.by_hand
def test_of_a_unit_that_not_everybody_may_read_and_of_a_folder_that_two_units_share(host: Host, desk: Desk) -> None:
    package(host)
    host.run("chmod", "0640", VENDOR_FILE)
    host.run("mkdir", FOLDER)
    host.run("ln", "-s", FOLDER, "/etc/systemd/system/beside.service.d")
    before = tree(host, "/etc/systemd/system")

    refused = desk.extend()

    assert refused.code == 1, refused.err
    assert "beside.service reads" in refused.said
    assert "--also-affects 1" in refused.said
    assert tree(host, "/etc/systemd/system") == before

    done = desk.extend("--also-affects", "1")

    assert done.code == 0, done.err
    assert host.out("stat", "-c", "%a %U", DROP_IN) == "600 root"
    assert desk.console("rollback", done.run_id, "--yes").code == 0
    assert not host.exists(DROP_IN)
    assert host.exists(FOLDER)  # it was there before


@pytest.mark.by_hand
@pytest.mark.parametrize("verb", ["rollback", "run"])
def test_what_a_crash_left_before_it_was_there_goes_with_the_next_run(host: Host, desk: Desk, verb: str) -> None:
    package(host)
    before = tree(host, "/etc/systemd/system")
    with held(host, "ln", "*/50-console.conf*") as point:
        going = desk.start("run", EXTEND_CONTEXT)
        assert point.reached()
        going.stop(signal.SIGKILL)
        going.end()
        host.run("pkill", "-KILL", "-f", "^/bin/sh -s", check=False)
        host.run("pkill", "-KILL", "-f", "/usr/local/bin/ln")
    left = host.out("find", FOLDER, "-name", ".50-console.conf.console-*")
    assert left
    if verb == "rollback":
        done = desk.console("rollback", f"{host.name}/k26", "--yes")
        assert done.code == 0, done.err
        assert not host.exists(FOLDER)
        assert [line.split()[0] for line in tree(host, "/etc/systemd/system").splitlines()] == [
            line.split()[0] for line in before.splitlines()
        ]
    else:
        desk.console("recover")
        done = desk.console("resume", going.end().run_id, "--yes")
        assert done.code == 0, done.err
        assert not host.exists(left)
        assert host.exists(DROP_IN)


@pytest.mark.by_hand
def test_the_guard_takes_it_away(host: Host, desk: Desk) -> None:
    package(host)
    set_fault(host, "crash-loop", above_context=32768)
    going = desk.start("run", desk.runbook(guarded("6s")))
    going.wait_for(lambda event: event["type"] == "change.made" and event["kind"] == "restart")
    going.stop(signal.SIGKILL)
    going.end()
    assert host.exists(DROP_IN)
    assert remains.wait_until(lambda: not host.exists(FOLDER), 60.0, every_s=0.2)
    assert comes_to_serve(host, 32768)
    told = desk.console("recover")
    assert told.code == 0, told.err
    assert f"{host.name}/k26  rolled-back" in told.out
