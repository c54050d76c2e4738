"""What nvidia-smi says of clocks, throttling, links and processes: from its text to the signs that are named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from console.analysis.diagnosis.hardware import judge
from console.facts.gpu_state import FIELDS, parse_hardware
from console.remote.scripts import load

CASES = Path(__file__).parents[1] / "cases" / "gpu"
EXPECTED: list[dict[str, Any]] = json.loads((CASES / "expected.json").read_text())


def sections(name: str) -> dict[str, bytes]:
    """A case file as the sections that the script on the host makes of the same output."""
    state, _, rest = (CASES / name).read_text().partition("#processes\n")
    processes, _, ours = rest.partition("#ours ")
    return {
        "gpu_state": state.removeprefix("#").encode(),
        "gpu_processes": b"status=0\n" + processes.encode(),
        "unit_processes": ours.encode(),
    }


@pytest.mark.parametrize("case", EXPECTED, ids=[case["file"] for case in EXPECTED])
def test_a_case(case: dict[str, Any]) -> None:
    found = judge(parse_hardware(sections(case["file"])))
    assert [[sign.kind, sign.text] for sign in found.signs] == case["signs"]
    if "clear" in case:
        assert list(found.clear) == case["clear"]
    assert list(found.unseen) == case.get("unseen", [])


def test_every_case_file_is_in_the_table() -> None:
    assert {case["file"] for case in EXPECTED} == {path.name for path in CASES.glob("*.txt")}


def test_the_script_asks_for_the_fields_in_our_order() -> None:
    assert f"--query-gpu={','.join(FIELDS)} " in load("look_speed.sh")


def test_an_xid_is_a_sign_even_where_the_gpus_cannot_be_seen() -> None:
    found = judge(parse_hardware({}, ("NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.",)))
    assert [sign.kind for sign in found.signs] == ["xid"]
    assert found.unseen == ("GPUs cannot be seen: nvidia-smi is not installed",)


def test_a_line_that_is_none_of_a_gpu_is_passed_over() -> None:
    good = sections("idle.txt")
    good["gpu_state"] += b"Warning: infoROM is corrupted at gpu 0000:1A:00.0\n9, x\n"
    assert len(parse_hardware(good).gpus) == 2
