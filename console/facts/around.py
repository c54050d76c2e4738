"""The sections of look_around.sh as values. Pure; what is missing or odd is left out, never an exception."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from console.errors import RefusedError
from console.facts.parse import pairs
from console.remote.scripts import Output
from console.remote.session import Reader
from console.remote.systemd import time_span_s
from console.schema.facts import Facts
from console.schema.surroundings import GpuContainer, GpuHealth, GpuUser, Place, Relations, SharedFile, Surroundings
from console.settings.command_line import command_line
from console.settings.drop_in import NAMES, own_folder
from console.settings.locate import only_command
from console.settings.resolve import unit_of
from console.untrusted import decode, one_line

AROUND_TIMEOUT_S = 60.0
BEYOND_TIMEOUT_S = 30.0


async def look_around(
    reader: Reader, facts: Facts, *, then: Sequence[str] = (), patience_s: float = 0.0
) -> tuple[Surroundings, Output]:
    """What stands around a unit whose facts were read, and what a second script said, see Reader.look.

    Raises ConnectError.
    """
    image = image_of(facts)
    paths = list(dict.fromkeys(path for file in facts.files for path in (file.path, file.real_path)))
    output = await reader.look(
        "look_around.sh",
        facts.unit.id,
        facts.unit.fragment_path,
        facts.unit.control_group,
        image,
        *paths,
        timeout_s=AROUND_TIMEOUT_S + (BEYOND_TIMEOUT_S if then else 0.0),
        patience_s=patience_s,
        then=then,
    )
    # Where a file may be made, the file system counts as well.
    paths.append(f"{facts.drop_in_folder or own_folder(facts.unit.id)}/{NAMES[0]}")
    return parse_around(output.sections, facts.unit.id, facts.unit.control_group, paths, image), output


def image_of(facts: Facts) -> str:
    """The image of the container that the unit's command runs; empty where it runs none, or a composed one."""
    try:
        unit = unit_of(facts)
        line = command_line(unit, only_command(unit), None, None)
    except RefusedError:
        return ""
    return line.texts[line.launch.image] if line.launch.contained and line.launch.image else ""


def parse_around(
    sections: Mapping[str, bytes], unit: str, group: str, paths: Sequence[str], image: str = ""
) -> Surroundings:
    fabric = pairs(sections["fabric"]).get("state") if sections.get("fabric") else None
    reboot = _lines(sections, "boot_wanted")
    containers = list(_rows(sections, "containers", 2))
    images = [row[2] for row in containers if row[0] == "image"]
    return Surroundings(
        looked="loaded" in sections,
        relations=_relations(sections),
        shared=shared_files(sections, unit),
        restarted_by=tuple(sorted({row[2] for row in _rows(sections, "named", 3) if row[0] == "moves"})),
        stale=tuple(line for line in _lines(sections, "stale") if line != unit),
        places=tuple(places(sections, paths)),
        free_bytes={row[0]: int(row[1]) for row in _rows(sections, "space", 2) if row[1].isdigit()},
        reboot_required=bool(reboot),
        reboot_packages=tuple(dict.fromkeys(reboot[1:])),
        fabric_manager=fabric,
        gpu_health=tuple(_health(sections)),
        gpu_users=tuple(_users(sections, group)),
        nvrm_lines=tuple(line for line in _lines(sections, "nvrm") if "NVRM:" in line),
        image_missing=image if images and "yes" not in images else "",
        containers=tuple(_containers(containers)),
    )


def _relations(sections: Mapping[str, bytes]) -> Relations:
    said = pairs(sections.get("relations", b""))
    both = [said.get(name, "").split() for name in ("Conflicts", "ConflictedBy", "Requires", "BindsTo")]
    return Relations(
        conflicts=tuple(dict.fromkeys(both[0] + both[1])),
        triggered_by=tuple(said.get("TriggeredBy", "").split()),
        starts=tuple(dict.fromkeys(both[2] + both[3])),
        watchdog_s=time_span_s(said.get("WatchdogUSec", "")) or 0.0,
    )


def shared_files(sections: Mapping[str, bytes], unit: str) -> tuple[SharedFile, ...]:
    """Who else reads the files: what systemd has loaded, then files of units that it has not."""
    found = {(row[0], row[1]): SharedFile(path=row[0], unit=row[1]) for row in _rows(sections, "loaded", 2)}
    for kind, path, named_in in (row[:3] for row in _rows(sections, "named", 3)):
        other = unit_of_file(named_in)
        if kind != "file" or not other or other in (unit, template_of(unit)) or (path, other) in found:
            continue
        if any(each[0] == path and template_of(each[1]) == other for each in found):
            continue  # its instances stand there
        if named_in == path or other.endswith("-.service"):
            continue  # the file itself, or a folder for many units, whose loaded ones stand there
        found[path, other] = SharedFile(path=path, named_in=named_in, unit=other)
    return tuple(found.values())


