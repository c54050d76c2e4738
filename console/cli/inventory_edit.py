"""Adding tables to hosts.toml with its comments kept; what comes out is read again and compared before it counts."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from console.errors import InvalidFileError, StateError
from console.schema.hosts import Inventory, load_inventory
from console.schema.toml_file import read_toml, validate

Tables = Mapping[str, Mapping[str, Any]]  # host → its keys, `services` among them


def text_of(path: Path) -> tuple[str, dict[str, Any]]:
    """The inventory's text and its meaning; those of an empty one where there is no file."""
    if not path.exists():
        return "schema = 1\n", {"schema": 1}
    load_inventory(path)
    return read_toml(path)


def merged(plain: Mapping[str, Any], hosts: Tables) -> dict[str, Any]:
    """The whole table with these hosts in it; services are added to those that are there."""
    known = dict(plain.get("hosts", {}))
    for name, keys in hosts.items():
        before = dict(known.get(name, {}))
        services = {**before.get("services", {}), **keys.get("services", {})}
        known[name] = before | {**keys} | ({"services": services} if services else {})
    return {**plain, "hosts": known}


def with_hosts(before: str, plain: Mapping[str, Any], hosts: Tables, path: Path) -> str:
    """The file's new text. Raises InvalidFileError when it cannot be edited without changing what else it says."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    wanted = merged(plain, hosts)
    validate(Inventory, wanted, path=path)
    by_hand = InvalidFileError(
        "the file cannot be edited without changing its meaning: add the host by hand", where=str(path)
    )
    try:
        document = tomlkit.parse(before)
        tables: Any = document.setdefault("hosts", tomlkit.table(is_super_table=True))
        for name, keys in hosts.items():
            if name not in tables:
                tables[name] = tomlkit.table()
            for key, value in keys.items():
                if key != "services":
                    tables[name][key] = value
            for service, of_it in keys.get("services", {}).items():
                services: Any = tables[name].setdefault("services", tomlkit.table(is_super_table=True))
                services[service] = dict(of_it)
        after = tomlkit.dumps(document)
        # tomlkit can write something else than was asked for (tomlkit#555, #545): read it back and compare.
        meaning = tomllib.loads(after)
    except (TOMLKitError, ValueError) as error:  # an inline table takes no table
        raise by_hand from error
    if meaning != wanted:
        raise by_hand
    return after


def write(path: Path, text: str) -> None:
    """Replace the file; of a link, what it leads to. Raises StateError."""
    from console.runs.directory import write_durably

    real = path.resolve()
    try:
        real.parent.mkdir(parents=True, exist_ok=True)
        write_durably(real, text.encode(), mode=real.stat().st_mode & 0o777 if real.exists() else 0o644)
    except OSError as error:
        raise StateError(f"cannot write: {error.strerror or error}", where=str(path)) from error
