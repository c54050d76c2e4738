"""Files of a host as `describe_file` of the scripts tells them."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Mapping
from typing import get_args

from console.remote.session import Reader
from console.schema.facts import FileKind, UnitFile
from console.untrusted import decode, one_line

_KINDS = frozenset(get_args(FileKind))


def parse_file(section: bytes) -> UnitFile:
    """One `file.N` section. The digest is ours, of the bytes that arrived."""
    values: dict[str, str] = {}
    for line in section.split(b"\n"):
        name, equals, value = line.partition(b"=")
        if equals:
            values[decode(name)] = value.decode("utf-8", "surrogateescape")
    path = values.get("path", "")
    mode, uid, gid, size = [*values.get("stat", "").split(" ", 4), "", "", "", ""][:4]
    content, error = b"", one_line(values.get("error", ""), 200)
    if "content" in values:
        try:
            content = base64.b64decode(values["content"], validate=True)
        except (binascii.Error, ValueError):
            error = "its content arrived damaged"
    missing = values.get("missing") == "yes"
    readable = not missing and not error and "content" in values
    if not missing and not error and not readable:
        error = "it could not be read"
    kind = values.get("kind", "")
    return UnitFile.model_validate(
        {
            "path": path,
            "real_path": values.get("real") or path,
            "kind": kind if kind in _KINDS else "source",
            "sha256": hashlib.sha256(content).hexdigest() if readable else "",
            "size": int(size) if size.isdigit() else len(content),
            "mode": int(mode, 8) if mode and not set(mode) - set("01234567") else 0,
            "uid": int(uid) if uid.isdigit() else 0,
            "gid": int(gid) if gid.isdigit() else 0,
            "missing": missing,
            "error": error,
            "content": content,
        }
    )


def parse_files(sections: Mapping[str, bytes]) -> tuple[UnitFile, ...]:
    """All files of an output, in the order they were read."""
    numbered = sorted(
        (int(name.removeprefix("file.")), body)
        for name, body in sections.items()
        if name.startswith("file.") and name.removeprefix("file.").isdigit()
    )
    return tuple(parse_file(body) for _, body in numbered)


async def read_files(reader: Reader, *paths: str, patience_s: float = 0.0) -> tuple[UnitFile, ...]:
    """The files as they are now, in the order asked; a missing one says so. Raises ConnectError."""
    output = await reader.look("look_files.sh", *paths, patience_s=patience_s)
    return parse_files(output.sections)


async def read_file(reader: Reader, path: str, *, patience_s: float = 0.0) -> UnitFile:
    """One file as it is now; its `sha256` is empty where it is missing or cannot be read."""
    files = await read_files(reader, path, patience_s=patience_s)
    return files[0] if files else UnitFile(path=path, real_path=path, kind="source", error="the host did not tell it")
