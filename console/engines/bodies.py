"""JSON bodies of engines: hostile, of any release, so that nothing here raises and every value is looked at."""

from __future__ import annotations

import json
import math
from typing import Any, Protocol

from console.engines.base import Generation, Reply
from console.untrusted import decode, one_line

_LONGEST_TEXT = 500


class LargestRequest(Protocol):
    """`Engine.largest_request`, as an argument."""

    def __call__(self, context_length: int, pool_tokens: int, output_tokens: int, reserved_tokens: int = 0) -> int: ...


def no_generation(error: str) -> Generation:
    return Generation(None, None, None, None, None, None, error=error)


def status_text(reply: Reply) -> str:
    return f"HTTP {reply.status}" if reply.status else "no answer"


def error_text(body: object) -> str:
    """`{"error": {"message": …}}`, `{"error": "…"}`, `{"message": …}` (OpenAI style) or `{"detail": …}`."""
    if not isinstance(body, dict):
        return ""
    error = body.get("error")
    candidates = (error.get("message") if isinstance(error, dict) else error, body.get("message"), body.get("detail"))
    return next((as_text(item) for item in candidates if as_text(item)), "")


def read_json(body: bytes) -> Any:
    import orjson  # a load reads thousands of answers a second

    try:
        return orjson.loads(body)
    except ValueError:
        pass  # what it refuses Python may read: NaN among the figures, bytes that are not UTF-8
    try:
        return json.loads(decode(body))
    except (ValueError, RecursionError):
        return None


def object_of(reply: Reply | None) -> dict[str, Any]:
    return as_dict(read_json(reply.body)) if reply is not None and reply.status == 200 else {}


def as_dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def as_text(value: object) -> str:
    return one_line(value, _LONGEST_TEXT) if isinstance(value, str) else ""


def as_reported(value: str | float) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return one_line(str(value), _LONGEST_TEXT)


def as_count(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and 0 <= value < 2**63 else None


def as_seconds(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        seconds = float(value)
    except OverflowError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def smallest(values: list[int | None]) -> int | None:
    return min((value for value in values if value), default=None)


def summed(items: list[dict[str, Any]], key: str) -> int | None:
    counts = [as_count(item.get(key)) for item in items]
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
