"""A real engine as the unit: llama.cpp's server on the CPU, a model of random weights, the runbook and the way back.

The program is not ours: the wheel of `make engine`, or what CONSOLE_LLAMA_SERVER names, in a folder with all it needs.
Without either, or where it cannot run on this CPU, this is skipped.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bench import llama_server
from tests.hosts import remains
from tests.hosts.commands import CommandError
from tests.hosts.host import Host
from tests.real.conftest import MakeDesk
from tests.real.desk import EXTEND_CONTEXT, Desk
from tests.real.state_of import lock_is_free
from tests.real.tiny_model import TRAINED_CONTEXT, write
from tests.runbooks import without_step

pytestmark = [pytest.mark.real_host, pytest.mark.by_hand]  # it needs a server that is not in the requirements

UNIT, PORT = "llama-chat.service", 8080
FILE = f"/etc/systemd/system/{UNIT}"
URL = f"http://127.0.0.1:{PORT}"
CODES = "/run/codes"
WORDS = ("--yes", "--set", "to=32768", "--set", "expect=16384")
# What a server of C++ needs of the system, and a small host does not have.
LIBRARIES = ("libgomp.so.1", "libstdc++.so.6", "libgcc_s.so.1")


ServeWith = Callable[..., Desk]


def unit_text(command: str, slots: int = 1, service: str = "") -> str:
    return f"""[Unit]
Description=llama.cpp
StartLimitIntervalSec=0

[Service]
Environment=LD_LIBRARY_PATH=/opt/llama/lib PYTHONPATH=/opt/llama
ExecStart={command} -m /srv/tiny.gguf \\
    -c 16384 -np {slots} \\
    -t 1 --metrics --host 127.0.0.1 --port {PORT}
