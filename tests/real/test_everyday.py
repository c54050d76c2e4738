"""Looking without changing, on two real hosts: logs as one, one command on both, and what is there at all."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from tests.hosts import remains
from tests.hosts.engine_unit import PORT, UNIT, set_simulator
from tests.hosts.host import Host
from tests.real.conftest import MakeDesk
from tests.real.desk import EXTEND_CONTEXT, Desk
from tests.real.ready import Ready
from tests.real.state_of import LEDGER, UNIT_FILE, snapshot

pytestmark = [pytest.mark.real_host, pytest.mark.by_hand]


@pytest.fixture
def other(ready: Ready) -> Iterator[Host]:
    taken = ready.take()
    yield taken
    ready.give_back(taken)


@pytest.fixture
def both(host: Host, other: Host, make_desk: MakeDesk) -> Desk:
    for each in (host, other):
        each.add_user("ops", sudo=True)
    return make_desk([host, other], user="ops")


def test_logs_of_two_hosts_are_one_by_time(host: Host, other: Host, both: Desk) -> None:
    names = [f"{each.name}/k26" for each in (host, other)]

    done = both.console("logs", *names, "--since", "1h", "--json")

    assert done.code == 0, done.err
    lines = [json.loads(line) for line in done.out.splitlines()]
    assert {line["target"] for line in lines} == set(names)
    assert [line["ts"] for line in lines] == sorted(line["ts"] for line in lines)
    for each in (host, other):
        theirs = [line["text"] for line in lines if line["target"] == f"{each.name}/k26"]
        assert sum("fired up and ready" in text for text in theirs) == 1
    shown = both.console("logs", *names, "--since", "1h", "--grep", "fired up|Started .*Kimi")
    assert len(shown.out.splitlines()) == 4
    assert all(re.fullmatch(rf"\d\d:\d\d:\d\dZ  ({names[0]}|{names[1]})  .*", line) for line in shown.out.splitlines())
    assert both.console("logs", names[0], "--since", "0s").out == ""
    assert both.console("logs", names[0], "--grep", "(").code == 2
    assert both.run_folders() == []


def test_a_long_log_is_told_to_its_end(host: Host, both: Desk) -> None:
    unit = "[Service]\nExecStart=/bin/sh -c 'seq -f \"line %%g of many\" 5000; exec sleep infinity'\n"
    host.write_unit(UNIT, unit)
    host.run("systemctl", "restart", UNIT)
    host.run("journalctl", "--sync")
    done = both.console("logs", f"{host.name}/k26", "--grep", "of many")
    assert done.code == 0, done.err
    assert [line.split()[-3] for line in done.out.splitlines()] == [str(number) for number in range(1, 5001)]


def test_a_log_that_is_not_in_the_journal_is_named_and_can_be_read(host: Host, both: Desk) -> None:
    name, log = f"{host.name}/k26", "/var/log/k26 out.log"
    command = "/bin/sh -c 'echo written apart; exec sleep infinity'"
    host.write_unit(UNIT, f"[Service]\nExecStart={command}\nStandardOutput=append:{log}\nStandardError=inherit\n")
    host.run("systemctl", "restart", UNIT)
    assert remains.wait_until(lambda: host.exists(log) and "written apart" in host.read(log), 10, every_s=0.05)

    done = both.console("logs", name)

    assert done.code == 0, done.err
    assert "written apart" not in done.out
    see = f"console exec {name} -- tail -n 200 '{log}'"
    assert done.err.strip() == f"{name} writes to {log}; its journal has only what systemd says of it. See {see}"
    assert "written apart" in both.console("exec", name, "--", f"tail -n 200 '{log}'").out


def test_followed_over_a_cut_and_ended_by_a_key(host: Host, other: Host, both: Desk) -> None:
    names = [f"{each.name}/k26" for each in (host, other)]
    going = both.start("logs", *names, "-f", "--grep", "Started .*Kimi|fired up")

    def told(target: str, times: int) -> bool:
        return going.out.read_text().count(target) >= times

    assert remains.wait_until(lambda: told(names[0], 2) and told(names[1], 2), 20, every_s=0.05)
    host.run("systemctl", "stop", "ssh")
    assert host.kill_sessions() >= 1
    host.run("systemctl", "restart", UNIT)
    assert remains.wait_until(lambda: "trying again" in going.err.read_text(), 30, every_s=0.05)
    host.run("systemctl", "start", "ssh")
    other.run("systemctl", "restart", UNIT)
    assert remains.wait_until(lambda: told(names[0], 4) and told(names[1], 4), 30, every_s=0.05), going.err.read_text()
    going.stop()
    done = going.end()
    assert done.code == 0, done.err
    assert f"{names[0]}: connected again" in done.err


def test_one_command_on_both_is_told_once_and_recorded(host: Host, other: Host, both: Desk) -> None:
    names = [f"{each.name}/k26" for each in (host, other)]
    before = [snapshot(each) for each in (host, other)]

    same = both.console("exec", *names, "--", "uname", "-s")

    assert same.code == 0, same.err
    assert same.out.splitlines() == [f"=== {', '.join(names)}", "Linux"]
    assert len(both.commits()) == 2
    differ = both.console("exec", *names, "--", "hostname")
    assert differ.out.splitlines() == [f"=== {names[0]}", host.name, f"=== {names[1]}", other.name]
    one = both.console("exec", *names, "--", f"hostname; test $(hostname) = {host.name}")
    assert one.code == 1  # the other ended so, and both were asked
    assert f"=== {names[0]}" in one.out
    assert f"=== {names[1]}" in one.out
    failing = both.console("exec", names[0], "--", "sh -c 'echo odd; exit 3'")
    assert failing.code == 1, failing.out
    assert "odd" in failing.out
    assert both.console("exec", names[0], "uptime").code == 2
    assert both.console("exec", names[0], "--").code == 2
    as_root = both.console("exec", "--sudo", names[0], "--", "id", "-u")
    assert as_root.out.splitlines()[-1] == "0"
    assert [snapshot(each) for each in (host, other)] == before
    assert not host.exists(LEDGER)


def test_a_command_on_a_protected_host_wants_a_reason(host: Host, make_desk: MakeDesk) -> None:
    desk = make_desk([host], host_keys={"protected": True})
    refused = desk.console("exec", f"{host.name}/k26", "--", "uptime")
    assert refused.code == 2
    assert "needs a reason" in refused.said
    assert desk.console("exec", "--reason", "a look", f"{host.name}/k26", "--", "uptime").code == 0


def test_a_command_while_a_run_is_at_it_and_where_the_unit_is_broken(host: Host, desk: Desk) -> None:
    set_simulator(host)
    going = desk.start("run", EXTEND_CONTEXT)
    going.wait_for_phase("weights")
    meanwhile = desk.console("exec", f"{host.name}/k26", "--", "uptime")
    assert meanwhile.code == 0, meanwhile.err
    assert going.end().code == 0
    host.write(UNIT_FILE, "[Service]\nType=simple\n")
    host.run("systemctl", "daemon-reload")
    asked = desk.console("exec", f"{host.name}/k26", "--", f"systemctl cat {UNIT}")
    assert asked.code == 0, asked.err
    assert "Type=simple" in asked.out


def test_what_looks_like_an_engine_is_found_running_or_not(host: Host, both: Desk) -> None:
    host.write_unit(
        "vllm-small.service", "[Service]\nExecStart=/opt/venv/bin/vllm serve small --port 8001\n", enable=False
    )
    host.write_unit("nothing.service", "[Service]\nExecStart=/bin/sleep 1\n", enable=False)
    server = "[Service]\nExecStart=/opt/sglang/bin/python -m sglang.launch_server --model-path /m --port 30001\n"
    host.write("/etc/systemd/system/sglang-more@.service", server)
    before = snapshot(host)

    done = both.console("hosts", "discover", host.name, "--json")

    assert done.code == 0, done.err
    found = {line["name"]: line for line in map(json.loads, done.out.splitlines())}
    assert set(found) == {"vllm-small.service"} | ({UNIT} & set(found))
    assert found["vllm-small.service"]["engine"] == "vllm"
    assert found["vllm-small.service"]["state"] == "inactive"
    assert found[UNIT]["port"] == PORT
    assert found[UNIT]["known"]
    shown = both.console("hosts", "discover", host.name)
    assert "console hosts add" in shown.said
    assert "--unit vllm-small.service --engine vllm" in shown.said
    assert snapshot(host) == before
