"""What the host remembers of changes to a unit."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

from console.remote.session import Reader


def parse_documents(section: bytes) -> list[dict[str, Any]]:
    """The change.json documents of a `ledger` section: lines of path and base64 in turn; damaged ones are left out."""
    found: list[dict[str, Any]] = []
    lines = section.split(b"\n")
    for encoded in lines[1::2]:
        try:
            document = json.loads(base64.b64decode(encoded, validate=True))
        except (binascii.Error, ValueError, RecursionError):
            continue
        if isinstance(document, dict):
            found.append(document)
    return found


async def read_ledger(reader: Reader) -> list[dict[str, Any]]:
    """Every change.json of the target's unit. Raises ConnectError."""
    target = reader.target
    output = await reader.look("look_ledger.sh", target.host.state_folder, target.service.unit)
    return parse_documents(output.sections.get("ledger", b""))
