"""`--note`: the operator's own words for the record; where the command line has none, their editor asks for them."""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from console.cli.output import Output
from console.errors import UsageError

ASK = "\0"  # no command line can say this
ASKED = "# What should the record say besides? Lines that begin with # are left out.\n"


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--note", nargs="?", default="", const=ASK, metavar="TEXT",
        help="kept in the record; without TEXT, $VISUAL or $EDITOR asks for it",
    )  # fmt: skip


def note_of(arguments: argparse.Namespace, output: Output, environment: Mapping[str, str] = os.environ) -> str:
    """The note as given, or as written now: before anything begins. Raises UsageError where nobody can write one."""
    if arguments.note == ASK:
        editor = environment.get("VISUAL") or environment.get("EDITOR")
        if not editor or not output.is_terminal:
            raise UsageError("--note without TEXT needs a terminal and $VISUAL or $EDITOR", hint="--note TEXT")
        arguments.note = written(editor)
    return str(arguments.note)


def written(editor: str) -> str:
    """What a person writes in their editor, without our remarks; its lines stay lines."""
    with tempfile.TemporaryDirectory(prefix="console-note-") as folder:
        path = Path(folder) / "note.md"
        path.write_text(f"\n{ASKED}", encoding="utf-8")
        try:
            code = subprocess.run([*shlex.split(editor), str(path)], check=False).returncode
            text = path.read_text(encoding="utf-8", errors="replace")
        except (OSError, ValueError) as error:
            raise UsageError(f"{editor}: {error}", hint="--note TEXT") from error
    if code:
        raise UsageError(f"{editor} ended with {code}: nothing was begun", hint="--note TEXT")
    return "\n".join(line for line in text.splitlines() if not line.startswith("#")).strip()
