"""What the stand-ins of systemctl, journalctl and the like answer, and to what: anything else is exit 64."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .journal import Record
from .properties import REPEATED, show
from .supervisor import Supervisor
from .unit_files import load

USAGE = 64
NOT_FOUND = 5
GPU_MIB = 97_894
GPU_NAME = "NVIDIA RTX PRO 6000 Blackwell Server Edition"
DRIVER = "580.95.05"
GPU_FIELDS = ("index", "name", "memory.total", "memory.used", "driver_version", "uuid")
# What one of its GPUs shows beside that, the index and the bus put in; `gpu-health.json` of the state folder has other
# values, by index.
GPU_HEALTH = {
    "pci.bus_id": "00000000:{index:02X}:00.0",
    "pstate": "P0",
    "utilization.gpu": "0",
    "temperature.gpu": "41",
    "power.draw": "88.10",
    "power.limit": "600.00",
    "clocks.sm": "2430",
    "clocks.max.sm": "2430",
    "clocks.mem": "12481",
    "clocks.max.mem": "12481",
    "pcie.link.gen.current": "5",
    "pcie.link.gen.max": "5",
    "pcie.link.width.current": "16",
    "pcie.link.width.max": "16",
    "clocks_throttle_reasons.active": "0x0000000000000001",
    "ecc.errors.uncorrected.volatile.total": "0",
}


@dataclass(frozen=True)
class Answer:
    status: int = 0
    out: str = ""
    err: str = ""


class UnknownInvocationError(Exception):
    """The console does not make this call, so the lab does not answer it."""


class Answers:
    """The host's tools, by name."""

    def __init__(self, supervisor: Supervisor, state: Path) -> None:
        self.supervisor = supervisor
        self.state = state
        self.tools: dict[str, Callable[[list[str]], Answer]] = {
            "systemctl": self.systemctl,
            "journalctl": self.journalctl,
            "systemd-analyze": self.systemd_analyze,
            "nvidia-smi": self.nvidia_smi,
            "logger": self.logger,
        }

    def answer(self, words: Sequence[str]) -> Answer:
        """The answer to one command line, its name first."""
        tool, *argv = words
        try:
            return self.tools.get(tool, unknown)(argv)
        except UnknownInvocationError:
            return Answer(USAGE, err=f"lab: {' '.join(words)}: not simulated\n")

    def systemctl(self, argv: list[str]) -> Answer:
        if argv == ["--version"]:
            return Answer(out="systemd 252 (252.39-1~deb12u2)\n+PAM +AUDIT +SELINUX default-hierarchy=unified\n")
        flags, plain = options(argv, {"--property": True, "-p": True, "--no-pager": False, "--no-block": False})
        verb, *names = plain or [""]
        if verb == "show" and names:
            return self.show(flags, names)
        if verb == "daemon-reload" and not names:
            self.supervisor.daemon_reload()
            return Answer()
        if verb in ("restart", "start", "stop") and names and "--no-block" in flags:
            return self.queue(verb, names)
        if verb == "reset-failed" and names:
            return self.reset_failed(names)
        raise UnknownInvocationError

    def show(self, flags: dict[str, list[str]], names: list[str]) -> Answer:
        wanted = [item for value in flags.get("--property", []) + flags.get("-p", []) for item in value.split(",")]
        blocks = []
        # A pattern stands for the units there are, as in systemctl.
        every = [each for name in names for each in (sorted(self.supervisor.services) if "*" in name else [name])]
        for name in every:
            known = show(self.supervisor, self.supervisor.service(name))
            unknown = sorted(set(wanted) - set(known))
            if unknown or not wanted:
                return Answer(USAGE, err=f"lab: systemctl show: properties not simulated: {', '.join(unknown)}\n")
            lines = []
            for key, value in known.items():
                if key not in wanted or (not value and key in REPEATED):
                    continue
                lines += [f"{key}={each}" for each in (value.split("\n") if key in REPEATED else [value])]
            blocks.append("".join(f"{line}\n" for line in lines))
        return Answer(out="\n".join(blocks))

    def queue(self, verb: str, names: list[str]) -> Answer:
        told: list[str] = []
        for name in names:
            service = self.supervisor.service(name)
            state, full = service.unit.load_state, service.unit.name
            if state == "not-found":
                return Answer(NOT_FOUND, err=f"Failed to {verb} {full}: Unit {full} not found.\n")
            if state == "masked":
                return Answer(1, err=f"Failed to {verb} {full}: Unit {full} is masked.\n")
            if state != "loaded":
                failed = f"Failed to {verb} {full}: Unit {full} has a bad unit file setting.\n"
                return Answer(1, err=f"{failed}See system logs and 'systemctl status {full}' for details.\n")
            if self.supervisor.needs_reload(service.unit):
                changed = f"The unit file, source configuration file or drop-ins of {full} changed on disk."
                told.append(f"Warning: {changed} Run 'systemctl daemon-reload' to reload units.\n")
            service.request(verb)
        return Answer(err="".join(told))

    def reset_failed(self, names: list[str]) -> Answer:
        for name in names:
            service = self.supervisor.service(name)
            if service.unit.load_state != "loaded":
                told = (
                    f"Failed to reset failed state of unit {service.unit.name}: Unit {service.unit.name} not loaded.\n"
                )
                return Answer(1, err=told)
            service.reset_failed()
        return Answer()

    def journalctl(self, argv: list[str]) -> Answer:
        known = {
            "--no-pager": False,
            "--quiet": False,
            "--all": False,
            "--dmesg": False,
            "--boot": False,
            "-k": False,
            "-b": False,
            "--output": True,
            "-o": True,
            "--output-fields": True,
            "--lines": True,
            "-n": True,
            "--since": True,
            "--after-cursor": True,
            "--grep": True,
        }
        if argv == ["--sync"]:
            return Answer()  # a line is in the lab's journal as soon as it was said
        flags, plain = options(argv, known)
        output = last_of(flags, "--output", "-o")
        lines = last_of(flags, "--lines", "-n")
        limit = int(lines) if lines else None
        grep = re.compile(flags["--grep"][-1]) if "--grep" in flags else None
        if "--dmesg" in flags or "-k" in flags:
            if output != "cat" or plain:
                raise UnknownInvocationError
            found = [line for line in self.kernel_log() if grep is None or grep.search(line)]
            found = found[-limit:] if limit else found
            return Answer(out="".join(f"{line}\n" for line in found)) if found else Answer(1)
        since = flags.get("--since", ["@0"])[-1]
        if output not in ("json", "cat") or not re.fullmatch(r"@\d+(\.\d+)?", since):
            raise UnknownInvocationError
        try:
            records = self.supervisor.journal.select(
                match_groups(plain),
                after=flags["--after-cursor"][-1] if "--after-cursor" in flags else None,
                since_us=int(float(since[1:]) * 1e6),
                last=limit,
                grep=grep,
            )
        except ValueError:
            return Answer(1, err="Failed to seek to cursor: Invalid argument\n")
        names = flags["--output-fields"][-1].split(",") if "--output-fields" in flags else None
        return Answer(out="".join(shown(record, output, names, everything="--all" in flags) for record in records))

    def kernel_log(self) -> list[str]:
        try:
            return (self.state / "kernel.log").read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return []

    def systemd_analyze(self, argv: list[str]) -> Answer:
        """`verify PATH`: like the original it warns of a lost line and still ends with 0."""
        _, plain = options(argv, {"--man": True, "--recursive-errors": True})
        if len(plain) != 2 or plain[0] != "verify":
            raise UnknownInvocationError
        path = Path(plain[1])
        unit = load(path.parent, path.name)
        if unit.load_state == "not-found":
            return Answer(1, err=f"Unit {path.name} not found.\n")
        told = list(unit.warnings)
        if unit.load_state == "bad-setting":
            told.append(f"Unit {unit.name} has a bad unit file setting.")
        missing = [command.path for command in unit.commands if not os.access(command.path, os.X_OK)]
        if unit.load_state == "loaded":
            told += [f"{unit.name}: Command {each} is not executable: No such file or directory" for each in missing]
        return Answer(int(unit.load_state != "loaded" or bool(missing)), err="".join(f"{line}\n" for line in told))

    def nvidia_smi(self, argv: list[str]) -> Answer:
        flags, plain = options(argv, {"--query-gpu": True, "--query-compute-apps": True, "--format": True})
        if flags.get("--query-compute-apps") == ["gpu_bus_id,pid,process_name,used_memory"]:
            return Answer(out="".join(self.gpu_users()))
        wanted = flags.get("--query-gpu", [""])[-1].split(",")
        if plain or not set(wanted) <= {*GPU_FIELDS, *GPU_HEALTH} or flags.get("--format") != ["csv,noheader,nounits"]:
            raise UnknownInvocationError
        if (self.state / "no-gpus").exists():
            return Answer(9, out="NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n")
        rows = []
        for index, used in enumerate(self.used_mib()):
            values = self.gpu_health(index) | {
                "index": str(index),
                "name": GPU_NAME,
                "memory.total": str(GPU_MIB),
                "memory.used": str(used),
                "driver_version": DRIVER,
                "uuid": f"GPU-{index:08x}-0000-4000-8000-{index:012x}",
            }
            rows.append(", ".join(values[name] for name in wanted) + "\n")
        return Answer(out="".join(rows))

    def gpu_health(self, index: int) -> dict[str, str]:
        """Clocks, link and throttling of one GPU: as it should be, or as a test wrote it down."""
        told = self.state / "gpu-health.json"
        other: dict[str, dict[str, str]] = json.loads(told.read_text(encoding="utf-8")) if told.exists() else {}
        usual = {name: value.format(index=index + 1) for name, value in GPU_HEALTH.items()}
        return usual | other.get(str(index), {})

    def gpu_users(self) -> list[str]:
        """The simulators and what they hold, one line a GPU."""
        rows = []
        for path in sorted(self.state.glob("gpu-*.json")):
            told = json.loads(path.read_text(encoding="utf-8"))
            if "pid" in told and Path(f"/proc/{told['pid']}").exists():
                bus = GPU_HEALTH["pci.bus_id"]
                rows += [
                    f"{bus.format(index=index + 1)}, {told['pid']}, python3, {told['used_mib']}\n"
                    for index in range(int(told["gpus"]))
                ]
        return rows

    def used_mib(self) -> list[int]:
        """What the simulators say they hold, while they live."""
        used = [3] * 8
        for path in self.state.glob("gpu-*.json"):
            told = json.loads(path.read_text(encoding="utf-8"))
            if "pid" in told and Path(f"/proc/{told['pid']}").exists():
                for index in range(min(int(told["gpus"]), len(used))):
                    used[index] = min(used[index] + int(told["used_mib"]), GPU_MIB)
        return used

    def logger(self, argv: list[str]) -> Answer:
        flags, plain = options(argv, {"-t": True})
        if not plain:
            raise UnknownInvocationError
        fields = {"SYSLOG_IDENTIFIER": (flags.get("-t") or ["root"])[-1], "_TRANSPORT": "syslog", "PRIORITY": "5"}
        self.supervisor.journal.add(" ".join(plain).encode("utf-8", "surrogateescape"), fields)
        return Answer()


