"""A service as operators have it: the engine simulator as a unit's program, its flags over several lines."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.hosts import remains
from tests.hosts.commands import CommandError
from tests.hosts.host import Host

SIMULATOR = Path(__file__).resolve().parents[2] / "console" / "lab" / "simulator"
FOLDER = "/opt/console-sim"
MODEL = "/models/kimi-k2.6"
UNIT = "sglang-k26.service"
PORT = 30000
URL = f"http://127.0.0.1:{PORT}"
OPTIONS = f"{FOLDER}/options.json"
FAULT = f"{FOLDER}/fault"


def install_simulator(host: Host, **options: float | int | str | bool) -> None:
    """The program, its model's configuration and its figures. Unless said otherwise it loads in 2 s of wall time."""
    host.copy(SIMULATOR, f"{FOLDER}/simulator")
    config = {"architectures": ["KimiK25ForConditionalGeneration"], "text_config": {"max_position_embeddings": 262144}}
    host.write(f"{MODEL}/config.json", json.dumps(config))
    set_simulator(host, **options)


def set_simulator(host: Host, **options: float | int | str | bool) -> None:
    """Other figures, from the next start on."""
    figures: dict[str, float | int | str | bool] = {"speed": 20.0, "load_s": 40.0, "fault_file": FAULT}
    host.write(OPTIONS, json.dumps(figures | options))


def set_fault(host: Host, name: str, *, above_context: int = 0) -> None:
    """What goes wrong from the next start on, for contexts longer than that; an empty name clears it."""
    host.write(FAULT, json.dumps({"name": name, "above_context": above_context}))


def unit_text(
    *,
    flags: Mapping[str, str | int | float] | None = None,
    switches: Sequence[str] = ("--trust-remote-code",),
    environment: Sequence[str] = (),
    service: Sequence[str] = (),
) -> str:
    """A unit file. `flags` are added to the usual ones or replace them; `service` are more lines of [Service]."""
    usual: dict[str, str | int | float] = {
        "--model-path": MODEL,
        "--context-length": 32768,
        "--mem-fraction-static": 0.92,
        "--tp-size": 8,
        "--port": PORT,
    }
    words = [*(f"{name} {value}" for name, value in (usual | dict(flags or {})).items()), *switches]
    command = " \\\n    ".join([f"/usr/bin/python3 -S {FOLDER}/simulator", *words])
    variables = [f"Environment={entry}" for entry in (f"SIM_OPTIONS_FILE={OPTIONS}", *environment)]
    lines = [
        "[Unit]",
        "Description=Kimi K2.6 on SGLang",
        "After=network.target",
        "StartLimitIntervalSec=0",
        "",
        "[Service]",
        "Type=simple",
        *variables,
        f"ExecStart={command}",
        "Restart=on-failure",
        "RestartSec=1",
        "TimeoutStopSec=10",
        *service,
        "",
        "[Install]",
        "WantedBy=multi-user.target",
    ]
    return "\n".join(lines) + "\n"


def install_engine(
    host: Host, content: str | None = None, *, unit: str = UNIT, api_key: str = "", **options: float | int | str | bool
) -> None:
    """Simulator and unit, started and serving."""
    install_simulator(host, **options)
    host.write_unit(unit, content or unit_text())
    start_and_wait(host, unit, api_key=api_key)


def start_and_wait(host: Host, unit: str = UNIT, *, patience_s: float = 30.0, api_key: str = "") -> None:
    """Until the engine answers. Raises RuntimeError with the journal when it does not."""
    host.run("systemctl", "restart", unit)
    if not remains.wait_until(lambda: serving(host, api_key=api_key) is not None, patience_s, every_s=0.1):
        raise RuntimeError(f"{unit} of {host.name} does not serve:\n" + "\n".join(host.journal(unit)[-30:]))


def serving(host: Host, *, api_key: str = "") -> int | None:
    """The context length the engine says it serves; None when it does not answer."""
    try:
        return int(host.get_json(f"{URL}/get_server_info", api_key=api_key)["context_length"])
    except (CommandError, KeyError, TypeError, ValueError):
        return None
