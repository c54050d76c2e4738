"""How a person wants the terminal UI: `$XDG_CONFIG_HOME/console/tui.toml`, or nothing at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from console.tui.keys import KeyMap

Theme = Literal["dark", "light", "terminal"]


@dataclass(frozen=True)
class Preferences:
    """What `preferences_file` reads, as the screens use it; the defaults need nothing heavy to be loaded."""

    theme: Theme = "dark"
    ascii: bool = False
    mouse: bool = True
    poll_s: float = 10.0
    poll_unfocused_s: float = 30.0
    relock_s: float = 900.0
    editor: str = ""
    keys: KeyMap = field(default_factory=dict)


def preferences_path(environment: Mapping[str, str]) -> Path:
    base = environment.get("XDG_CONFIG_HOME") or str(Path(environment.get("HOME", "~")).expanduser() / ".config")
    return Path(base) / "console" / "tui.toml"


def load_preferences(path: Path) -> Preferences:
    """The file's, or the defaults where there is none. Raises InvalidFileError, also for keys that mean two things."""
    if not path.exists():
        return Preferences()
    from console.tui.preferences_file import read_preferences

    return read_preferences(path)