def unit_of_file(path: str) -> str:
    """The unit that a fragment or a drop-in belongs to; empty for what is neither."""
    match = re.search(r"/([^/]+\.service)(?:\.d/[^/]+\.conf)?\Z", path)
    return match[1] if match else ""


def template_of(unit: str) -> str:
    """`chat@1.service` → `chat@.service`; empty for what is no instance."""
    name, at, rest = unit.partition("@")
    return f"{name}@.{rest.rpartition('.')[2]}" if at else ""


def places(sections: Mapping[str, bytes], paths: Sequence[str]) -> Iterator[Place]:
    """Each path with the last mount above it, its attributes and its package."""
    mounts = list(_mounts(sections))
    attributes = (line.split(None, 1) for line in _lines(sections, "attributes"))
    frozen = {row[1]: row[0] for row in attributes if len(row) == 2 and set("ia") & set(row[0])}
    packages = {row[1]: row[0] for row in _rows(sections, "packages", 2)}
    for path in paths:
        at = next((each for each in (path, path.rpartition("/")[0]) if each in frozen), "")
        point, fstype, source, read_only = _mount_of(path, mounts)
        yield Place(
            path=path,
            mount=point,
            fstype=fstype,
            source=source,
            read_only=read_only,
            immutable="i" in frozen.get(at, ""),
            append_only="a" in frozen.get(at, ""),
            frozen_at=at,
            package=packages.get(path, ""),
        )


def _mount_of(path: str, mounts: Sequence[tuple[str, str, str, bool]]) -> tuple[str, str, str, bool]:
    """The longest mount point above a path; of several on one point the last is on top."""
    found = ("", "", "", False)
    for mount in mounts:
        if path.startswith(mount[0].rstrip("/") + "/") and len(mount[0]) >= len(found[0]):
            found = mount
    return found


def _mounts(sections: Mapping[str, bytes]) -> Iterator[tuple[str, str, str, bool]]:
    """Mount point, type, source, and whether it is read-only; proc(5) says how mountinfo is written."""
    for line in _lines(sections, "mounts"):
        head, dash, tail = line.partition(" - ")
        fields, rest = head.split(" "), tail.split(" ")
        if not dash or len(fields) < 6 or len(rest) < 3:
            continue
        options = {*fields[5].split(","), *rest[2].split(",")}
        point = re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), fields[4])
        yield point, rest[0], rest[1], "ro" in options


def _health(sections: Mapping[str, bytes]) -> Iterator[GpuHealth]:
    for line in _lines(sections, "gpu_health"):
        fields = [field.strip() for field in line.split(",")]
        if len(fields) != 4 or not fields[0].isdigit():
            continue
        pending = [field.lower() for field in fields[2:] if field.lower() in ("yes", "no", "0", "1")]
        yield GpuHealth(
            index=int(fields[0]),
            uncorrected=int(fields[1]) if fields[1].isdigit() else None,
            remap_pending=any(field in ("yes", "1") for field in pending) if pending else None,
        )


def _users(sections: Mapping[str, bytes], group: str) -> Iterator[GpuUser]:
    """Those outside the unit's control group: by that, not by the main process, whose workers are its children."""
    for pid, memory, its_group, command in (row[:4] for row in _rows(sections, "gpu_users", 4)):
        if not pid.isdigit() or (group and (its_group == group or its_group.startswith(f"{group}/"))):
            continue
        yield GpuUser(
            pid=int(pid), memory_mib=int(memory) if memory.isdigit() else None, group=its_group, command=command
        )


def _containers(rows: Sequence[Sequence[str]]) -> Iterator[GpuContainer]:
    """Those whose GPUs come from the runtime's hook while systemd keeps their control groups.

    systemd writes its own list of devices at a daemon-reload and knows nothing of the hook's
    (nvidia-container-toolkit#48).
    """
    tool, by_systemd = "", False
    for row in rows:
        if row[0] == "driver":
            tool, by_systemd = row[1], len(row) > 2 and row[2].strip() == "systemd"
        elif row[0] == "container" and len(row) >= 6 and by_systemd:
            _, identity, name, runtime, requests, devices = row[:6]
            named = any("nvidia" in str(each) for each in _json(devices))
            if (runtime == "nvidia" or _json(requests)) and not named:
                yield GpuContainer(id=identity[:12], name=name.lstrip("/"), tool=tool)


def _json(text: str) -> list[object]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return []
    return value if isinstance(value, list) else []


def _lines(sections: Mapping[str, bytes], name: str) -> list[str]:
    return [one_line(line, 400) for line in decode(sections.get(name, b"")).splitlines() if line.strip()]


def _rows(sections: Mapping[str, bytes], name: str, least: int) -> Iterator[list[str]]:
    for line in decode(sections.get(name, b"")).splitlines():
        row = [one_line(field, 400) for field in line.split("\t")]
        if len(row) >= least:
            yield row
