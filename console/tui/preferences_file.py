"""tui.toml: every key of it, with its schema for an editor, and what is refused in it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field

from console.errors import InvalidFileError
from console.schema.names import Frozen, Name, Seconds
from console.schema.toml_file import check_schema, read_toml, validate
from console.tui.keys import clashes
from console.tui.preferences import Preferences, Theme


class PreferencesFile(Frozen):
    """Every key has a default; `console schema tui` prints the schema for an editor."""

    schema_: Literal[1] = Field(default=1, alias="schema")
    theme: Theme = Field(default="dark", description="terminal: its own 16 colours")
    ascii: bool = Field(default=False, description="draw with ASCII only")
    mouse: bool = Field(default=True, description="false: the terminal's own selection works as ever")
    poll: Seconds = Field(default=10.0, ge=2, description="how often the fleet is looked at while it is in front")
    poll_unfocused: Seconds = Field(default=30.0, ge=2, description="the same while another window or screen is")
    relock: Seconds = Field(default=900.0, ge=10, description="writing is locked again after so long without a key")
    editor: str = Field(default="", description="what `e` opens; default $PAGER, then less")
    keys: Mapping[Name, tuple[str, ...]] = Field(default_factory=dict, description="own keys by the id of an action")


def read_preferences(path: Path) -> Preferences:
    """Raises InvalidFileError, also for keys that mean two things."""
    text, table = read_toml(path)
    check_schema(table, path=path)
    read = validate(PreferencesFile, table, path=path, text=text)
    wrong = clashes(read.keys)
    if wrong:
        raise InvalidFileError(
            "; ".join(wrong), where=f"{path}: [keys]", hint="every key may mean one thing on a screen; ? lists them"
        )
    return Preferences(
        theme=read.theme,
        ascii=read.ascii,
        mouse=read.mouse,
        poll_s=read.poll,
        poll_unfocused_s=read.poll_unfocused,
        relock_s=read.relock,
        editor=read.editor,
        keys=read.keys,
    )
