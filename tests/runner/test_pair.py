"""Prefill and decode apart on the embedded lab: two units of one host, behind a router."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from console.lab.bare import SIMULATOR, free_port
from console.lab.lab import Lab
from tests.runner.conftest import RUNBOOK, Desk, of_type

pytestmark = pytest.mark.by_hand

NAMES = ("prefill", "decode")


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    running = asyncio.run(Lab.start(tmp_path_factory.mktemp("lab") / "lab", ready=False, services=NAMES, load_s=10.0))
    rooms, port = free_port(), free_port()
    prefill, decode = (running.service(name) for name in NAMES)
    for service in (prefill, decode):
        words = f"--port {service.port} --disaggregation-mode {service.name} --disaggregation-bootstrap-port {rooms}"
        service.unit_file.write_text(service.unit_file.read_text().replace(f"--port {service.port}", words))
    declared = f'nodes = ["lab1/decode"]\nrouter = "http://127.0.0.1:{port}"'
    head = "[hosts.lab1.services.prefill]"
    running.hosts_toml.write_text(running.hosts_toml.read_text().replace(head, f"{head}\n{declared}"))
    assert running.ask("systemctl", "daemon-reload").status == 0
    command = [sys.executable, "-S", str(SIMULATOR), "router", "--pd-disaggregation", "--prefill", prefill.url]
    command += [str(rooms), "--decode", decode.url, "--port", str(port), "--cb-timeout-duration-secs", "1"]
    router = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    before = {name: running.show(running.service(name).unit, "InvocationID")["InvocationID"] for name in NAMES}
    for service in (prefill, decode):
        assert running.ask("systemctl", "restart", "--no-block", "--", service.unit).status == 0
    for name in NAMES:
        asyncio.run(running.wait_ready_after(before[name], name))
    yield running
    router.kill()
    router.wait()
    running.stop_now()


@pytest.fixture
def desk(lab: Lab, tmp_path: Path) -> Desk:
    state = tmp_path / "state"
    (state / "runtime").mkdir(parents=True, mode=0o700)
    return Desk(lab, state)


def texts(lab: Lab) -> list[str]:
    return [lab.service(name).unit_file.read_text() for name in NAMES]


def extend(desk: Desk, target: str) -> tuple[int, list[dict[str, Any]]]:
    done = desk.run("run", str(RUNBOOK), target, "--json", "--set", "mem_fraction=0.92")
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def test_a_start_that_fails_puts_both_back_and_the_router_serves_again(desk: Desk) -> None:
    before = texts(desk.lab)
    desk.lab.set_fault("oom", 32768)
    code, events = extend(desk, "lab1/prefill")
    finished = of_type(events, "target.finished")[0]
    assert (code, finished["outcome"]) == (4, "rolled-back"), finished
    assert texts(desk.lab) == before
    last = {(level.get("part", ""), level["setting"]): level["serving"] for level in of_type(events, "levels.read")}
    assert last["", "context_length"] == last["lab1/decode", "context_length"] == "32768"


def test_the_other_part_alone_is_refused(desk: Desk) -> None:
    done = desk.run("rollback", "lab1/decode", "--yes")
    assert done.returncode == 1
    assert "it is a part of lab1/prefill" in done.stderr
