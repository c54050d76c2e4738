"""Text from a host is hostile: it may carry escapes that move the cursor, set the clipboard or forge lines."""

from __future__ import annotations

import re

# C0 and C1 controls, DEL, and the bidi and zero-width characters that make shown text differ from stored text.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f​-‏‪-‮⁦-⁩]")


def clean(text: str) -> str:
    """`text` with every control character shown as a visible escape; newline and tab stay."""
    return _CONTROL.sub(
        lambda match: f"\\x{ord(match[0]):02x}" if ord(match[0]) < 256 else f"\\u{ord(match[0]):04x}", text
    )


def one_line(text: str, limit: int = 0) -> str:
    """`text` on one line, controls made visible, cut to `limit` characters (0: not cut)."""
    flat = " ".join(clean(text).split())
    return flat if not limit or len(flat) <= limit else flat[: limit - 1] + "…"


def decode(data: bytes) -> str:
    """Bytes of a host as text; what is not UTF-8 becomes U+FFFD, never an exception."""
    return data.decode("utf-8", "replace")
