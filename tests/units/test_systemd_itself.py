"""The parser cases against the systemd of this machine, where there is one that answers `--test`."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from console.units.effective import EffectiveUnit, UnitSource
from console.units.notices import notices

CASES = Path(__file__).parent.parent / "cases/units/parser_cases.jsonl"


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


@pytest.fixture
def folder() -> Iterator[Path]:
    # Not tmp_path: another uid must reach it.
    with tempfile.TemporaryDirectory(prefix="units.") as found:
        yield Path(found)


def test_this_systemd_reads_the_cases_as_they_say(folder: Path) -> None:
    if not shutil.which("systemd") or not shutil.which("setpriv"):
        pytest.skip("no systemd here")
    cases = {f"{case['case']}.service": case for case in map(json.loads, CASES.read_text().splitlines())}
    contents = {name: base64.b64decode(case["bytes_b64"]) for name, case in cases.items()}
    answers = ask_systemd(folder, contents)
    if answers.get("bom.service") != ("loaded", ["/bin/x"]):
        pytest.skip("the systemd here does not answer --test")
    wrong: list[tuple[str, tuple[str, list[str]]]] = []
    for name, case in cases.items():
        state, commands = answer = answers.get(name, ("missing", []))
        unit = EffectiveUnit(name, (UnitSource(name, contents[name]),))
        is_fatal = any(notice.is_fatal for notice in notices(unit))
        if (state == "loaded") == is_fatal or (state == "loaded" and len(commands) != len(case["commands"])):
            wrong.append((name, answer))
        for words, shown in zip(case["commands"], commands, strict=False):
            # What systemd quotes for showing, or fills in, is left to the expected words of the case.
            if not re.search(r'["\\$%]', shown) and "%" not in "".join(words) and shown != " ".join(words):
                wrong.append((name, answer))
    assert wrong == []
