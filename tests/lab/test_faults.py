"""What the lab can break."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from console.lab.bare import bare_engine
from console.lab.lab import Lab
from console.lab.simulator.faults import Fault, read_fault, write_fault


async def until(condition: Callable[[], bool], timeout_s: float = 10.0) -> None:
    async with asyncio.timeout(timeout_s):
        while not condition():  # noqa: ASYNC110 - another process's doing has no event
            await asyncio.sleep(0.02)


@pytest.fixture
def fault_file(tmp_path: Path) -> Path:
    return tmp_path / "fault"


def test_a_fault_is_a_file(fault_file: Path) -> None:
    assert read_fault(str(fault_file)) == Fault()
    write_fault(fault_file, "oom", above_context=32768)
    fault = read_fault(str(fault_file))
    assert fault.hits("oom", 200_000)
    assert not fault.hits("oom", 32_768)
    assert not fault.hits("hang", 200_000)
    write_fault(fault_file, None)
    assert read_fault(str(fault_file)) == Fault()
    fault_file.write_text("hang\n", encoding="utf-8")
    assert read_fault(str(fault_file)) == Fault("hang")
    with pytest.raises(ValueError, match="slow-load"):
        write_fault(fault_file, "slow")


def test_oom(tmp_path: Path, fault_file: Path) -> None:
    write_fault(fault_file, "oom")
    with bare_engine(tmp_path, ready=False, fault_file=str(fault_file)) as running:
        assert running.process.wait(10) == -signal.SIGKILL
        assert "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate" in running.text()


def test_pool_shrinks(tmp_path: Path, fault_file: Path) -> None:
    write_fault(fault_file, "pool-shrinks")
    words = ("--context-length", "200000", "--mem-fraction-static", "0.92")
    with bare_engine(tmp_path, *words, fault_file=str(fault_file)) as running:
        info = httpx.get(running.url + "/server_info").json()
        assert info["context_length"] == 200_000
        assert info["max_total_num_tokens"] == pytest.approx(0.6 * 203_386, abs=1)
        assert httpx.post(running.url + "/generate", json={"input_ids": [1] * 199_000}).status_code == 400


def test_crash_loop(tmp_path: Path, fault_file: Path) -> None:
    write_fault(fault_file, "crash-loop")
    with bare_engine(tmp_path, ready=False, fault_file=str(fault_file)) as running:
        assert running.process.wait(10) == -signal.SIGKILL
        assert "Scheduler hit an exception: Traceback" in running.text()
        assert "Load weight begin" not in running.text()


def test_hang_and_slow_load(tmp_path: Path, fault_file: Path) -> None:
    write_fault(fault_file, "hang")
    with bare_engine(tmp_path, ready=False, fault_file=str(fault_file)) as running:
        running.wait_for("39% Completed")
        size = running.log.stat().st_size
        time.sleep(0.3)  # six times what a load takes
        assert running.log.stat().st_size == size
        assert running.process.poll() is None
    write_fault(fault_file, "slow-load")
    began = time.monotonic()
    with bare_engine(tmp_path, fault_file=str(fault_file)) as running:
        assert time.monotonic() - began > 0.5
        assert httpx.get(running.url + "/health").status_code == 200


async def test_stale_port_the_old_process_answers_and_the_new_one_cannot_bind(lab: Lab) -> None:
    service = lab.service()
    old = lab.show(service.unit, "MainPID")["MainPID"]
    text = service.unit_file.read_text(encoding="utf-8")
    service.unit_file.write_text(text.replace("32768", "65536"), encoding="utf-8")
    lab.set_fault("stale-port")
    lab.ask("systemctl", "daemon-reload")
    lab.ask("systemctl", "restart", "--no-block", service.unit)
    async with httpx.AsyncClient(base_url=service.url, trust_env=False) as http:
        await until(lambda: any("error while attempting to bind" in line for line in lab.journal(service.unit)))
        card = (await http.get("/v1/models")).json()["data"][0]
        assert card["max_model_len"] == 32768  # the old one's
    assert lab.show(service.unit, "MainPID")["MainPID"] not in ("", old)
    # Once the fault is over the old process leaves and a restart takes the port.
    lab.set_fault(None)
    await lab.wait_ready(timeout_s=10)
    async with httpx.AsyncClient(base_url=service.url, trust_env=False) as http:
        assert (await http.get("/v1/models")).json()["data"][0]["max_model_len"] == 65536


async def test_a_fault_begins_with_the_next_start(tmp_path: Path) -> None:
    async with await Lab.start(tmp_path / "lab", load_s=2.0, speed=50.0, fault="oom") as running:
        assert running.is_ready()
        unit = running.service().unit
        running.ask("systemctl", "restart", "--no-block", unit)
        await until(lambda: running.show(unit, "NRestarts")["NRestarts"] != "0")
        assert any("OutOfMemoryError" in line for line in running.journal(unit))
