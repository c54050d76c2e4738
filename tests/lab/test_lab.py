"""A whole lab: up, used, changed, gone."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

from console.lab.__main__ import main
from console.lab.furnish import environment
from console.lab.lab import Lab, LabError, alive, opened, stop_detached
from console.lab.sweep import processes


def everything(lab: Lab) -> list[int]:
    return [pid for pid in [lab.pid, lab.guard, *processes(lab.folder)] if alive(pid)]


def wait_gone(lab: Lab, pids: list[int]) -> None:
    end = time.monotonic() + 10
    while left := [pid for pid in {*pids, *processes(lab.folder)} if alive(pid)]:
        assert time.monotonic() < end, left
        time.sleep(0.02)


async def test_the_inventory_describes_a_target(lab: Lab) -> None:
    told = tomllib.loads(lab.hosts_toml.read_text(encoding="utf-8"))
    host = told["hosts"]["lab1"]
    assert (host["address"], host["port"], host["speed"]) == ("127.0.0.1", lab.ssh_port, 50.0)
    assert host["services"]["k26"]["unit"] == "sglang-k26.service"
    assert host["services"]["k26"]["url"] == lab.service().url
    for key in ("state_folder", "runtime_folder", "identity", "known_hosts"):
        assert Path(host[key]).is_relative_to(lab.folder)
    assert lab.known_hosts_line().startswith(f"[127.0.0.1]:{lab.ssh_port} ssh-ed25519 ")


async def test_an_edit_over_ssh_takes_effect_with_a_restart(lab: Lab) -> None:
    unit, path = lab.service().unit, lab.service().unit_file
    invocation = lab.show(unit, "InvocationID")["InvocationID"]
    async with lab.connect() as ssh:
        await ssh.run(f"sed -i 's/--context-length 32768/--context-length 65536/' {path}", check=True)
        assert (
            await ssh.run(f"systemctl show --property=NeedDaemonReload -- {unit}")
        ).stdout == "NeedDaemonReload=yes\n"
        await ssh.run(f"systemctl daemon-reload; systemctl restart --no-block -- {unit}", check=True)
        await lab.wait_ready_after(invocation)
        pid = lab.show(unit, "MainPID")["MainPID"]
        assert b"--context-length\x0065536\x00" in Path(f"/proc/{pid}/cmdline").read_bytes()
        lines = (await ssh.run(f"journalctl --output=cat --all _SYSTEMD_UNIT={unit} | grep -c 'ready to roll'")).stdout
        assert lines == "2\n"


async def test_several_services_with_ports_of_their_own(tmp_path: Path) -> None:
    async with await Lab.start(tmp_path / "lab", load_s=2.0, speed=50.0, services=("a", "b")) as lab:
        assert lab.service("a").port != lab.service("b").port
        assert lab.is_ready("a")
        assert lab.is_ready("b")
        assert set(tomllib.loads(lab.hosts_toml.read_text())["hosts"]["lab1"]["services"]) == {"a", "b"}


async def test_nothing_is_left_after_a_stop(tmp_path: Path) -> None:
    lab = await Lab.start(tmp_path / "lab", load_s=2.0, speed=50.0)
    try:
        async with lab.connect() as ssh:
            # One that left its session and ignores being asked to end.
            await ssh.run("setsid sh -c 'trap \"\" TERM HUP; while :; do sleep 1; done' >/dev/null 2>&1 </dev/null & :")
        pids = everything(lab)
        assert len(pids) >= 4
    finally:
        await lab.stop()
    assert [pid for pid in pids if alive(pid)] == []
    assert processes(lab.folder) == []


async def test_a_frozen_lab_can_be_stopped(tmp_path: Path) -> None:
    lab = await Lab.start(tmp_path / "lab", load_s=2.0, speed=50.0)
    pids = everything(lab)
    lab.freeze()
    await lab.stop()
    assert [pid for pid in pids if alive(pid)] == []


@pytest.mark.parametrize("victim", ["owner", "daemon"])
def test_nothing_is_left_when_somebody_is_killed(tmp_path: Path, victim: str) -> None:
    script = (
        "import asyncio, sys\nfrom pathlib import Path\nfrom console.lab.lab import Lab\n"
        "async def go():\n"
        "    lab = await Lab.start(Path(sys.argv[1]), load_s=2.0, speed=50.0)\n"
        "    print('up', flush=True)\n"
        "    await asyncio.sleep(60)\n"
        "asyncio.run(go())\n"
    )
    owner = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "lab")],
        stdout=subprocess.PIPE,
        env=environment(),
    )
    assert owner.stdout is not None
    try:
        assert owner.stdout.readline() == b"up\n"
        lab = opened(tmp_path / "lab")
        pids = everything(lab)
        assert len(pids) == 3  # daemon, its guard, the engine
        os.kill(owner.pid if victim == "owner" else lab.pid, signal.SIGKILL)
        wait_gone(lab, pids)
    finally:
        owner.kill()
        owner.wait()
        owner.stdout.close()


def test_a_detached_lab_outlives_its_starter(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "lab"
    code = (
        f"import sys; from console.lab.__main__ import main; sys.exit(main(['up', {str(folder)!r}, '--speed', '400']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    try:
        assert Path(done.stdout.strip()) == folder / "hosts.toml"
        lab = opened(folder)
        pids = everything(lab)
        assert lab.is_ready()
        assert main(["up", str(folder)]) == 1
        assert "runs in" in capsys.readouterr().err
    finally:
        assert main(["down", str(folder)]) == 0
    wait_gone(lab, pids)
    assert stop_detached(folder) is False
    with pytest.raises(LabError, match="no lab"):
        opened(folder)


async def test_a_folder_can_be_used_again(tmp_path: Path) -> None:
    for _ in range(2):
        async with await Lab.start(tmp_path / "lab", load_s=1.0, speed=100.0) as lab:
            (lab.layout.results).mkdir(exist_ok=True)
            assert lab.is_ready()


async def test_a_start_that_fails_says_why_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="unknown simulator option"):
        await Lab.start(tmp_path / "lab", options={"nonsense": 1}, timeout_s=1.5)
    assert processes(tmp_path / "lab") == []


async def test_the_folder_may_have_a_long_name(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 30) / "lab"
    async with await Lab.start(folder, load_s=1.0, speed=100.0) as lab:
        await asyncio.sleep(0)
        async with lab.connect() as ssh:
            shown = await ssh.run("systemctl show --property=ActiveState -- sglang-k26")
            assert shown.stdout == "ActiveState=active\n"
