"""A simulator as a bare process, without host, unit or SSH."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SIMULATOR = Path(__file__).parent / "simulator"


@dataclass(frozen=True)
class BareEngine:
    """The process, and the file its stderr goes to."""

    process: subprocess.Popen[bytes]
    port: int
    log: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def text(self) -> str:
        """The log so far, carriage returns kept."""
        return self.log.read_bytes().decode()

    def wait_for(self, needle: str, timeout_s: float = 10.0) -> str:
        """The log once it contains `needle`. Raises TimeoutError with its end."""
        end = time.monotonic() + timeout_s
        while needle not in self.text():
            if time.monotonic() > end:
                raise TimeoutError(f"no {needle!r} in {timeout_s:.0f} s: {self.text()[-2000:]}")
            time.sleep(0.01)
        return self.text()


@contextmanager
def bare_engine(
    folder: Path,
    *words: str,
    program: Sequence[str] = ("-S", str(SIMULATOR)),
    ready: bool = True,
    environ: Mapping[str, str] | None = None,
    **options: Any,
) -> Iterator[BareEngine]:
    """Start a simulator with these arguments and options (`load_s=2.0`), killed at the end; by default it is ready."""
    model = folder / "model"
    model.mkdir(exist_ok=True)
    config = {"text_config": {"max_position_embeddings": 262144}}
    (model / "config.json").write_text(json.dumps(config), encoding="utf-8")
    settings = folder / "options.json"
    settings.write_text(json.dumps({"speed": 100.0, "load_s": 5.0, **options}), encoding="utf-8")
    port = free_port()
    argv = [sys.executable, *program, "--model-path", str(model), "--port", str(port), *words]
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stderr=output,
            env={**os.environ, "SIM_OPTIONS_FILE": str(settings), **(environ or {})},
        )
    engine = BareEngine(process, port, log)
    try:
        if ready:
            engine.wait_for("ready to roll")
        yield engine
    finally:
        process.kill()
        process.wait()


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
