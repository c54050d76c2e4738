"""The sections of look_facts.sh as values. Pure; what is missing or odd becomes a reason, never an exception."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from console.remote.ledger import parse_entries
from console.remote.lock import read_document
from console.remote.systemd import time_span_s
from console.schema.change import ABSENT
from console.schema.facts import (
    Gpu,
    GuardState,
    HostState,
    LedgerEntry,
    LockState,
    PathCheck,
    Process,
    Software,
    SudoState,
    UnitFile,
    UserUnit,
)
from console.untrusted import decode, one_line

_SUDO_STATES = frozenset(get_args(SudoState))
_MISMATCH = "Driver/library version mismatch"
_NVML_VERSION = re.compile(r"NVML library version: (\d[\d.]*)")
_KERNEL_MODULE = re.compile(r"NVRM version:.*?\b(\d{3,}(?:\.\d+)+)\b")
_XID = re.compile(r"NVRM: Xid\b")


def pairs(section: bytes) -> Mapping[str, str]:
    """`name=value` lines, the first of each name, controls made visible."""
    found: dict[str, str] = {}
    for line in decode(section).splitlines():
        name, equals, value = line.partition("=")
        if equals:
            found.setdefault(name, one_line(value))
    return found


def parse_host(sections: Mapping[str, bytes]) -> HostState:
    said = pairs(sections.get("host", b""))
    room = [int(line) if line.isdigit() else None for line in decode(sections.get("room", b"")).split()]
    gpus, gpu_reason, mismatch, library = parse_gpus(sections.get("gpu", b""))
    module = _KERNEL_MODULE.search(decode(sections.get("driver", b"")))
    kernel_driver = module[1] if module else (gpus[0].driver if gpus else "")
    xid_lines, xid_reason = parse_xid(sections.get("xid", b""))
    sudo = said.get("sudo", "")
    version = re.search(r"\bsystemd (\d+)", said.get("systemd", ""))
    return HostState.model_validate(
        {
            "hostname": said.get("hostname", ""),
            "boot_id": said.get("boot_id", ""),
            "kernel": said.get("kernel", ""),
            "os": said.get("os", ""),
            "now": said.get("now", ""),
            "uptime_s": _number(said.get("uptime", "").partition(" ")[0]),
            "login_user": said.get("login", ""),
            "uid": int(said["uid"]) if said.get("uid", "").isdigit() else -1,
            "sudo": sudo if sudo in _SUDO_STATES else "absent",
            "sudo_said": said.get("sudo_said", ""),
            "systemd_version": int(version[1]) if version else 0,
            "free_bytes_unit_folder": room[0] if room else None,
            "free_bytes_state_folder": room[1] if len(room) > 1 else None,
            "gpus": gpus,
            "gpu_reason": gpu_reason,
            "kernel_driver": kernel_driver,
            # NVML loads only when both are the same version, so an answer proves the library's.
            "library_driver": library or (gpus[0].driver if gpus else ""),
            "driver_mismatch": mismatch,
            "xid_lines": xid_lines,
            "xid_reason": xid_reason,
            "simulated": said.get("simulated", "") not in ("", "0", "no"),
        }
    )


def parse_gpus(section: bytes) -> tuple[tuple[Gpu, ...], str, bool, str]:
    """GPUs, why there are none, whether driver and library differ, and the library's version where it was told."""
    text = decode(section)
    status, _, body = text.partition("\n")
    if status == "status=127" and not body.strip():
        return (), "nvidia-smi is not installed", False, ""
    if status == "status=124":
        return (), "nvidia-smi did not answer within 15 s", False, ""
    library = _NVML_VERSION.search(body)
    gpus = [gpu for gpu in map(_gpu, body.splitlines()) if gpu is not None]
    if gpus and status == "status=0":
        return tuple(gpus), "", False, library[1] if library else ""
    reason = one_line(body, 200) or "nvidia-smi told nothing"
    return tuple(gpus), reason, _MISMATCH in body, library[1] if library else ""


def _gpu(line: str) -> Gpu | None:
    fields = [field.strip() for field in line.split(",")]
    if len(fields) not in (6, 7) or not fields[0].isdigit() or not fields[2].isdigit():
        return None
    return Gpu(
        index=int(fields[0]),
        name=one_line(fields[1], 80),
        memory_total_mib=int(fields[2]),
        memory_used_mib=int(fields[3]) if fields[3].isdigit() else 0,
        driver=one_line(fields[4], 40),
        uuid=one_line(fields[5], 80),
        clock_mhz=int(fields[6]) if len(fields) == 7 and fields[6].isdigit() else None,
    )


def with_load(gpus: Sequence[Gpu], section: bytes) -> tuple[Gpu, ...]:
    """The GPUs with how busy each is, where as many answers came as there are GPUs."""
    said = [line.strip() for line in decode(section).splitlines() if line.strip()]
    if len(said) != len(gpus):
        return tuple(gpus)
    return tuple(
        gpu.model_copy(update={"load_percent": int(text)}) if text.isdigit() else gpu
        for gpu, text in zip(gpus, said, strict=True)
    )


def parse_xid(section: bytes) -> tuple[tuple[str, ...], str]:
    """Xid lines of this boot, or why they cannot be seen."""
    lines = [one_line(line, 300) for line in decode(section).splitlines() if line.strip()]
    found = tuple(line for line in lines if _XID.search(line))
    if found or not lines or all(line.startswith("-- ") for line in lines):
        return found, ""
    return (), lines[-1]


