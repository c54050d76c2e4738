"""A hosts.toml for real hosts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.hosts.engine_unit import UNIT, URL
from tests.hosts.host import Host


@dataclass(frozen=True)
class Part:
    """One service of a prefill/decode pair."""

    host: Host
    service: str
    unit: str
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def name(self) -> str:
        return f"{self.host.name}/{self.service}"


def write_inventory(
    path: Path,
    hosts: Sequence[Host],
    *,
    user: str = "root",
    results: Path | None = None,
    service: str = "k26",
    unit: str = UNIT,
    url: str = URL,
    host_keys: Mapping[str, str | bool] | None = None,
    service_keys: Mapping[str, str] | None = None,
    one_engine: bool = False,
    parts: Sequence[Part] = (),
    router: str = "",
) -> Path:
    """`path`, written: every host with one service. More keys of a host or a service: `host_keys`, `service_keys`.

    `one_engine`: only the first has a service, whose other nodes are the rest. `parts`: these services and no others,
    the first of which names the rest, behind `router`.
    """
    first = hosts[0]
    tables: list[tuple[str, Mapping[str, str | int | bool | list[str]]]] = [
        ("", {"schema": 1}),
        ("results", {"path": str(results or path.parent / "findings")}),
        ("defaults", {"user": user, "identity": str(first.identity), "known_hosts": str(first.known_hosts)}),
    ]
    for host in hosts:
        tables.append((f"hosts.{host.name}", {"address": host.address, **(host_keys or {})}))
        keys = {"unit": unit, "engine": "sglang", "url": url, **(service_keys or {})}
        if not one_engine and not parts:
            tables.append((f"hosts.{host.name}.services.{service}", keys))
    if one_engine:
        nodes = [host.name for host in hosts[1:]]
        tables.append((f"hosts.{first.name}.services.{service}", {**keys, "nodes": nodes}))
    for part in parts:
        declared: dict[str, str | int | bool | list[str]] = {"unit": part.unit, "engine": "sglang", "url": part.url}
        if part == parts[0]:
            declared["nodes"] = [other.name for other in parts[1:]]
            declared |= {"router": router} if router else {}
        tables.append((f"hosts.{part.host.name}.services.{part.service}", declared))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(table(name, keys) for name, keys in tables))
    return path


def table(name: str, keys: Mapping[str, str | int | bool | list[str]]) -> str:
    lines = [f"[{name}]"] if name else []
    for key, value in keys.items():
        lines.append(f"{key} = {literal(value)}")
    return "\n".join(lines) + "\n"


def literal(value: str | int | bool | list[str]) -> str:
    if isinstance(value, list):
        return f"[{', '.join(literal(each) for each in value)}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
