"""What the host remembers of changes to a unit."""

from __future__ import annotations

import base64
import binascii
import json
from itertools import pairwise
from typing import Any

from console.remote.session import Reader
from console.untrusted import decode


def parse_entries(section: bytes) -> dict[str, dict[str, Any] | None]:
    """Run → change.json of a `ledger` section, newest run first; None for a damaged one."""
    found: dict[str, dict[str, Any] | None] = {}
    for path, encoded in pairwise(section.split(b"\n")):
        if not path.endswith(b"/change.json"):
            continue
        try:
            document = json.loads(base64.b64decode(encoded, validate=True))
        except (binascii.Error, ValueError, RecursionError):
            document = None
        found[decode(path).split("/")[-2]] = document if isinstance(document, dict) else None
    return dict(sorted(found.items(), reverse=True))


def parse_documents(section: bytes) -> list[dict[str, Any]]:
    """The change.json documents of a `ledger` section, newest first; damaged ones are left out."""
    return [document for document in parse_entries(section).values() if document is not None]


async def read_ledger(reader: Reader) -> list[dict[str, Any]]:
    """Every change.json of the target's unit. Raises ConnectError."""
    target = reader.target
    output = await reader.look("look_ledger.sh", target.host.state_folder, target.service.unit)
    return parse_documents(output.sections.get("ledger", b""))