def parse_process(sections: Mapping[str, bytes]) -> Process:
    said = pairs(sections.get("process", b""))
    pid = said.get("pid", "")
    foreign = said.get("foreign", "")
    _, _, stat = said.get("stat", "").rpartition(") ")
    fields = stat.split()
    environment: dict[str, str] = {}
    for item in _words(sections.get("environ", b"")):
        name, equals, value = item.partition("=")
        if equals:
            environment[name] = value
    return Process(
        pid=int(pid) if pid.isdigit() else 0,
        argv=tuple(_words(sections.get("cmdline", b""))),
        environment=environment,
        # stat's fields are counted from 1 and the part cut off held two
        started_ticks=int(fields[19]) if len(fields) > 19 and fields[19].isdigit() else 0,
        reason=said.get("reason", ""),
        foreign_pid=int(foreign) if foreign.isdigit() else 0,
    )


def _words(section: bytes) -> list[str]:
    """NUL-terminated words, base64. Words may be empty; only the last terminator is none."""
    data = unbase64(section)
    return [decode(word) for word in data.removesuffix(b"\0").split(b"\0")] if data else []


def parse_software(section: bytes) -> Software:
    """`package=` as often as there are any; the first image that is told."""
    lines = [line.partition("=") for line in decode(section).splitlines()]
    said = pairs(section)
    at = said.get("system_packages_at", "")
    return Software(
        packages=tuple(sorted(one_line(value, 120) for name, _, value in lines if name == "package" and value)),
        image=next((one_line(value, 120) for name, _, value in lines if name == "image" and value), ""),
        system_packages_at=int(at) if at.isdigit() else None,
    )


def parse_paths(section: bytes) -> tuple[PathCheck, ...]:
    found = []
    for line in decode(section).splitlines():
        exists, kind, path = ([*line.split("\t", 2), "", ""])[:3]
        if exists in ("yes", "no") and kind in ("binary", "model", "folder"):
            found.append(PathCheck.model_validate({"path": one_line(path), "exists": exists == "yes", "kind": kind}))
    return tuple(found)


def parse_user_units(section: bytes) -> tuple[UserUnit, ...]:
    """Lines of `uid, name, runs, lingers, path`, with tabs between."""
    found = []
    for line in decode(section).splitlines():
        uid, user, running, linger, path = [*map(one_line, line.split("\t", 4)), "", "", "", "", ""][:5]
        if uid.isdigit() and user and path:
            found.append(UserUnit(user=user, uid=int(uid), path=path, running=running == "yes", linger=linger == "yes"))
    return tuple(found)


def parse_ledger(section: bytes) -> tuple[LedgerEntry, ...]:
    """What the host remembers, newest first. A document that cannot be read is an open change all the same."""
    names = set(LedgerEntry.model_fields) - {"run"}
    return tuple(
        LedgerEntry.model_validate(
            {
                "run": run,
                **{
                    key: one_line(str(value), 300)
                    for key, value in (document or {"state": "open"}).items()
                    if key in names and value is not None
                },
            }
        )
        for run, document in parse_entries(section).items()
    )


def parse_lock(section: bytes) -> LockState:
    head, _, body = section.partition(b"\n")
    document = read_document(body)
    known = {name: document[name] for name in ("run", "operator", "from_host", "since") if name in document}
    return LockState.model_validate({"held": head.strip() == b"held=yes", **known})


def parse_guard(section: bytes, uptime_s: float, ledger: bytes, files: Sequence[UnitFile]) -> GuardState:
    """The guard that is armed for this unit; the first where several are, which only an accident makes."""
    found: dict[str, str] = {}
    for line in decode(section).splitlines():
        name, equals, value = line.partition("=")
        if equals:
            found.setdefault(name, one_line(value, 200))
    if "name" not in found:
        return GuardState()
    due_s = time_span_s(found.get("NextElapseUSecMonotonic", ""))
    run = found["name"].rpartition("-")[2]
    written = _written(parse_entries(ledger).get(run))
    there = {file.real_path: file.digest for file in files}
    return GuardState(
        run=run,
        active=found.get("ActiveState") == "active",
        idle=bool(written) and not any(there.get(path, ABSENT) in digests for path, digests in written.items()),
        fires_in_s=None if due_s is None else round(max(0.0, due_s - uptime_s), 1),
    )


def _written(document: Mapping[str, Any] | None) -> dict[str, set[str]]:
    """File → the digests that a run gives it, one after the other, out of its change.json; empty where that is damaged.

    What it was before the run is none of them, even where a later change brings it back.
    """
    try:
        files = [change for change in (document or {})["plan"]["changes"] if change["kind"] == "file"]
        before: dict[str, str] = {}
        found: dict[str, set[str]] = {}
        for change in files:
            path = str(change["real_path"])
            before.setdefault(path, str(change.get("sha256_before", "")))
            found.setdefault(path, set()).add(str(change["sha256_after"]))
    except (KeyError, TypeError):
        return {}
    return {path: digests - {before[path]} for path, digests in found.items()}


def unbase64(section: bytes) -> bytes:
    try:
        return base64.b64decode(section.strip(), validate=True)
    except (binascii.Error, ValueError):
        return b""


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
