"""Loading and rendering the shell scripts, and cutting their output into sections.

A script goes to `/bin/sh -s` on stdin: its arguments as `set --`, the prelude, and the script as the body of one
function. A shell reads a whole function before it runs any of it, so a script torn by a dying connection does nothing,
and commands inside it read /dev/null instead of eating the rest of the script.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from console.errors import InternalError
from console.untrusted import decode

SHELL = "/bin/sh -s"
# `# embeds: NAME` in a script: the text of that file is its $console_embedded.
_EMBEDS = re.compile(r"^# embeds: (\S+)$", re.MULTILINE)

# A function of the prelude, and what is said of it above.
_FUNCTION = re.compile(r"(?:^#[^\n]*\n)*^(\w+)\(\) \{\n.*?^\}\n", re.MULTILINE | re.DOTALL)

_NOTED = """trap 'ended=$?; [ "$ended" != 0 ] || logger -t console -- "$console_note"; exit "$ended"' EXIT"""


@dataclass(frozen=True)
class Output:
    """What a script said. `sections` are the bytes between its marks; `stdout` is what a command it ran for us said."""

    exit_status: int
    sections: Mapping[str, bytes] = field(default_factory=lambda: MappingProxyType({}))
    stdout: bytes = b""
    stderr: bytes = b""

    def text(self, name: str) -> str:
        """A section as text, `""` where the script did not get that far."""
        return decode(self.sections.get(name, b""))

    @property
    def complaint(self) -> str:
        """What it said on stderr, as text."""
        return decode(self.stderr).strip()


@cache
def load(name: str) -> str:
    """The text of a script, by its file's name."""
    path = files("console.remote").joinpath("scripts", name)
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InternalError(f"there is no script {name}") from None


@cache
def prelude(name: str) -> str:
    """What stands before a script: of the functions those alone that it calls, itself or by another of them.

    A shell reads all that it gets before it does anything, and a run sends some twenty scripts to each host.
    """
    whole = load("prelude.sh")
    functions = {match[1]: match[0] for match in _FUNCTION.finditer(whole)}
    unread, called = [_FUNCTION.sub("", whole), load(name)], set[str]()
    while unread:
        words = set(re.findall(r"\w+", unread.pop()))
        for function in functions.keys() & words - called:
            called.add(function)
            unread.append(functions[function])
    return _FUNCTION.sub(lambda match: match[0] if match[1] in called else "", whole)


def quote(word: str) -> str:
    """`word` as one shell word, literally. Raises InternalError for NUL, which no shell can pass on."""
    if "\0" in word:
        raise InternalError("a NUL byte cannot be passed to a script")
    return "'" + word.replace("'", "'\\''") + "'"


def render(
    name: str,
    args: Sequence[str],
    *,
    mark: str,
    sudo: str = "auto",
    password: str = "",
    terminal: bool = False,
    lock_file: str = "",
    lock_run: str = "",
    keep_stdin: bool = False,
    uid: str = "",
    note: str = "",
) -> bytes:
    """The bytes to send to `SHELL`. `lock_run` makes the script refuse (75) unless that run holds `lock_file`.

    `uid`: the login's, where an earlier script has told it; else this one asks. `note`: a line that the host's own log
    gets when the script has succeeded.

    Over a `terminal` the shell hears no end of its input, so the script says it. A `password` for sudo goes the same
    way, on stdin, and into no process's arguments or environment.
    """
    body = load(name)
    embedded = _EMBEDS.search(body)
    variables = {
        "console_mark": mark,
        "console_uid": uid,
        "console_sudo": sudo,
        "console_password": password,
        "console_terminal": "yes" if terminal else "",
        "console_lock_file": lock_file,
        "console_lock_run": lock_run,
        "console_note": note,
        "console_embedded": load(embedded[1]) if embedded else "",
    }
    lines = [
        "# shellcheck shell=sh disable=SC2016,SC2034,SC2317",
        # There it would ask for its next line in the middle of the last section.
        *(["PS1='' PS2=''"] if terminal else []),
        *(f"{variable}={quote(value)}" for variable, value in variables.items()),
        "set -- " + " ".join(map(quote, args)),
        prelude(name),
        *((_NOTED,) if note else ()),
        "script() {",
        body,
        "}",
        'script "$@"' + ("" if keep_stdin else " </dev/null"),
        *(["exit $?"] if terminal else []),
        "",
    ]
    return "\n".join(lines).encode("utf-8", "surrogateescape")


def cut(stdout: bytes, mark: str) -> Mapping[str, bytes]:
    """The sections of an output. What precedes the first mark (a login shell's greeting) belongs to none."""
    sections: dict[str, bytes] = {}
    for part in stdout.split(f"\n{mark} ".encode())[1:]:
        name, _, body = part.partition(b"\n")
        sections[decode(name)] = body
    return MappingProxyType(sections)
