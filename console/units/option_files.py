"""Files of options in the two plain forms engines take: flat YAML and INI; and the command of a compose file.

Only what can be read for sure is: a key with a plain or quoted scalar on its line, a list or a block of words under
`command:`. Anchors, tags, several documents and templates make the caller refuse.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

Span = tuple[int, int]

_KEY = re.compile(rb"(?P<indent> *)(?P<key>[A-Za-z0-9_.\"'-]+)\s*:(?:[ \t]+(?P<value>.*?))?[ \t]*\r?\Z")
_SCALAR = re.compile(rb"(?P<quote>[\"']?)(?P<value>[^\"'#&*!|>%@`{}\[\],]*?)(?P=quote)(?:[ \t]+#.*)?\Z")
_UNSURE = re.compile(rb"(?m)^(---\s*\S|\.\.\.|%|\t)|\{\{|^[^#\n]*[ \t:]([&*][A-Za-z]|<<:|!!?[A-Za-z])")


class OptionsError(ValueError):
    """The file cannot be read for sure."""


@dataclass(frozen=True)
class Option:
    """`key: value`. `start`, `end` are the bytes of the value; `section` is that of an INI file."""

    key: str
    value: str
    start: int
    end: int
    line: int
    section: str = ""


@dataclass(frozen=True)
class Words:
    """The words of a compose service's `command:`; `spans[i]` belongs to byte i of all words' bytes, word by word."""

    service: str
    image: str
    words: tuple[tuple[bytes, tuple[Span, ...]], ...]
    line: int


def _lines(content: bytes) -> Iterator[tuple[int, int, bytes]]:
    start = 0
    for number, line in enumerate(content.split(b"\n"), 1):
        yield number, start, line
        start += len(line) + 1


def read_yaml(content: bytes) -> list[Option]:
    """The scalars at the top of a YAML mapping. Raises OptionsError for what is more than that needs to be read."""
    if _UNSURE.search(content):
        raise OptionsError("it uses YAML beyond plain keys and values")
    found: list[Option] = []
    for number, start, line in _lines(content):
        match = _KEY.match(line)
        if match is None or match["indent"] or match["value"] is None:
            continue
        scalar = _SCALAR.match(match["value"])
        if scalar is None:
            continue
        begin = start + match.start("value") + scalar.start("value")
        key = match["key"].decode().strip("\"'")
        found.append(
            Option(key, scalar["value"].decode("utf-8", "replace"), begin, begin + len(scalar["value"]), number)
        )
    return found


def read_ini(content: bytes) -> list[Option]:
    """`key = value` by section, as llama.cpp reads its presets."""
    found: list[Option] = []
    section = ""
    for number, start, line in _lines(content):
        stripped = line.strip()
        if not stripped or stripped[:1] in (b"#", b";"):
            continue
        if stripped.startswith(b"[") and stripped.endswith(b"]"):
            section = stripped[1:-1].decode("utf-8", "replace")
            continue
        match = re.match(rb"[ \t]*([A-Za-z0-9_.-]+)[ \t]*=[ \t]*(.*?)[ \t\r]*\Z", line)
        if match is None:
            raise OptionsError(f"line {number} is no key and value")
        value = match[2].decode("utf-8", "replace")
        found.append(Option(match[1].decode(), value, start + match.start(2), start + match.end(2), number, section))
    return found


def read_compose(content: bytes) -> list[Words]:
    """The services of a compose file with a `command:` that can be read. Raises OptionsError."""
    if _UNSURE.search(content):
        raise OptionsError("it uses YAML beyond plain keys and values")
    lines = list(_lines(content))
    found: list[Words] = []
    service, image, services_indent, service_indent = "", "", -1, -1
    index = 0
    while index < len(lines):
        number, start, line = lines[index]
        index += 1
        match = _KEY.match(line)
        if match is None or line.lstrip().startswith(b"#"):
            continue
        indent, key = len(match["indent"]), match["key"].decode().strip("\"'")
        if indent == 0:
            services_indent = 0 if key == "services" else -1
            service_indent = -1
            continue
        if services_indent < 0:
            continue
        if service_indent < 0 or indent == service_indent:
            service, image, service_indent = key, "", indent
            continue
        if key == "image" and match["value"]:
            image = match["value"].decode("utf-8", "replace").strip("\"'")
        if key in ("entrypoint", "extends", "env_file") and key != "env_file":
            raise OptionsError(f"{service} has an {key}, which says more than its command")
        if key != "command":
            continue
        value = match["value"] or b""
        at = start + match.start("value") if match["value"] is not None else start + len(line)
        words, index = _command(lines, index, indent, value, at)
        found.append(Words(service, image, tuple(words), number))
    # The image may stand after the command.
    return [
        Words(each.service, each.image or _image_of(content, each.service), each.words, each.line) for each in found
    ]


def _image_of(content: bytes, service: str) -> str:
    inside = False
    for _, _, line in _lines(content):
        match = _KEY.match(line)
        if match is None:
            continue
        key = match["key"].decode().strip("\"'")
        if not match["value"] and match["indent"]:
            inside = key == service if len(match["indent"]) <= 4 else inside
        if inside and key == "image" and match["value"]:
            return match["value"].decode("utf-8", "replace").strip("\"'")
    return ""


def _command(
    lines: list[tuple[int, int, bytes]], index: int, indent: int, value: bytes, at: int
) -> tuple[list[tuple[bytes, tuple[Span, ...]]], int]:
    """The words of `command:` in any of its forms, and the index of the line after it."""
    block = re.fullmatch(rb"[>|][+-]?[ \t]*", value)
    if block or not value:
        body = []
        while index < len(lines):
            _, start, line = lines[index]
            if line.strip() and len(line) - len(line.lstrip(b" ")) <= indent and not _is_item(line, indent):
                break
            body.append((start, line))
            index += 1
        if block:
            return [word for start, line in body for word in _split(line, start)], index
        return _items(body), index
    if value.startswith(b"["):
        if not value.endswith(b"]"):
            raise OptionsError("a list over several lines")
        return _flow(value, at), index
    if value[:1] in (b'"', b"'"):
        if value[-1:] != value[:1] or value.count(value[:1]) != 2 or b"\\" in value:
            raise OptionsError("a quoted command with quotes in it")
        return _split(value[1:-1], at + 1), index
    following = lines[index][2] if index < len(lines) else b""
    if following.strip() and len(following) - len(following.lstrip(b" ")) > indent:
        raise OptionsError("a command over several lines")
    return _split(re.split(rb"[ \t]#", value)[0], at), index


def _is_item(line: bytes, indent: int) -> bool:
    return line.lstrip(b" ").startswith(b"- ") and len(line) - len(line.lstrip(b" ")) == indent


def _split(line: bytes, start: int) -> list[tuple[bytes, tuple[Span, ...]]]:
    """Words of a plain line. Quotes are the shell's and stay together only without blanks in them."""
    found = []
    for match in re.finditer(rb"\"([^\"\\\s]*)\"|'([^'\s]*)'|\S+", line):
        group = 1 if match[1] is not None else 2 if match[2] is not None else 0
        octets, begin = match[group], start + match.start(group)
        if group == 0 and re.search(rb"[\"'\\]", octets):
            octets = re.sub(rb"[\"'\\]", b"\0", octets)  # a word only a shell could read
        found.append((octets, tuple((begin + i, begin + i + 1) for i in range(len(octets)))))
    return found


def _items(body: list[tuple[int, bytes]]) -> list[tuple[bytes, tuple[Span, ...]]]:
    found = []
    for start, line in body:
        if not line.strip() or line.lstrip().startswith(b"#"):
            continue
        match = re.fullmatch(rb"( *- +)(\"[^\"\\]*\"|'[^']*'|[^\"'#&*!|>%@`][^#]*?)(?:[ \t]+#.*)?[ \t\r]*", line)
        if match is None:
            raise OptionsError("an item of the command that is no plain word")
        octets, begin = match[2], start + match.start(2)
        if octets[:1] in (b'"', b"'"):
            octets, begin = octets[1:-1], begin + 1
        found.append((octets, tuple((begin + i, begin + i + 1) for i in range(len(octets)))))
    return found


def _flow(value: bytes, at: int) -> list[tuple[bytes, tuple[Span, ...]]]:
    found = []
    for match in re.finditer(rb"\"([^\"\\]*)\"|'([^']*)'|([^\s,\[\]\"']+)", value):
        group = next(number for number in (1, 2, 3) if match[number] is not None)
        octets, begin = match[group], at + match.start(group)
        found.append((octets, tuple((begin + i, begin + i + 1) for i in range(len(octets)))))
    return found