Restart=on-failure
RestartSec=1
{service}"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder for /opt/llama, and the command that starts the server there."""
    named, wheel = Path(os.environ.get("CONSOLE_LLAMA_SERVER", "")), importlib.util.find_spec("xllamacpp")
    folder = tmp_path_factory.mktemp("llama")
    if named.is_file():
        shutil.copytree(named.parent, folder, dirs_exist_ok=True)
        here, command = [str(named)], "/opt/llama/llama-server"
    elif wheel is not None and wheel.origin is not None:
        shutil.copytree(Path(wheel.origin).parent, folder / "xllamacpp")
        shutil.copy(llama_server.__file__, folder / "llama-server")
        here, command = [sys.executable, llama_server.__file__], "/usr/bin/python3 /opt/llama/llama-server"
    else:
        pytest.skip("no llama.cpp server: make engine")
    (folder / "lib").mkdir(exist_ok=True)
    for name in LIBRARIES:
        shutil.copy(f"/lib/x86_64-linux-gnu/{name}", folder / "lib")
    model = write(tmp_path_factory.mktemp("model") / "tiny.gguf")
    # A binary made for another CPU ends with an illegal instruction when it loads its first model.
    process = subprocess.Popen(
        [*here, "-m", model, "-c", "512", "-np", "1", "--port", "0"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    with process:
        assert process.stderr is not None
        said = next((line for line in process.stderr if b"listening" in line), b"")
        process.kill()
    if not said:
        pytest.skip(f"{here} does not run here: status {process.returncode}")
    return folder, command


@pytest.fixture
def serve(host: Host, program: tuple[Path, str], make_desk: MakeDesk, tmp_path: Path) -> ServeWith:
    folder, command = program
    host.copy(folder, "/opt/llama", "*")
    host.write("/srv/tiny.gguf", write(tmp_path / "tiny.gguf").read_bytes())

    def serving(slots: int = 1, service: str = "") -> Desk:
        host.write_unit(UNIT, unit_text(command, slots, service))
        host.run("systemctl", "restart", UNIT)
        assert remains.wait_until(lambda: window(host) == 16384 // slots, 30.0, every_s=0.2), host.journal(UNIT)[-20:]
        desk = make_desk([host])
        text = desk.inventory.read_text()
        text = text.replace('engine = "sglang"', 'engine = "llamacpp"').replace("sglang-k26.service", UNIT)
        desk.inventory.write_text(text.replace("http://127.0.0.1:30000", URL))
        return desk

    return serving


def window(host: Host) -> int | None:
    """The context one slot serves, as the engine says."""
    try:
        return int(host.get_json(f"{URL}/props")["default_generation_settings"]["n_ctx"])
    except (CommandError, KeyError, TypeError, ValueError):
        return None


def listen(host: Host) -> None:
    """Every answer that the server's /health changes to, from now on."""
    ask = f'code=$(curl -s -o /dev/null -m 1 -w "%{{http_code}}" {URL}/health)'
    tell = f'[ "$code" = "$last" ] || echo "$code" >>{CODES}; last=$code'
    host.run("systemd-run", "--quiet", "--unit=codes", "sh", "-c", f"while :; do {ask}; {tell}; sleep 0.02; done")


def heard(host: Host) -> list[str]:
    host.run("systemctl", "stop", "codes")
    return host.read(CODES).split()


def test_the_window_is_doubled_proven_measured_and_put_back(host: Host, serve: ServeWith) -> None:
    desk = serve()
    before = host.read(FILE)
    listen(host)
    began = time.monotonic()
    measure = (
        "--set",
        "measure=true",
        "--set",
        "samples=5",
        "--set",
        "sweep_contexts=64,512,2048",
        "--set",
        "budget=60s",
    )

    done = desk.console("run", EXTEND_CONTEXT, *WORDS, *measure, timeout_s=280)

    took_s = time.monotonic() - began
    codes = heard(host)
    assert done.code == 0, done.err
    assert done.outcome == "verified"
    assert took_s < 180
    # It answers 503 while it loads: refused, loading, ready, one after the other.
    assert codes[-3:] == ["000", "503", "200"]
    assert host.read(FILE) == before.replace("-c 16384", "-c 32768")
    assert window(host) == 32768
    assert done.finding("prompt_tokens") > 16384
    assert [event["value"] > 0 for event in done.of("finding.made") if event["name"] == "decode_rate"], done.err
    assert desk.trailers()["Change"] == ["context_length 16384 -> 32768"]
    assert any(found.startswith("decode_rate ") for found in desk.trailers()["Finding"])

    back = desk.console("rollback", done.run_id, "--yes", timeout_s=280)

    assert back.code == 0, back.err
    assert host.read(FILE) == before
    assert window(host) == 16384
    assert lock_is_free(host)


def test_slots_share_the_window_and_each_step_says_what_one_of_them_gets(host: Host, serve: ServeWith) -> None:
    desk = serve(slots=4)

    refused = desk.console("run", EXTEND_CONTEXT, *WORDS, timeout_s=280)

    assert refused.code == 1, refused.err
    assert "4 slots share the window, a request gets 8,192 of it" in refused.said
    assert window(host) == 4096

    done = desk.console("run", EXTEND_CONTEXT, *WORDS, "--set", "require=start", timeout_s=280)

    assert done.code == 0, done.err
    assert window(host) == 8192
    assert 4096 < done.finding("prompt_tokens") < 8192
    assert "shared by 4 slots: the largest request served is 8190" in done.step("service.verify")["message"]
    assert [level["serving"] for level in done.of("levels.read")] == ["4096", "8192"]
    said = " ".join(desk.git("log", "-1", "--format=%B").split())
    assert "context_length 32768, shared by its slots: a request gets 8192" in said


def test_what_the_model_or_the_memory_cannot_hold_is_put_back(host: Host, serve: ServeWith) -> None:
    desk = serve(service="MemoryMax=500M\nMemorySwapMax=0\n")
    before = host.read(FILE)

    longer = desk.console("run", EXTEND_CONTEXT, "--yes", "--set", f"to={2 * TRAINED_CONTEXT}", "--set", "expect=16384")

    assert longer.code == 1, longer.err
    assert f"{TRAINED_CONTEXT:,}" in longer.said
    assert host.read(FILE) == before

    book = desk.runbook(without_step("capacity.check"))
    done = desk.console("run", book, "--yes", "--set", "to=8000000", "--set", "expect=16384", timeout_s=280)

    assert done.code == 4, done.err
    assert host.read(FILE) == before
    assert window(host) == 16384
    assert lock_is_free(host)
