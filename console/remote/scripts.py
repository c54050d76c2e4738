"""Loading and rendering the shell scripts, and cutting their output into sections.

A script goes to `/bin/sh -s` on stdin: its arguments as `set --`, the prelude, and the script as the body of one
function. A shell reads a whole function before it runs any of it, so a script torn by a dying connection does nothing,
and commands inside it read /dev/null instead of eating the rest of the script.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from console.errors import InternalError
from console.untrusted import decode

SHELL = "/bin/sh -s"
NEVER = datetime.fromtimestamp(0, UTC)
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
    asked: datetime = NEVER  # our clock, of a look
    answered: datetime = NEVER

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
def prelude(*names: str) -> str:
    """What stands before scripts: of the functions those alone that they call, themselves or by another of them.

    A shell reads all that it gets before it does anything, and a run sends some twenty scripts to each host.
    """
    parts = _prelude()
    calls = {part.name: part.calls for part in parts if part.name}
    called = set[str]()
    unread = set().union(*(_words(load(name)) & calls.keys() for name in names))
    unread |= set().union(*(part.calls for part in parts if not part.name))
    while unread:
        function = unread.pop()
        called.add(function)
        unread |= calls[function] - called
    return "".join(part.text for part in parts if not part.name or part.name in called)


@dataclass(frozen=True)
class _Part:
    """A function of the prelude, or with no name what stands between two of them; and which functions it calls."""

    name: str
    text: str
    calls: frozenset[str]


@cache
def _prelude() -> tuple[_Part, ...]:
    whole = load("prelude.sh")
    found = list(_FUNCTION.finditer(whole))
    names = frozenset(match[1] for match in found)
    parts: list[_Part] = []
    done = 0
    for match in found:
        between = whole[done : match.start()]
        parts += [_Part("", between, _words(between) & names), _Part(match[1], match[0], _words(match[0]) & names)]
        done = match.end()
    rest = whole[done:]
    return (*parts, _Part("", rest, _words(rest) & names))


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text))


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
    then: Sequence[str] = (),
) -> bytes:
    """The bytes to send to `SHELL`. `lock_run` makes the script refuse (75) unless that run holds `lock_file`.

    `uid`: the login's, where an earlier script has told it; else this one asks. `note`: a line that the host's own log
    gets when the script has succeeded. `then`: a second script and its arguments; the first one's shell ends before it.

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
    first = 'script "$@"' + ("" if keep_stdin else " </dev/null")
    lines = [
        "# shellcheck shell=sh disable=SC2016,SC2034,SC2317",
        # There it would ask for its next line in the middle of the last section.
        *(["PS1='' PS2=''"] if terminal else []),
        *(f"{variable}={quote(value)}" for variable, value in variables.items()),
        "set -- " + " ".join(map(quote, args)),
        prelude(name, *then[:1]),
        *((_NOTED,) if note else ()),
        *_function(body),
        *([f"({first})", "set -- " + " ".join(map(quote, then[1:])), *_function(load(then[0]))] if then else []),
        first,
        *(["exit $?"] if terminal else []),
        "",
    ]
    return "\n".join(lines).encode("utf-8", "surrogateescape")


def _function(body: str) -> tuple[str, str, str]:
    return "script() {", body, "}"


def cut(stdout: bytes, mark: str) -> Mapping[str, bytes]:
    """The sections of an output. What precedes the first mark (a login shell's greeting) belongs to none."""
    sections: dict[str, bytes] = {}
    for part in stdout.split(f"\n{mark} ".encode())[1:]:
        name, _, body = part.partition(b"\n")
        sections[decode(name)] = body
    return MappingProxyType(sections)


def new_mark() -> str:
    """A line that no output of a host can contain by chance or intent: it is new for each script."""
    return f"==console-{secrets.token_hex(12)}=="


def new_name(run: str = "") -> str:
    """What a script's shell is called in the host's list of processes; of a change it begins with the run's name."""
    return f"{name_of_run(run) if run else 'console-'}{secrets.token_hex(8)}"


def name_of_run(run: str) -> str:
    return f"console-{run}-"
