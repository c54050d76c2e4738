"""A real engine as the unit: llama-server on the CPU, a model of random weights, the one runbook, and the way back.

The program is not ours: CONSOLE_LLAMA_SERVER names one, in a folder with all it needs. Without it, or where it cannot
run on this CPU, this is skipped.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.hosts import remains
from tests.hosts.commands import CommandError
from tests.hosts.host import Host
from tests.real.conftest import MakeDesk
from tests.real.desk import EXTEND_CONTEXT, Desk
from tests.real.state_of import lock_is_free
from tests.real.tiny_model import write

pytestmark = [pytest.mark.real_host, pytest.mark.by_hand]  # it needs a server that was built by hand

UNIT, PORT = "llama-chat.service", 8080
URL = f"http://127.0.0.1:{PORT}"
UNIT_TEXT = f"""[Unit]
Description=llama.cpp
StartLimitIntervalSec=0

[Service]
ExecStart=/opt/llama/llama-server -m /srv/tiny.gguf \\
    -c 16384 -np 1 \\
    -t 1 --metrics --host 127.0.0.1 --port {PORT}
Restart=on-failure
RestartSec=1
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = Path(os.environ.get("CONSOLE_LLAMA_SERVER", ""))
    if not path.is_file():
        pytest.skip("CONSOLE_LLAMA_SERVER names no llama-server")
    model = write(tmp_path_factory.mktemp("model") / "tiny.gguf")
    # A binary made for another CPU ends with an illegal instruction when it loads its first model.
    process = subprocess.Popen(
        [path, "-m", model, "-c", "512", "-np", "1", "--port", "0"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    with process:
        assert process.stderr is not None
        said = next((line for line in process.stderr if b"listening on" in line), b"")
        process.kill()
    if not said:
        pytest.skip(f"{path} does not run here: status {process.returncode}")
    return path


@pytest.fixture
def desk(host: Host, program: Path, make_desk: MakeDesk, tmp_path: Path) -> Desk:
    host.copy(program.parent, "/opt/llama", "*")
    host.write("/srv/tiny.gguf", write(tmp_path / "tiny.gguf").read_bytes())
    host.write_unit(UNIT, UNIT_TEXT)
    host.run("systemctl", "restart", UNIT)
    assert remains.wait_until(lambda: window(host) == 16384, 30.0, every_s=0.2)
    desk = make_desk([host])
    text = desk.inventory.read_text()
    text = text.replace('engine = "sglang"', 'engine = "llamacpp"').replace("sglang-k26.service", UNIT)
    desk.inventory.write_text(text.replace("http://127.0.0.1:30000", URL))
    return desk


def window(host: Host) -> int | None:
    """The context one slot serves, as the engine says."""
    try:
        return int(host.get_json(f"{URL}/props")["default_generation_settings"]["n_ctx"])
    except (CommandError, KeyError, TypeError, ValueError):
        return None


def test_the_window_is_doubled_proven_and_put_back(host: Host, desk: Desk) -> None:
    file = f"/etc/systemd/system/{UNIT}"
    words = ("--yes", "--set", "to=32768", "--set", "expect=16384")

    done = desk.console("run", EXTEND_CONTEXT, *words, timeout_s=280)

    assert done.code == 0, done.err
    assert done.outcome == "verified"
    assert host.read_bytes(file).decode() == UNIT_TEXT.replace("-c 16384", "-c 32768")
    assert window(host) == 32768
    assert done.finding("prompt_tokens") > 16384
    assert desk.trailers()["Change"] == ["context_length 16384 -> 32768"]

    back = desk.console("rollback", done.run_id, "--yes", timeout_s=280)

    assert back.code == 0, back.err
    assert host.read_bytes(file).decode() == UNIT_TEXT
    assert window(host) == 16384
    assert lock_is_free(host)