def unknown(argv: list[str]) -> Answer:
    raise UnknownInvocationError


def options(argv: Sequence[str], known: dict[str, bool]) -> tuple[dict[str, list[str]], list[str]]:
    """Options with their values (`known`: whether one takes a value), and the other words. `--` ends the options."""
    found: dict[str, list[str]] = {}
    plain: list[str] = []
    words = iter(argv)
    for word in words:
        if word == "--":
            plain += words
        elif not word.startswith("-"):
            plain.append(word)
        else:
            name, equals, value = word.partition("=")
            if name not in known or (equals and not known[name]):
                raise UnknownInvocationError
            if known[name] and not equals:
                value = next(words, "")
            found.setdefault(name, []).append(value)
    return found, plain


def last_of(flags: dict[str, list[str]], *names: str) -> str:
    return next((flags[name][-1] for name in names if name in flags), "")


def match_groups(words: Sequence[str]) -> list[dict[str, list[str]]]:
    """FIELD=VALUE words: the same field twice is either, other fields are both, `+` begins a new alternative."""
    groups: list[dict[str, list[str]]] = [{}]
    for word in words:
        field, equals, value = word.partition("=")
        if word == "+":
            groups.append({})
        elif equals:
            groups[-1].setdefault(field, []).append(value)
        else:
            raise UnknownInvocationError
    return [group for group in groups if group]


def shown(record: Record, output: str, names: Sequence[str] | None, *, everything: bool) -> str:
    if output == "json":
        return record.shown(names, everything) + "\n"
    return record.message.decode("utf-8", "replace") + "\n"
