"""What the manners share: options out of a file, lines to stderr, a small HTTP server, simulated time."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

Answer = tuple[int, Any]
Handle = Callable[[str, str, Mapping[str, Any]], Answer]

# tokens a second, simulated
PREFILL_TOK_S, DECODE_TOK_S = 20000.0, 50.0


class Options:
    """The figures of one start: `speed`, `load_s`, `pool_tokens`, `trained_context`; and where its fault is told."""

    def __init__(self) -> None:
        found: dict[str, Any] = {}
        path = os.environ.get("SIM_OPTIONS_FILE")
        if path:
            found = json.loads(Path(path).read_text(encoding="utf-8"))
        self.speed = float(found.get("speed", 1.0))
        self.load_s = float(found.get("load_s", 40.0))
        self.pool_tokens = int(found.get("pool_tokens", 262144))
        self.trained_context = int(found.get("trained_context", 262144))

        self.fault_file = str(found.get("fault_file") or "")

    def has_fault(self, name: str) -> bool:
        """Whether the fault in force now is this one, with any context."""
        try:
            text = Path(self.fault_file).read_text(encoding="utf-8").strip() if self.fault_file else ""
        except OSError:
            return False
        return (str(json.loads(text).get("name")) if text.startswith("{") else text) == name

    def sleep(self, seconds: float) -> None:
        time.sleep(max(seconds, 0.0) / self.speed)


def say(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


def serve(host: str, port: int, handle: Handle, *, on_request: Callable[[str, str, int], None]) -> ThreadingHTTPServer:
    """Bind and answer in threads. `handle` gets method, path and JSON body; a str answer is text, the rest JSON."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            try:
                body = json.loads(self.rfile.read(size) or b"{}")
            except ValueError:
                body = {}
            path = self.path.partition("?")[0]
            status, answer = handle(self.command, path, body if isinstance(body, dict) else {})
            data = answer.encode() if isinstance(answer, str) else json.dumps(answer).encode()
            kind = "text/plain; charset=utf-8" if isinstance(answer, str) else "application/json"
            on_request(self.command, path, status)
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = answer  # noqa: N815 - the library's names

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer((host, port), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def until_terminated(before: Callable[[], None]) -> None:
    """Wait for SIGTERM, say the last lines, end with 0."""
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    before()
    os._exit(0)


def hold_signals() -> None:
    """Called first: the threads made later leave the signals to `until_terminated`."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})


def let_signals() -> None:
    """While it loads, a signal ends the process at once."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM, signal.SIGINT})


def count_tokens(prompt: Any) -> int:
    """A list of ids counts itself; text counts its words."""
    return len(prompt) if isinstance(prompt, list) else len(str(prompt).split())
