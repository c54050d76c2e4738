"""The lab answers as a real host does, and the scripts ask nothing else."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from console.lab.lab import Lab
from tests.contract.states import DROP_IN, UNITS
from tests.contract.table import TABLE, Row
from tests.hosts.engine_unit import install_engine
from tests.hosts.fleet import Fleet

ENGINE = "sglang-k26.service"
SCRIPTS = Path(__file__).parents[2] / "console" / "remote" / "scripts"
PATIENCE_S = 10.0
Told = subprocess.CompletedProcess[bytes]


@dataclass
class Place:
    """Somewhere to call the tools: `run` is one call, `write` a file with its folders."""

    units: str
    run: Callable[..., Told]
    write: Callable[[str, str], None]
    values: dict[str, str] = field(default_factory=dict)

    def out(self, *words: str) -> str:
        told = self.run(*words)
        assert told.returncode == 0, told
        return told.stdout.decode()

    def shown(self, unit: str, name: str) -> str:
        return self.out("systemctl", "show", "--no-pager", f"--property={name}", "--", unit).strip().partition("=")[2]

    def until(self, unit: str, name: str, value: str) -> None:
        end = time.monotonic() + PATIENCE_S
        while self.shown(unit, name) != value:
            assert time.monotonic() < end, f"{unit}: {name} is {self.shown(unit, name)}, not {value}"
            time.sleep(0.02)

    def prepare(self) -> None:
        """The units of the table, in the state it speaks of."""
        names = {name: f"contract-{name}.service" for name in (*UNITS, "masked", "absent")}
        for name, text in UNITS.items():
            self.write(f"{self.units}/{names[name]}", text)
        self.write(f"{self.units}/{names['edited']}.d/10-own.conf", DROP_IN)
        self.out("systemctl", "daemon-reload")
        for name in ("failed", "edited"):
            self.out("systemctl", "restart", "--no-block", "--", names[name])
        self.until(names["failed"], "ActiveState", "failed")
        self.until(names["edited"], "ActiveState", "active")
        self.write(f"{self.units}/{names['edited']}", UNITS["edited"].replace("1000", "2000"))
        self.values = {**names, "engine": ENGINE, "units": self.units}
        self.values["invocation"] = self.shown(ENGINE, "InvocationID")
        self.values["failed_invocation"] = self.shown(names["failed"], "InvocationID")
        self.out("journalctl", "--sync")
        lines = self.out(
            "journalctl", "--no-pager", "--quiet", "--all", "--output=json", f"_SYSTEMD_UNIT={names['failed']}"
        )
        self.values["cursor"] = str(json.loads(lines.splitlines()[0])["__CURSOR"])

    def restart(self) -> None:
        """A restart is another start, of the files as loaded; the count of automatic restarts begins again."""
        unit = self.values["edited"]
        self.out("systemctl", "daemon-reload")
        before = self.shown(unit, "InvocationID")
        self.out("systemctl", "restart", "--no-block", "--", unit)
        end = time.monotonic() + PATIENCE_S
        while self.shown(unit, "InvocationID") == before:
            assert time.monotonic() < end
            time.sleep(0.02)
        self.until(unit, "ActiveState", "active")
        self.until(unit, "Job", "")
        assert self.shown(unit, "NRestarts") == "0"
        assert self.shown(unit, "NeedDaemonReload") == "no"
        assert "argv[]=/bin/sleep 2000 ;" in self.shown(unit, "ExecStart")

    def check(self, row: Row) -> None:
        words = [word.format_map(self.values) for word in row.words]
        told = self.run(*words)
        end = time.monotonic() + PATIENCE_S
        while row.soon and not re.fullmatch(row.out, told.stdout.decode()) and time.monotonic() < end:
            time.sleep(0.02)
            told = self.run(*words)
        out, err = told.stdout.decode(), told.stderr.decode()
        assert told.returncode == row.status, out + err
        assert re.fullmatch(row.err, err), err
        if row.properties is not None:
            check_properties(out, row.properties)
        elif row.entries is not None:
            check_entries(out, row)
        else:
            assert re.fullmatch(row.out, out), out


def check_properties(out: str, expected: Mapping[str, str]) -> None:
    found: dict[str, list[str]] = {}
    for line in out.splitlines():
        name, equals, value = line.partition("=")
        assert equals, line
        found.setdefault(name, []).append(value)
    assert set(found) == set(expected)
    for name, values in found.items():
        for value in values:
            assert re.fullmatch(expected[name], value), f"{name}={value}"


def check_entries(out: str, row: Row) -> None:
    assert row.entries is not None
    entries = [json.loads(line) for line in out.splitlines()]
    assert entries
    for entry in entries:
        for name, pattern in row.entries.items():
            assert re.fullmatch(pattern, entry[name]), (name, entry)
        assert isinstance(entry["MESSAGE"], str) or all(isinstance(byte, int) for byte in entry["MESSAGE"])
    said = [entry["MESSAGE"] for entry in entries]
    assert [message for message in row.messages if message not in said] == [], said


@pytest.fixture(scope="module")
def lab_place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    lab = asyncio.run(Lab.start(tmp_path_factory.mktemp("contract") / "lab", load_s=2.0, speed=50.0))
    environ = {"PATH": f"{lab.folder}/bin:/usr/bin:/bin"}

    def run(tool: str, *words: str) -> Told:
        return subprocess.run([f"{lab.folder}/bin/{tool}", *words], env=environ, capture_output=True, timeout=20)

    def write(path: str, text: str) -> None:
        Path(path).parent.mkdir(exist_ok=True)
        Path(path).write_text(text, encoding="utf-8")

    try:
        place = Place(str(lab.layout.units), run, write)
        (lab.layout.units / "contract-masked.service").symlink_to("/dev/null")
        place.prepare()
        yield place
    finally:
        lab.stop_now()


@pytest.fixture(scope="module")
def real_place(fleet: Fleet) -> Place:
    host = fleet.fresh(1)[0]
    install_engine(host)

    def run(*words: str) -> Told:
        return host.run(*words, check=False)

    place = Place("/etc/systemd/system", run, host.write)
    host.run("ln", "-s", "/dev/null", f"{place.units}/contract-masked.service")
    place.prepare()
    place.values["timer"] = "contract-guard.timer"
    place.write(f"{place.units}/contract-guard.timer", "[Timer]\nOnActiveSec=900s\nUnit=contract-edited.service\n")
    return place


def by_name(row: Row) -> str:
    return row.name.replace(" ", "-")


@pytest.mark.parametrize("row", [row for row in TABLE if not row.real_only], ids=by_name)
def test_in_the_lab(row: Row, lab_place: Place) -> None:
    lab_place.check(row)


@pytest.mark.real_host
@pytest.mark.parametrize("row", [row for row in TABLE if not row.lab_only], ids=by_name)
def test_on_a_real_host(row: Row, real_place: Place) -> None:
    real_place.check(row)


def test_a_restart_in_the_lab(lab_place: Place) -> None:
    lab_place.restart()


@pytest.mark.real_host
def test_a_restart_on_a_real_host(real_place: Place) -> None:
    real_place.restart()


def call(words: list[str]) -> tuple[str, ...]:
    """A call without its values: tool, verb, names of options, fields that are matched."""
    tool, *rest = words
    if tool == "journal":  # the scripts' own function
        tool, rest = "journalctl", ["--no-pager", "--quiet", *rest]
    kept = []
    for word in rest:
        if word == "--":
            break
        if word.startswith("-") or "=" in word:
            # What is asked for is part of the question, what is searched for is not.
            kept.append(word if word.startswith(("--property=", "--output", "--query")) else word.partition("=")[0])
        elif word != "+" and (not kept or tool == "systemctl"):
            kept.append(word)
    return (tool, *sorted(kept))


def calls_of_the_scripts() -> set[tuple[str, ...]]:
    found = set()
    pattern = re.compile(
        r"(?<![\w./-])(systemctl|journal|journalctl|systemd-analyze|nvidia-smi|logger)\s+(?=[a-z-])([^|;)\n]*)"
    )
    for path in SCRIPTS.glob("*.sh"):
        for line in path.read_text(encoding="utf-8").splitlines():
            code = line.strip()
            if code.startswith(("#", "echo", "printf '", "journal()", "case ")) or code.endswith('--quiet "$@"'):
                continue
            for tool, rest in pattern.findall(code):
                words = shlex.split(re.sub(r"\s*\d?>(&\d|/dev/null).*", "", rest))
                found.add(call([tool, *words]))
    return found


def test_the_scripts_make_no_call_that_is_not_in_the_table() -> None:
    known = {call(list(row.words)) for row in TABLE}
    asked = calls_of_the_scripts()
    assert len(asked) >= 10
    assert asked - known == set()
