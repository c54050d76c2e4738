"""What looks like an inference engine on a host: units and containers, with the port their process owns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from console.engines.recognise import engine_of, engine_of_image
from console.remote.session import Reader
from console.untrusted import decode, one_line

_ARGV = re.compile(r"argv\[\]=(.*?) ; ignore_errors=")
_WRAPPED = re.compile(r"(?:^|\s)(?:exec\s+)?((?:\S*/)?(?:python[\d.]*\s+-m\s+\S+|vllm|sglang|llama-server|ollama)\b.*)")


@dataclass(frozen=True)
class Found:
    """A unit or container that serves, or would. `port` is 0 where none of its processes listens."""

    name: str
    kind: str  # unit · container
    engine: str
    state: str = ""
    port: int = 0
    command: str = ""


async def discover(reader: Reader) -> tuple[Found, ...]:
    """Everything on the reader's host that looks like an engine. Raises ConnectError."""
    output = await reader.look("look_engines.sh", timeout_s=60.0)
    return tuple(found_in(output.sections))


def found_in(sections: Mapping[str, bytes]) -> Iterator[Found]:
    """Units first, then containers."""
    ports = _ports(sections)
    for block in decode(sections.get("units", b"")).split("\n\n"):
        said = dict(line.partition("=")[::2] for line in block.splitlines() if "=" in line)
        match = _ARGV.search(said.get("ExecStart", ""))
        if not said.get("Id") or match is None:
            continue
        command = one_line(match[1], 300)
        group = said.get("ControlGroup", "")
        port, running = next(((port, words) for port, its, words in ports if group and its.startswith(group)), (0, ""))
        engine = _engine(command) or _engine(running)
        if engine or port:
            yield Found(one_line(said["Id"], 200), "unit", engine, said.get("ActiveState", ""), port, command)
    for line in decode(sections.get("containers", b"")).splitlines():
        name, image, published = [*(one_line(part, 200) for part in line.split("\t")), "", ""][:3]
        outer = re.search(r":(\d+)->", published)
        if name:
            yield Found(name, "container", engine_of_image(image) or "", "active", int(outer[1]) if outer else 0, image)


def _engine(command: str) -> str:
    words = command.split()
    if (engine := engine_of(words)) is not None:
        return engine
    wrapped = _WRAPPED.search(command)
    if wrapped is not None and (engine := engine_of(wrapped[1].split())) is not None:
        return engine
    return next((engine for word in words if (engine := engine_of_image(word)) and "/" in word and ":" in word), "")


def _ports(sections: Mapping[str, bytes]) -> list[tuple[int, str, str]]:
    """Port, control group and command of each engine's process that listens."""
    rows = [line.split("\t", 3) for line in decode(sections.get("listening", b"")).splitlines()]
    return [(int(row[1]), row[2], one_line(row[3], 300)) for row in rows if len(row) == 4 and row[1].isdigit()]
