"""The files that decide a unit, line by line, with the lines marked that win."""

from __future__ import annotations

from collections.abc import Sequence

from console.engines.base import Engine
from console.errors import ConsoleError
from console.schema.facts import Facts, UnitFile
from console.settings.drop_in import seen_through
from console.settings.flags import sought
from console.settings.locate import locate
from console.settings.resolve import unit_of
from console.settings.sites import Found
from console.untrusted import clean, decode
from console.views.cells import wrap

WINS = ">"


def winning_lines(facts: Facts, engine: Engine, settings: Sequence[str]) -> dict[tuple[str, int], list[str]]:
    """(path, line) → the settings whose value stands there; and the refusals under ("", 0)."""
    found: dict[tuple[str, int], list[str]] = {}
    for setting in settings:
        try:
            place = locate(seen_through(unit_of(facts)), engine, sought(engine, setting=setting))
        except (ConsoleError, ValueError) as error:
            found.setdefault(("", 0), []).append(f"{setting}: {str(error).splitlines()[0]}")
            continue
        if isinstance(place, Found):
            found.setdefault((place.path, place.line), []).append(setting)
    return found


def config_text(facts: Facts, engine: Engine, settings: Sequence[str], width: int) -> str:
    """Every file, in the order systemd reads them; `>` marks the line that wins for a setting."""
    wins = winning_lines(facts, engine, settings)
    said: list[str] = []
    for text in wins.get(("", 0), []):
        said += wrap(text, width)
    for file in facts.files:
        said += ["", *wrap(f"{file.kind}  {head(file)}", width)]
        if file.missing or file.error:
            said += wrap(file.error or "missing", width, first="    ")
            continue
        for number, line in enumerate(decode(file.content).splitlines(), start=1):
            names = wins.get((file.path, number), [])
            mark = WINS if names else " "
            said += wrap(clean(line), width, first=f"{mark} {number:>3} ", rest=" " * 6)
            said += [f"      ^ wins: {', '.join(names)}"] if names else []
    return "\n".join(said).lstrip("\n")


def head(file: UnitFile) -> str:
    """Path, what it points to, mode and owner."""
    link = f" -> {file.real_path}" if file.real_path and file.real_path != file.path else ""
    return f"{file.path}{link}  {file.mode:04o} {file.uid}:{file.gid}  {file.size} bytes"
