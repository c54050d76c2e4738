"""Where a setting stands, as a value: the bytes to replace, or the place a word can be added."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from console.settings.text import Origin
from console.units.effective import EffectiveUnit

# A word of ExecStart; a variable of the unit or of an environment file; inside a shell's string; in a wrapper script;
# a file of options (YAML, INI); a compose file; a quadlet.
Form = Literal["word", "environment", "environment-file", "shell-string", "wrapper", "options", "compose", "quadlet"]

# What the program gets, in full, read again from a changed unit: the words to compare.
Reading = Callable[[EffectiveUnit], tuple[str, ...]]


@dataclass(frozen=True)
class Found:
    """The value that takes effect. `spans` are to be tried in turn: without quotes around it, then with them.

    `reading` reads the words again, of which `index` is to become `joined` + the new value.
    """

    form: Form
    path: str
    value: str | None  # None: a flag that takes none, or nothing follows it
    spans: tuple[Origin, ...]
    line: int
    reading: Reading
    index: int
    joined: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Absent:
    """Nowhere in what decides the unit; `nearest` are flags of the command that look alike.

    `anchor` is the word after which a flag can be added, `style` how flags are written there; without a flag of its
    own the setting is added as the variable `variable`.
    """

    form: Form
    path: str
    line: int
    reading: Reading
    anchor: Origin | None
    anchor_index: int
    first_line: int
    joins: bool
    nearest: tuple[str, ...]
    variable: str = ""
    notes: tuple[str, ...] = ()


def reloads(form: Form) -> bool:
    """Whether systemd has to read its files again for it: it reads environment files and scripts at each start."""
    return form in ("word", "environment", "shell-string", "quadlet")
