"""What would not come back is refused before the first change; what is only suspicious is said."""

from __future__ import annotations

from typing import Any

import pytest

from console.errors import RefusedError
from console.schema.facts import Facts, PathCheck
from console.steps.base import Look
from console.steps.host_preflight import NEEDED_BYTES, HostPreflight, comes_back, refusals, warnings
from tests.fakes import SGLANG, effective, facts, host, state, target


def read(**of_host: Any) -> Facts:
    return facts(host=host(**of_host))


def path(kind: str, exists: bool) -> PathCheck:
    return PathCheck.model_validate({"path": f"/srv/{kind}", "exists": exists, "kind": kind})


def plan(seen: Facts) -> list[str]:
    """The warnings of a preflight that passes."""
    said: list[str] = []
    look = Look(target(), seen, SGLANG, effective(""), "preflight", "c1", on_warning=said.append)
    assert list(HostPreflight().plan(look)) == [], "a preflight changes nothing"
    return said


def test_a_host_in_order_says_nothing() -> None:
    assert refusals(facts()) == []
    assert plan(facts()) == []


@pytest.mark.parametrize("kind", ["binary", "model"])
def test_a_missing_path_is_refused(kind: str) -> None:
    assert refusals(facts(paths=(path(kind, False),))) == [f"{kind} /srv/{kind} is missing"]
    assert refusals(facts(paths=(path(kind, True),))) == []


def test_a_missing_folder_is_not_the_commands_business() -> None:
    assert refusals(facts(paths=(path("folder", False),))) == []


@pytest.mark.parametrize(
    ("name", "label"),
    [("free_bytes_unit_folder", "the unit's folder"), ("free_bytes_state_folder", "the ledger's folder")],
)
def test_room_for_a_write(name: str, label: str) -> None:
    assert refusals(read(**{name: NEEDED_BYTES})) == []
    assert refusals(read(**{name: NEEDED_BYTES - 1})) == [f"63 MiB free for {label}, 64 MiB needed"]
    assert refusals(read(**{name: 0})) == [f"0 MiB free for {label}, 64 MiB needed"]
    assert refusals(read(**{name: None})) == []
    assert warnings(read(**{name: None})) == [f"free space of {label} cannot be seen"]


def test_a_driver_that_differs_from_its_library() -> None:
    seen = read(driver_mismatch=True, kernel_driver="550.90.07", library_driver="550.120")
    (said,) = refusals(seen)
    assert "kernel driver 550.90.07 and user library 550.120 differ" in said
    assert "driver 550.90.07 != libraries 550.120" in comes_back(seen)
    (said,) = refusals(read(driver_mismatch=True))
    assert "another version" in said


def test_every_refusal_is_told_at_once_with_the_target_and_what_to_do() -> None:
    seen = facts(paths=(path("model", False),), host=host(free_bytes_unit_folder=0, driver_mismatch=True))
    with pytest.raises(RefusedError) as caught:
        plan(seen)
    assert caught.value.message.count(";") == 2
    assert caught.value.where == "node7/chat"
    assert "would not come back" in caught.value.hint


@pytest.mark.parametrize("word", ["enabled", "enabled-runtime", "static", "generated", "indirect", "alias"])
def test_units_that_start_at_boot(word: str) -> None:
    assert warnings(facts(unit={"unit_file_state": word})) == []


@pytest.mark.parametrize(("word", "said"), [("disabled", "disabled"), ("linked", "linked"), ("", "not enabled")])
def test_a_unit_that_does_not_start_at_boot(word: str, said: str) -> None:
    assert warnings(facts(unit={"unit_file_state": word})) == [f"chat.service is {said}: it will not start at boot"]


def test_the_last_xid_lines_are_shown() -> None:
    lines = tuple(f"NVRM: Xid (PCI:0000:01:00): {number}" for number in (13, 31, 63, 79))
    said = warnings(read(xid_lines=lines))
    assert said == [f"Xid since boot: {line}" for line in lines[1:]]
    assert "4 Xid lines" in comes_back(read(xid_lines=lines))


def test_what_cannot_be_seen_is_said() -> None:
    assert plan(read(xid_reason="no right to read the kernel's log")) == [
        "Xid lines cannot be seen: no right to read the kernel's log"
    ]
    assert plan(read(gpu_reason="nvidia-smi is not installed")) == ["GPUs cannot be seen: nvidia-smi is not installed"]
    assert comes_back(read(xid_reason="no right")) == []


@pytest.mark.parametrize(
    ("kind", "timeout_s", "warns"),
    [("notify", 90.0, True), ("forking", 90.0, True), ("notify", None, False), ("simple", 90.0, False)],
)
def test_a_start_that_systemd_would_cut_short(kind: str, timeout_s: float | None, warns: bool) -> None:
    seen = facts(unit=state(type=kind, timeout_start_s=timeout_s).model_dump())
    assert warnings(seen) == ([f"Type={kind} with TimeoutStartSec=90s: a slower load is killed"] if warns else [])


def test_the_title_names_the_host() -> None:
    assert HostPreflight().title(target()) == "would node7 start it again?"
