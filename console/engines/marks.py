"""How a request of ours is told from anybody else's in an engine's access log."""

from __future__ import annotations

# A query that the engines ignore and their HTTP server logs: `POST /generate?console HTTP/1.1`.
OURS = "console"
