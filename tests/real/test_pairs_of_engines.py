"""Prefill on one host and decode on another, or both on one, behind a router: changed together, and proven through it.

Neither answers a request that did not come through the router, which is never restarted.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator

import pytest

from tests.hosts import remains
from tests.hosts.commands import CommandError
from tests.hosts.engine_unit import (
    FOLDER,
    PORT,
    UNIT,
    install_simulator,
    set_fault,
    set_simulator,
    unit_text,
)
from tests.hosts.host import Host
from tests.hosts.inventory import Part
from tests.real.conftest import MakeDesk
from tests.real.desk import EXTEND_CONTEXT, Desk
from tests.real.ready import QUICK_LOAD_S, Ready
from tests.real.state_of import LEDGER, flag

pytestmark = pytest.mark.real_host

ROUTER_UNIT = "sglang-router.service"
ROUTER_PORT = 30100
ROUTER = f"http://127.0.0.1:{ROUTER_PORT}"
BOOTSTRAP = 8998


def text_of(mode: str, port: int) -> str:
    flags: dict[str, str | int | float] = {
        "--port": port,
        "--host": "0.0.0.0",
        "--tp-size": 4,
        "--disaggregation-mode": mode,
    }
    if mode == "prefill":
        flags["--disaggregation-bootstrap-port"] = BOOTSTRAP
    return unit_text(flags=flags)


def router_text(prefill: Part, decode: Part) -> str:
    words = (
        f"--pd-disaggregation --prefill http://{prefill.host.address}:{prefill.port} {BOOTSTRAP} "
        f"--decode http://{decode.host.address}:{decode.port} --host 0.0.0.0 --port {ROUTER_PORT} "
        "--cb-timeout-duration-secs 3"
    )
    return f"[Service]\nExecStart=/usr/bin/python3 -S {FOLDER}/simulator router {words}\n"


def install(parts: list[Part]) -> None:
    """Both parts and the router, serving."""
    prefill, decode = parts
    for host in {part.host.name: part.host for part in parts}.values():
        host.run("systemctl", "stop", UNIT)
        install_simulator(host, load_s=QUICK_LOAD_S)
    for part, mode in ((prefill, "prefill"), (decode, "decode")):
        part.host.write_unit(part.unit, text_of(mode, part.port))
        part.host.run("systemctl", "restart", part.unit)
    prefill.host.write_unit(ROUTER_UNIT, router_text(prefill, decode), enable=False)
    prefill.host.run("systemctl", "restart", ROUTER_UNIT)
    assert remains.wait_until(lambda: answers(parts), 30.0, every_s=0.2)


def answers(parts: list[Part]) -> bool:
    """Whether a client of the router gets its tokens."""
    body = '{"text": "one two three", "sampling_params": {"max_new_tokens": 4}}'
    asked = parts[0].host.run(
        "curl", "-sS", "--fail", "--max-time", "20", "-d", body, f"{ROUTER}/generate", check=False
    )
    return b'"completion_tokens":4' in asked.stdout


def served(part: Part) -> int | None:
    try:
        return int(part.host.get_json(f"{part.url}/get_server_info")["context_length"])
    except (CommandError, KeyError, TypeError, ValueError):
        return None


def windows(parts: list[Part]) -> list[tuple[str, str, str, str]]:
    """Of each part: on disk, as loaded, in its process, and as served."""
    return [
        (
            flag(file_of(part).replace("\\\n", " ").split()),
            flag(part.host.show(part.unit, "ExecStart").split()),
            flag(part.host.main_argv(part.unit)),
            str(served(part)),
        )
        for part in parts
    ]


def file_of(part: Part) -> str:
    return part.host.read(f"/etc/systemd/system/{part.unit}")


def free(part: Part) -> bool:
    lock = f"/run/console/{part.unit}.lock"
    return (
        not part.host.exists(lock) or part.host.run("flock", "--wait", "2", lock, "true", check=False).returncode == 0
    )


def two_hosts(hosts: list[Host]) -> list[Part]:
    return [Part(hosts[0], "prefill", UNIT, PORT), Part(hosts[1], "decode", "sglang-decode.service", PORT + 1)]


def one_host(hosts: list[Host]) -> list[Part]:
    return [Part(hosts[0], "prefill", UNIT, PORT), Part(hosts[0], "decode", "sglang-decode.service", PORT + 1)]


Laid = Callable[[list[Host]], list[Part]]


@pytest.fixture
def laid() -> Laid:
    return two_hosts


@pytest.fixture
def parts(ready: Ready, laid: Laid) -> Iterator[list[Part]]:
    hosts = [ready.take(), ready.take()]
    found = laid(hosts)
    install(found)
    yield found
    for host in hosts:
        ready.give_back(host)


@pytest.fixture
def desk(parts: list[Part], make_desk: MakeDesk) -> Desk:
    hosts = {part.host.name: part.host for part in parts}
    return make_desk(list(hosts.values()), parts=parts, router=ROUTER)


def test_a_pair_is_changed_together_and_put_back_from_elsewhere(
    parts: list[Part], desk: Desk, make_desk: MakeDesk
) -> None:
    before = [file_of(part) for part in parts]
    router = parts[0].host.show(ROUTER_UNIT, "InvocationID")
    name = parts[0].name

    done = desk.extend(name)

    assert done.code == 0, done.err
    assert done.outcome == "verified"
    assert windows(parts) == [("200000",) * 4] * 2
    assert [(level["part"], level["serving"]) for level in done.record["levels"]] == [
        ("", "200000"),
        (parts[1].name, "200000"),
    ]
    assert answers(parts)
    assert parts[0].host.show(ROUTER_UNIT, "InvocationID") == router
    ended = [int(part.host.show(part.unit, "InactiveEnterTimestampMonotonic")) for part in parts]
    begun = [int(part.host.show(part.unit, "InactiveExitTimestampMonotonic")) for part in parts]
    assert ended[0] <= ended[1] < min(begun)
    assert all(part.host.exists(f"{LEDGER}/{part.unit}/{done.run_id}/change.json") for part in parts)
    assert len(desk.commits()) == 1

    hosts = {part.host.name: part.host for part in parts}
    other = make_desk(list(hosts.values()), parts=parts, router=ROUTER)
    refused = other.console("rollback", parts[1].name, "--yes")
    back = other.console("rollback", name, "--yes")

    assert refused.code == 1, refused.err
    assert back.code == 0, back.err
    assert [file_of(part) for part in parts] == before
    assert windows(parts) == [("32768",) * 4] * 2
    assert answers(parts)
    assert all(free(part) for part in parts)


@pytest.mark.by_hand
@pytest.mark.parametrize("laid", [two_hosts, one_host])
@pytest.mark.parametrize("sick", [0, 1])
def test_a_part_that_cannot_start_takes_both_back(parts: list[Part], desk: Desk, laid: Laid, sick: int) -> None:
    """Prefill and decode on one host share the figures of the simulator: there both fail, and say so."""
    set_fault(parts[sick].host, "oom", above_context=150000)
    before = [file_of(part) for part in parts]

    done = desk.extend(parts[0].name, timeout_s=90)

    assert done.code == 4, done.err
    assert done.outcome == "rolled-back"
    if laid is two_hosts and sick:
        assert parts[1].name in done.record["message"]
    assert [file_of(part) for part in parts] == before
    assert windows(parts) == [("32768",) * 4] * 2
    assert answers(parts)
    assert all(free(part) for part in parts)


@pytest.mark.by_hand
@pytest.mark.parametrize("laid", [two_hosts, one_host])
@pytest.mark.parametrize(("at", "word", "window"), [("restart", "rollback", "32768"), ("restart", "resume", "200000")])
def test_a_killed_run_is_finished_on_both(
    parts: list[Part], desk: Desk, laid: Laid, at: str, word: str, window: str
) -> None:
    before = [file_of(part) for part in parts]
    going = desk.start("run", EXTEND_CONTEXT, parts[0].name)
    going.wait_for(lambda event: event["type"] == "change.intended" and event["change"]["kind"] == at)
    going.stop(signal.SIGKILL)
    killed = going.end()
    closed = desk.console("recover")
    assert closed.code in (0, 3, 9), closed.err

    again = desk.console(word, killed.run_id, "--yes")

    assert again.code == 0, again.err
    assert [file_of(part) for part in parts] == [text.replace("32768", window) for text in before]
    assert windows(parts) == [(window,) * 4] * 2
    assert answers(parts)
    assert desk.open_runs() == []


@pytest.mark.by_hand
@pytest.mark.parametrize("laid", [one_host])
def test_both_on_one_host_with_two_units(parts: list[Part], desk: Desk, laid: Laid) -> None:
    done = desk.extend(parts[0].name)

    assert done.code == 0, done.err
    assert windows(parts) == [("200000",) * 4] * 2
    assert answers(parts)
    assert len({part.host.show(part.unit, "InvocationID") for part in parts}) == 2
    assert all(parts[0].host.exists(f"{LEDGER}/{part.unit}/{done.run_id}/change.json") for part in parts)
    assert all(free(part) for part in parts)


@pytest.mark.by_hand
def test_a_router_that_is_gone_and_a_part_alone_are_refused(parts: list[Part], desk: Desk) -> None:
    before = [file_of(part) for part in parts]
    host = parts[0].host
    host.run("systemctl", "stop", ROUTER_UNIT)
    refused = desk.console("plan", EXTEND_CONTEXT, parts[0].name)
    host.run("systemctl", "start", ROUTER_UNIT)
    alone = desk.console("plan", EXTEND_CONTEXT, parts[1].name)
    planned = desk.console("plan", EXTEND_CONTEXT, parts[0].name)

    assert alone.code == 1, alone.err
    assert f"it is a part of {parts[0].name}" in alone.said
    assert planned.code == 0, planned.err
    assert f"on {parts[1].name}:" in planned.out
    assert refused.code == 1, refused.err
    assert f"its router {ROUTER} does not answer" in refused.said
    assert [file_of(part) for part in parts] == before


@pytest.mark.by_hand
def test_a_stop_in_the_wait_puts_both_back(parts: list[Part], desk: Desk) -> None:
    set_simulator(parts[1].host, load_s=200.0)
    before = [file_of(part) for part in parts]
    going = desk.start("run", EXTEND_CONTEXT, parts[0].name, "--on-abort", "rollback")
    going.wait_for_phase("weights", "starting")
    set_simulator(parts[1].host, load_s=QUICK_LOAD_S)
    going.stop(signal.SIGINT)

    done = going.end()

    assert done.code == 4, done.err
    assert [file_of(part) for part in parts] == before
    assert windows(parts) == [("32768",) * 4] * 2
    assert answers(parts)
    assert all(free(part) for part in parts)


@pytest.mark.by_hand
def test_a_part_whose_connection_dies_under_the_restart_is_found_again(parts: list[Part], desk: Desk) -> None:
    going = desk.start("run", EXTEND_CONTEXT, parts[0].name)
    going.wait_for(lambda event: event["type"] == "change.intended" and event["change"]["kind"] == "restart")
    parts[1].host.run("pkill", "-KILL", "-f", "sshd: root")

    done = going.end()

    assert done.code == 0, done.err
    assert windows(parts) == [("200000",) * 4] * 2
    assert answers(parts)


@pytest.mark.by_hand
def test_it_is_measured_through_a_router_on_another_host(parts: list[Part], make_desk: MakeDesk) -> None:
    """Decode is the service by name here: its log and its counters tell of decoding."""
    prefill, decode = parts
    router = f"http://{prefill.host.address}:{ROUTER_PORT}"
    desk = make_desk([decode.host, prefill.host], parts=[decode, prefill], router=router)

    done = desk.console("measure", "decode", decode.name, timeout_s=200)
    changed = desk.extend(decode.name)

    assert done.code == 0, done.err
    assert done.finding("decode_rate") > 0
    assert changed.code == 0, changed.err
    assert windows(parts) == [("200000",) * 4] * 2
