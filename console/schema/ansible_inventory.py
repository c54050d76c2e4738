"""Hosts of an Ansible inventory, INI or YAML, as far as connecting goes. Variables with templates are left out."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from console.errors import InvalidFileError

_RANGE = re.compile(r"\[(\w+):(\w+)(?::(\d+))?\]")
# Ansible's variable → our key, with the older spellings (docs: "Connecting to hosts: behavioral inventory parameters").
_KEYS = {
    "ansible_host": "address", "ansible_ssh_host": "address", "ansible_port": "port", "ansible_ssh_port": "port",
    "ansible_user": "user", "ansible_ssh_user": "user", "ansible_ssh_private_key_file": "identity",
    "ansible_private_key_file": "identity",
}  # fmt: skip
_JUMP = re.compile(r"-J\s*(\S+)|ProxyJump=(\S+)|ProxyCommand=.*?ssh\s.*?-W\s*%h:%p.*?\s([\w.@-]+)[\"']?\s*$")


@dataclass
class _Group:
    hosts: dict[str, dict[str, Any]] = field(default_factory=dict)
    variables: dict[str, Any] = field(default_factory=dict)
    children: list[str] = field(default_factory=list)


def hosts_of(text: str, *, where: str, yaml: bool) -> dict[str, dict[str, Any]]:
    """Host → keys of our inventory, its groups as `tags`. Raises InvalidFileError for what is no inventory."""
    groups = _from_yaml(text, where) if yaml else _from_ini(text, where)
    found: dict[str, dict[str, Any]] = {}
    for host in dict.fromkeys(name for group in groups.values() for name in group.hosts):
        variables: dict[str, Any] = {}
        tags = []
        for name in _outermost_first(groups, host):
            variables |= groups[name].variables
            tags += [name] if name not in ("all", "ungrouped") else []
        for group in groups.values():
            variables |= group.hosts.get(host, {})
        found[host] = _keys(variables) | ({"tags": tags} if tags else {})
    return found


def _outermost_first(groups: Mapping[str, _Group], host: str) -> list[str]:
    """The groups a host is in, parents before children: what is nearer to the host wins."""
    parents: dict[str, list[str]] = {}
    for name, group in groups.items():
        for child in group.children:
            parents.setdefault(child, []).append(name)
    order: list[str] = []

    def visit(name: str, seen: frozenset[str]) -> None:
        if name in seen:
            return
        for parent in parents.get(name, []):
            visit(parent, seen | {name})
        if name not in order:
            order.append(name)

    for name, group in groups.items():
        if host in group.hosts:
            visit(name, frozenset())
    return (["all"] if "all" in groups and "all" not in order else []) + order


def _keys(variables: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in variables.items():
        key = _KEYS.get(name)
        if key is None or "{{" in str(value):
            continue
        if key == "port":
            if str(value).isdigit():
                found[key] = int(value)
        else:
            found[key] = str(value)
    for name in ("ansible_ssh_common_args", "ansible_ssh_extra_args"):
        match = _JUMP.search(str(variables.get(name, "")))
        if match:
            found["jump"] = (match[1] or match[2] or match[3]).strip("\"'")
    return found


def _from_ini(text: str, where: str) -> dict[str, _Group]:
    groups: dict[str, _Group] = {"ungrouped": _Group()}
    name, kind = "ungrouped", "hosts"
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line[0] in "#;":
            continue
        if line.startswith("["):
            head = line.split("]")[0][1:]
            name, _, kind = head.partition(":")
            kind = kind or "hosts"
            groups.setdefault(name, _Group())
            continue
        try:
            words = shlex.split(line, comments=True)
        except ValueError as error:
            raise InvalidFileError(f"the line cannot be split into words: {error}", where=f"{where}:{number}") from None
        if not words:
            continue
        group = groups[name]
        if kind == "children":
            group.children.append(words[0])
            groups.setdefault(words[0], _Group())
        elif kind == "vars":
            key, _, value = line.partition("=")
            group.variables[key.strip()] = value.strip().strip("\"'")
        else:
            pairs = dict(word.split("=", 1) for word in words[1:] if "=" in word)
            for host in expanded(words[0]):
                group.hosts.setdefault(host, {}).update(pairs)
    return groups


def expanded(pattern: str) -> Iterator[str]:
    """`gpu[01:03]` → gpu01, gpu02, gpu03; a step may follow, and letters count too."""
    match = _RANGE.search(pattern)
    if match is None:
        yield pattern
        return
    first, last, step = match[1], match[2], int(match[3] or 1)
    if first.isdigit() and last.isdigit():
        names = [str(number).zfill(len(first)) for number in range(int(first), int(last) + 1, step)]
    else:
        names = [chr(code) for code in range(ord(first[0]), ord(last[0]) + 1, step)]
    for name in names:
        yield from expanded(pattern[: match.start()] + name + pattern[match.end() :])


def _from_yaml(text: str, where: str) -> dict[str, _Group]:
    from console.schema.plain_yaml import PlainYamlError, load

    try:
        document = load(text)
    except PlainYamlError as error:
        hint = "ansible-inventory --list --yaml > FILE writes a plain one"
        raise InvalidFileError(str(error), where=where, hint=hint) from None
    groups: dict[str, _Group] = {}

    def visit(name: str, body: Any) -> None:
        group = groups.setdefault(name, _Group())
        table = body if isinstance(body, Mapping) else {}
        for pattern, variables in (table.get("hosts") or {}).items():
            for host in expanded(str(pattern)):
                group.hosts.setdefault(host, {}).update(variables if isinstance(variables, Mapping) else {})
        group.variables |= table.get("vars") or {}
        for child, inner in (table.get("children") or {}).items():
            group.children.append(str(child))
            visit(str(child), inner)

    for name, body in document.items():
        visit(str(name), body)
    return groups
