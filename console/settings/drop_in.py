"""A drop-in of this unit alone, where the file that decides is a package's or also decides other units.

It repeats the one assignment that is in force, `ExecStart=` whole and after a reset, or the one variable, byte for
byte; only then is the value in it edited. systemd.unit(5) says which drop-in wins, systemd.service(5) what resets.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from console.engines.base import Engine
from console.errors import RefusedError, SettingElsewhereError
from console.settings.elsewhere import is_packaged, quadlet_of
from console.settings.flags import Sought
from console.settings.locate import locate, only_command
from console.settings.resolve import argv_on_disk, environment_on_disk
from console.settings.sites import Absent, Found
from console.units.effective import EffectiveUnit
from console.units.environment import environment

FOLDER = "/etc/systemd/system"
# Of two drop-ins the one wins whose name comes later; the second name is for what the first does not win over.
NAMES = ("50-console.conf", "zz-console.conf")


@dataclass(frozen=True)
class Cover:
    """A unit as an edit may see it. `path`: the drop-in that stands before the file that decides; empty: none has to.

    `text`: all of it before the edit; `before`: what is on disk of it, None where there is no such file.
    """

    unit: EffectiveUnit
    path: str = ""
    text: bytes = b""
    before: bytes | None = None
    decided_in: str = ""
    line: int = 0
    why: str = ""


def own_folder(unit_name: str) -> str:
    return f"{FOLDER}/{unit_name}.d"


def decides_others(path: str) -> str:
    """Which other units a file decides, by its name alone; empty when it is this unit's own."""
    folder, _, name = path.rpartition("/")
    folder_name = folder.rpartition("/")[2]
    if folder_name == "service.d":
        return "every service"
    if folder_name.endswith("-.service.d"):
        return f"every unit named {folder_name.removesuffix('.service.d')}*"
    stem = folder_name.removesuffix(".d") if folder_name.endswith(".d") else name
    if "@." in stem:
        return f"every instance of {stem}"
    return ""


def not_ours(unit: EffectiveUnit) -> dict[str, str]:
    """Files of the unit that an edit has to leave alone, and why."""
    found = {}
    for source in unit.sources:
        real_path = unit.links.get(source.path, "")
        others = decides_others(source.path) or decides_others(real_path)
        if is_packaged(source.path, real_path):
            found[source.path] = "belongs to a package"
        elif others:
            found[source.path] = f"decides {others}"
    return found


def seen_through(unit: EffectiveUnit) -> EffectiveUnit:
    """The unit for a look at what its files say, whoever may edit them."""
    return replace(unit, covered=frozenset(not_ours(unit)))


def cover(unit: EffectiveUnit, engine: Engine, what: Sought) -> Cover:
    """Where the setting is to be edited. Raises what `locate` raises, and where no drop-in would win."""
    foreign = not_ours(unit)
    if not foreign or quadlet_of(unit) is not None:
        return Cover(unit)
    unit = replace(unit, covered=frozenset(foreign))
    place = locate(unit, engine, what)
    if place.path not in foreign:
        return Cover(unit)
    statement = _statement(unit, place)
    for name in NAMES:
        path = f"{own_folder(unit.name)}/{name}"
        if any(each.path != path and each.path.rpartition("/")[2] == name for each in unit.sources):
            continue  # one of them would hide the other
        before = next((source.content for source in unit.sources if source.path == path), None)
        text = _text(place.path, foreign[place.path], before, statement)
        covered = unit.with_drop_in(path, text)
        if _says_the_same(unit, covered) and _stands_in(path, locate(covered, engine, what), place):
            return Cover(covered, path, text, before, place.path, place.line, foreign[place.path])
    raise SettingElsewhereError(
        f"{place.path} {foreign[place.path]}, and no drop-in of {unit.name} alone would win over it",
        where=f"{place.path}:{place.line}",
        hint=f"systemctl cat {unit.name} shows all its files in their order",
    )


def _statement(unit: EffectiveUnit, place: Found | Absent) -> bytes:
    """The lines that say what the file says of it; none where a variable is to be added."""
    content = unit.content(place.path)
    if isinstance(place, Absent) and place.variable:
        return b""
    if isinstance(place, Found) and place.form == "environment" and place.spans:
        at = place.spans[0].start
        for each in environment(unit):
            if each.path == place.path and each.start <= at <= each.end:
                return b"Environment=" + content[each.start : each.end] + b"\n"
    for line in unit.assignments("Service", "ExecStart"):
        value = line.statement.value
        if line.path == place.path:
            return b"ExecStart=\nExecStart=" + content[value.offsets[0] : value.end] + b"\n"
    raise SettingElsewhereError(f"what decides there is no line of {place.path}", where=f"{place.path}:{place.line}")


def _text(decided_in: str, why: str, before: bytes | None, statement: bytes) -> bytes:
    if before is None:
        return f"# For this unit alone: {decided_in} {why}.\n[Service]\n".encode() + statement
    return before + (b"" if before.endswith(b"\n") else b"\n") + b"[Service]\n" + statement


def _says_the_same(unit: EffectiveUnit, covered: EffectiveUnit) -> bool:
    """Whether the unit starts the same with the drop-in as without: nothing is edited yet."""
    try:
        one, other = only_command(unit), only_command(covered)
    except RefusedError:
        return False
    variables = environment_on_disk(unit)
    return (
        variables == environment_on_disk(covered)
        and (one.prefixes, one.argv) == (other.prefixes, other.argv)
        and argv_on_disk(unit, variables) == argv_on_disk(covered, variables)
    )


def _stands_in(path: str, now: Found | Absent, place: Found | Absent) -> bool:
    """Whether the same is found as before, and in the drop-in."""
    if isinstance(place, Absent):
        return isinstance(now, Absent) and (bool(place.variable) or now.path == path)
    return isinstance(now, Found) and now.path == path and now.value == place.value
