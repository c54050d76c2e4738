"""What a lab looks like, and where its things lie."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Shape:
    """How a lab is to look. `speed` divides every sleep of the engine; `options` are further ones of the simulator.

    `arguments` are added to ExecStart; `unit_lines` to [Service]. `engine` is the one whose manner the services have.
    """

    name: str = "lab1"
    speed: float = 20.0
    services: Sequence[str] = ("k26",)
    engine: str = "sglang"  # or vllm, llamacpp
    context_length: int = 32768
    mem_fraction: str = "0.85"
    load_s: float = 40.0
    fault: str | None = None
    above_context: int = 0
    api_key: str | None = None
    api_key_env: str | None = None
    arguments: Sequence[str] = ()
    unit_lines: Sequence[str] = ()
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class LabService:
    """One service of the lab; `url` is as seen from the host."""

    name: str
    unit: str
    unit_file: Path
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@dataclass(frozen=True)
class Layout:
    """Where things are."""

    folder: Path

    @property
    def units(self) -> Path:
        return self.folder / "units"

    @property
    def state(self) -> Path:
        return self.folder / "state"

    @property
    def model(self) -> Path:
        return self.folder / "model"

    @property
    def run(self) -> Path:
        return self.folder / "run"

    @property
    def hosts_toml(self) -> Path:
        return self.folder / "hosts.toml"

    @property
    def known_hosts(self) -> Path:
        return self.folder / "known_hosts"

    @property
    def identity(self) -> Path:
        return self.folder / "id_ed25519"

    @property
    def fault_file(self) -> Path:
        return self.state / "fault"

    @property
    def results(self) -> Path:
        return self.folder / "results"

    @property
    def ledger(self) -> Path:
        return self.run / "ledger"

    @property
    def locks(self) -> Path:
        return self.run / "locks"


def read_services(folder: Path) -> list[LabService]:
    layout = Layout(folder)
    found = json.loads((layout.state / "services.json").read_text(encoding="utf-8"))
    return [LabService(name, unit, layout.units / unit, port) for name, unit, port in found]
