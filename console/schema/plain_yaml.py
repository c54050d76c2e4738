"""Nested mappings of plain YAML, by indentation: keys and scalars. Lists and blocks of text are stepped over."""

from __future__ import annotations

import re
from typing import Any

_KEY = re.compile(r"""( *)(?:"([^"]*)"|'([^']*)'|([^\s#'"?][^#]*?)) *:(?: +(.*))?$""")
_UNSURE = re.compile(r"(?:^|[\s:])[&*][A-Za-z]|<<:|^%|^\t| !!?[A-Za-z]")


class PlainYamlError(ValueError):
    """The text needs more of YAML than is read here; the message names the line."""


def load(text: str) -> dict[str, Any]:
    """The mapping a text holds; scalars stay text, what is empty is None. Raises PlainYamlError."""
    root: dict[str, Any] = {}
    open_at: list[tuple[int, dict[str, Any]]] = [(-1, root)]
    last: tuple[int, dict[str, Any], str] | None = None  # indentation, table and key that a deeper line belongs to
    skipped: int | None = None  # everything deeper than this belongs to a list or a block of text
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.rstrip()
        bare = line.strip()
        if not bare or bare.startswith("#") or bare in ("---", "..."):
            continue
        indent = len(line) - len(line.lstrip(" "))
        if skipped is not None and indent > skipped:
            continue
        skipped = None
        if bare.startswith("- ") or bare == "-":
            skipped = indent
            continue
        if _UNSURE.search(line):
            raise PlainYamlError(f"line {number} uses YAML beyond plain keys and values")
        match = _KEY.match(line)
        if match is None:
            raise PlainYamlError(f"line {number} is no plain key: {bare[:60]!r}")
        if last is not None and indent > last[0]:
            table = last[1].get(last[2])
            if not isinstance(table, dict):
                table = last[1][last[2]] = {}
            open_at.append((last[0], table))
        while indent <= open_at[-1][0]:
            open_at.pop()
        key = next(part for part in match.groups()[1:4] if part is not None).strip()
        value = _scalar(match[5] or "")
        open_at[-1][1][key] = value
        last = (indent, open_at[-1][1], key)
        if value is None and (match[5] or "").strip()[:1] in ("|", ">"):
            skipped = indent
    return root


def _scalar(text: str) -> str | None:
    bare = text.strip()
    if bare[:1] in ('"', "'") and bare.find(bare[0], 1) > 0:
        return bare[1 : bare.find(bare[0], 1)]
    bare = re.sub(r"\s+#.*\Z", "", bare)
    if bare.startswith("#") or bare in ("", "~", "null", "{}", "[]") or bare[0] in "|>[{":
        return None
    return bare
