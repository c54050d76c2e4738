"""What a host or a key refuses, before anything is changed."""

from __future__ import annotations

import pytest

from tests.hosts.engine_unit import UNIT, install_engine, serving, unit_text
from tests.hosts.host import Host
from tests.real.conftest import MakeDesk
from tests.real.desk import EXTEND_CONTEXT, Desk
from tests.real.held import held
from tests.real.ready import QUICK_LOAD_S
from tests.real.state_of import LEDGER, UNIT_FILE, snapshot, tree

pytestmark = pytest.mark.real_host


def test_sudo_that_wants_a_password(host: Host, make_desk: MakeDesk) -> None:
    host.add_user("careful", sudo=True, password="only for this test")
    before = snapshot(host)
    done = make_desk([host], user="careful").extend()
    assert done.code == 7, done.err
    assert "password" in done.err
    assert done.outcome == "failed-unchanged"
    assert snapshot(host) == before


def test_no_room_for_the_ledger(host: Host, desk: Desk) -> None:
    before = tree(host, "/etc"), host.show(UNIT, "InvocationID")
    with host.disk_left(1):
        planned, done = desk.console("plan", EXTEND_CONTEXT), desk.extend()
    assert planned.code == 1, planned.err
    assert done.code == 1, done.err
    assert done.outcome == "failed-unchanged"
    assert (tree(host, "/etc"), host.show(UNIT, "InvocationID")) == before
    assert not host.exists(LEDGER)


def test_disk_that_fills_up_after_the_plan(host: Host, desk: Desk) -> None:
    """Without its entry in the ledger no change is made."""
    before = tree(host, "/etc/systemd"), host.show(UNIT, "InvocationID")
    with held(host, "cp", f"*{LEDGER}*") as point:
        going = desk.start("run", EXTEND_CONTEXT)
        assert point.reached()
        host.run("sh", "-c", "head -c 600M /dev/zero >/var/tmp/full || true")
        point.release()
        done = going.end()
    assert done.code == 1, done.err
    assert done.outcome == "failed-unchanged"
    assert not done.of("change.intended")
    assert "No space left" in done.err
    assert (tree(host, "/etc/systemd"), host.show(UNIT, "InvocationID")) == before


def test_unit_that_is_not_there_or_masked(host: Host, make_desk: MakeDesk) -> None:
    missing = make_desk([host], unit="nowhere.service").extend()
    assert missing.code == 1, missing.err
    assert "nowhere.service" in missing.err
    content = host.read_bytes(UNIT_FILE)
    host.run("rm", UNIT_FILE)
    host.run("systemctl", "mask", UNIT)
    before = snapshot(host)
    masked = make_desk([host]).extend()
    assert masked.code == 1, masked.err
    assert "masked" in masked.err
    assert masked.outcome == "failed-unchanged"
    assert snapshot(host) == before
    assert content


def test_key_that_the_engine_refuses_or_nobody_has(host: Host, make_desk: MakeDesk) -> None:
    install_engine(host, unit_text(flags={"--api-key": "the-right-key"}), api_key="the-right-key", load_s=QUICK_LOAD_S)
    before = snapshot(host)
    desk = make_desk([host], service_keys={"api_key_env": "K26_API_KEY"})
    wrong = desk.extend(environment={"K26_API_KEY": "a-wrong-key"})
    assert wrong.code == 1, wrong.err
    assert "401" in wrong.err
    assert wrong.outcome == "failed-unchanged"
    unset = desk.extend()
    assert unset.code == 2, unset.err
    assert "K26_API_KEY" in unset.err
    assert unset.folder is None
    assert snapshot(host) == before


def test_unit_edited_since_the_plan(host: Host, desk: Desk) -> None:
    plan = desk.folder / "plan.json"
    assert desk.console("plan", EXTEND_CONTEXT, "--out", str(plan)).code == 0
    host.write(UNIT_FILE, host.read(UNIT_FILE) + "# edited\n")
    host.run("systemctl", "daemon-reload")
    before = snapshot(host)
    done = desk.console("run", "--plan", str(plan), "--yes")
    assert done.code == 8, done.err
    assert UNIT_FILE in done.err
    assert snapshot(host) == before
    # A plan is used once, also when nothing came of it.
    again = desk.console("run", "--plan", str(plan), "--yes")
    assert again.code == 8, again.err
    assert snapshot(host) == before


def test_value_that_is_not_the_expected_one(host: Host, desk: Desk) -> None:
    install_engine(host, unit_text(flags={"--context-length": 65536}), load_s=QUICK_LOAD_S)
    before = snapshot(host)
    done = desk.extend()
    assert done.code == 1, done.err
    assert "65536" in done.err
    assert snapshot(host) == before
    assert serving(host) == 65536
