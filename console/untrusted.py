"""Text from a host is hostile: it may carry escapes that move the cursor, set the clipboard or forge lines."""

from __future__ import annotations

import re

# C0 and C1 controls, DEL; zero-width, bidi and line-separator characters, soft hyphen, BOM, tag
# characters: what is shown would differ from what is stored. Lone surrogates cannot be written as UTF-8 at all.
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)


def clean(text: str) -> str:
    """`text` with every control character shown as a visible escape; newline and tab stay."""
    return _CONTROL.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def one_line(text: str, limit: int = 0) -> str:
    """`text` on one line, controls made visible, cut to `limit` characters (0: not cut)."""
    flat = " ".join(clean(text.replace("\r\n", "\n")).split())
    return flat if not limit or len(flat) <= limit else flat[: limit - 1] + "…"


def decode(data: bytes) -> str:
    """Bytes of a host as text; what is not UTF-8 becomes U+FFFD, never an exception."""
    return data.decode("utf-8", "replace")
