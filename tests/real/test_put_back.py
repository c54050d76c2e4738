"""A setting that cannot be served is put back, and the old state is proven; by the run, by us, or by hand."""

from __future__ import annotations

import pytest

from tests.hosts.engine_unit import UNIT, install_engine, serving, unit_text
from tests.hosts.host import Host
from tests.real.conftest import MakeDesk
from tests.real.desk import Desk
from tests.real.ready import QUICK_LOAD_S
from tests.real.state_of import LEDGER, UNIT_FILE, comes_to_serve, everywhere, lock_is_free, starts

pytestmark = pytest.mark.real_host


def test_start_that_fails_is_put_back_with_its_cause(host: Host, desk: Desk) -> None:
    before = host.read_bytes(UNIT_FILE)

    done = desk.extend_unchecked("--set", "to=300000", timeout_s=60)

    assert done.code == 4, done.err
    assert done.outcome == "rolled-back"
    assert host.read_bytes(UNIT_FILE) == before
    assert everywhere(host) == ("32768", "32768", "32768", "32768")
    assert host.show(UNIT, "NeedDaemonReload") == "no"
    cause = [line["text"] for line in done.record["log"] if line["kind"] == "failure"]
    assert any("ValueError" in line and "300000" in line for line in cause), cause
    assert "300000" in done.record["message"]
    assert desk.trailers()["Outcome"] == ["rolled-back"]
    assert lock_is_free(host)
    assert desk.open_runs() == []


def test_pool_too_small_is_put_back_with_the_sentence(host: Host, desk: Desk) -> None:
    install_engine(host, unit_text(flags={"--mem-fraction-static": 0.85}), load_s=QUICK_LOAD_S)
    first = starts(host)

    refused = desk.extend()

    assert refused.code == 1, refused.err
    assert "starts but cannot serve: the pool will hold 101,134 tokens" in refused.record["message"]
    assert starts(host) == first

    done = desk.extend_unchecked()

    assert done.code == 4, done.err
    assert everywhere(host) == ("32768", "32768", "32768", "32768")
    said = done.record["message"]
    assert "context_length 200000 is accepted but cannot be served: the KV pool holds 101134 tokens" in said
    assert starts(host) == first + 2


def test_window_that_cannot_be_served_in_one_request_is_accepted_when_said(host: Host, desk: Desk) -> None:
    install_engine(host, unit_text(flags={"--mem-fraction-static": 0.85}), load_s=QUICK_LOAD_S)

    done = desk.extend("--set", "require=start")

    assert done.code == 0, done.err
    assert serving(host) == 200000
    assert done.finding("prompt_tokens") > 32768
    assert "the largest request served is" in done.step("service.verify")["message"]


def test_rollback_from_another_laptop_needs_the_host_alone(host: Host, make_desk: MakeDesk) -> None:
    before = host.read_bytes(UNIT_FILE)
    first = make_desk([host]).extend()
    assert first.code == 0, first.err
    other = make_desk([host])

    back = other.console("rollback", host.name, "--yes", "--reason", "night shift")

    assert back.code == 0, back.err
    assert back.outcome == "verified"
    assert back.record["parent"] == first.run_id
    assert host.read_bytes(UNIT_FILE) == before
    assert everywhere(host) == ("32768", "32768", "32768", "32768")
    trailers = other.trailers()
    assert trailers["Change"] == ["context_length 200000 -> 32768"]
    assert trailers["Reason"] == ["night shift"]

    # What is undone is not undone once more.
    again = other.console("rollback", host.name, "--yes")
    assert again.code == 1, again.err
    assert everywhere(host) == ("32768", "32768", "32768", "32768")


def test_undo_by_hand_from_the_ledger(host: Host, desk: Desk) -> None:
    before = host.read_bytes(UNIT_FILE)
    first = desk.extend()
    assert first.code == 0, first.err
    entry = f"{LEDGER}/{UNIT}/{first.run_id}"
    assert host.out("sh", "-c", f"stat --format=%a {LEDGER} {LEDGER}/{UNIT} {entry}").split() == ["700"] * 3
    count = starts(host)

    said = host.out("sh", f"{entry}/undo.sh")

    assert f"put back: {UNIT_FILE}" in said
    assert comes_to_serve(host, 32768)
    assert host.read_bytes(UNIT_FILE) == before
    assert starts(host) == count + 1
    # A second time there is nothing to put back; somebody's later edit is left alone.
    host.write(UNIT_FILE, before.replace(b"[Unit]", b"# edited\n[Unit]"))
    refused = host.run("sh", f"{entry}/undo.sh", check=False)
    assert refused.returncode == 1
    assert b"was edited since" in refused.stderr
    assert host.read(UNIT_FILE).startswith("# edited")
    assert starts(host) == count + 1
