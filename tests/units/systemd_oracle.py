"""systemd's own answer to many units at once: `systemd --test`, which reads units and starts nothing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

_NEED_ESCAPE = '"\\`$'
_NEED_QUOTES = _NEED_ESCAPE + "*?['()<>|&;!" + " \t\n\r"
_NAMED = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}


def is_there() -> bool:
    return bool(shutil.which("systemd") and shutil.which("setpriv"))


def ask_systemd(folder: Path, units: Mapping[str, bytes]) -> dict[str, tuple[str, list[str]]]:
    """Unit name → (load state, ExecStart command lines in systemd's quoting); nothing is started."""
    folder.chmod(0o755)
    for name, content in units.items():
        (folder / name).write_bytes(content)
    (folder / "all.target").write_text(f"[Unit]\nWants={' '.join(units)}\n")
    runtime = folder / "runtime"
    runtime.mkdir(exist_ok=True)
    runtime.chmod(0o777)
    command = ["systemd", "--test", "--system", "--unit=all.target", "--no-pager"]
    if os.geteuid() == 0:  # as root it refuses to test
        command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *command]
    environment = {"SYSTEMD_UNIT_PATH": f"{folder}:", "XDG_RUNTIME_DIR": str(runtime), "LC_ALL": "C.UTF-8"}
    environment = {**os.environ, **environment}
    done = subprocess.run(command, env=environment, capture_output=True, timeout=120, check=False)
    text = (done.stdout + done.stderr).decode("utf-8", "replace")
    found: dict[str, tuple[str, list[str]]] = {}
    for section in re.split(r"(?m)^\t-> Unit ", text)[1:]:
        name = section.partition(":\n")[0]
        state = re.search(r"Unit Load State: (\S+)", section)
        start = re.split(r"-> Exec\w+:", section.partition("-> ExecStart:")[2])[0]
        found[name] = (state[1] if state else "", re.findall(r"Command Line: (.*)", start))
    return found


def shown(words: Sequence[str]) -> str:
    """A command line as systemd 252 shows it (quote_command_line)."""
    return " ".join(_quoted(word) for word in words)


def _quoted(word: str) -> str:
    if not word:
        return '""'
    if not any(_is_control(letter) or letter in _NEED_QUOTES for letter in word):
        return word
    return '"' + "".join(_escaped(letter) for letter in word) + '"'


def _is_control(letter: str) -> bool:
    return ord(letter) < 32 or ord(letter) == 127


def _escaped(letter: str) -> str:
    if _is_control(letter):
        return _NAMED.get(letter, f"\\{ord(letter):03o}")
    return f"\\{letter}" if letter in _NEED_ESCAPE else letter
