"""What would not come back is refused before the first change; what is only suspicious is said."""

from __future__ import annotations

from typing import Any

import pytest

from console.errors import RefusedError
from console.planning import policy
from console.schema.facts import Facts, PathCheck
from console.schema.surroundings import GpuHealth, GpuUser, Surroundings
from console.steps.base import Look
from console.steps.coming_back import NEEDED_BYTES, SHM, comes_back, reasons, verdict, warnings
from console.steps.host_preflight import HostPreflight
from tests.fakes import SGLANG, effective, facts, host, state, target
from tests.fakes import plan as planned


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
    assert reasons(facts()) == []
    assert plan(facts()) == []


@pytest.mark.parametrize("kind", ["binary", "model"])
def test_a_missing_path_is_refused(kind: str) -> None:
    assert reasons(facts(paths=(path(kind, False),))) == [f"{kind} /srv/{kind} is missing"]
    assert reasons(facts(paths=(path(kind, True),))) == []


def test_a_missing_folder_is_not_the_commands_business() -> None:
    assert reasons(facts(paths=(path("folder", False),))) == []


@pytest.mark.parametrize(
    ("name", "label"),
    [("free_bytes_unit_folder", "the unit's folder"), ("free_bytes_state_folder", "the ledger's folder")],
)
def test_room_for_a_write(name: str, label: str) -> None:
    assert reasons(read(**{name: NEEDED_BYTES})) == []
    assert reasons(read(**{name: NEEDED_BYTES - 1})) == [f"63 MiB free for {label}, 64 MiB needed"]
    assert reasons(read(**{name: 0})) == [f"0 MiB free for {label}, 64 MiB needed"]
    assert reasons(read(**{name: None})) == []
    assert warnings(read(**{name: None})) == [f"free space of {label} cannot be seen"]


def test_a_driver_that_differs_from_its_library() -> None:
    seen = read(driver_mismatch=True, kernel_driver="550.90.07", library_driver="550.120")
    (said,) = reasons(seen)
    assert "kernel driver 550.90.07 and user library 550.120 differ" in said
    assert "driver 550.90.07 != libraries 550.120" in comes_back(seen)
    (said,) = reasons(read(driver_mismatch=True))
    assert "another version" in said


def test_every_refusal_is_told_at_once_with_the_target_and_what_to_do() -> None:
    seen = facts(paths=(path("model", False),), host=host(free_bytes_unit_folder=0, driver_mismatch=True))
    blockers: list[str] = []
    look = Look(target(), seen, SGLANG, effective(""), "preflight", "c1", on_blocker=blockers.append)
    assert list(HostPreflight().plan(look)) == []
    assert len(blockers) == 3
    assert verdict(seen) == f"restart would not come back: {'; '.join(blockers)}"
    refused = planned(wont_come_back=tuple(blockers))
    with pytest.raises(RefusedError, match="would not come back") as caught:
        policy.comes_back(refused, "")
    assert caught.value.where == "node7/chat"
    policy.comes_back(refused, "the other host carries the load")


@pytest.mark.parametrize("word", ["enabled", "enabled-runtime", "static", "generated", "indirect", "alias"])
def test_units_that_start_at_boot(word: str) -> None:
    assert warnings(facts(unit={"unit_file_state": word})) == []


@pytest.mark.parametrize(("word", "said"), [("disabled", "disabled"), ("linked", "linked"), ("", "not enabled")])
def test_a_unit_that_does_not_start_at_boot(word: str, said: str) -> None:
    assert warnings(facts(unit={"unit_file_state": word})) == [f"chat.service is {said}: it will not start at boot"]


def test_the_last_xid_lines_are_shown() -> None:
    lines = tuple(f"NVRM: Xid (PCI:0000:01:00): {number}" for number in (13, 31, 63, 999))
    said = warnings(read(xid_lines=lines))
    assert [text.partition(" on GPU 0000:01:00: ")[0] for text in said] == ["Xid 31", "Xid 63", "Xid 999"]
    assert said[2].endswith("not in our table")
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


def around(**of_it: Any) -> Facts:
    return facts().model_copy(update={"around": Surroundings(**of_it)})


@pytest.mark.parametrize("number", [48, 62, 79, 95, 119, 120, 154])
def test_after_some_xids_nothing_starts_on_that_gpu(number: int) -> None:
    seen = read(xid_lines=(f"NVRM: Xid (PCI:0000:c1:00): {number}, pid='<unknown>', name=<unknown>",))
    (said,) = reasons(seen)
    assert said.startswith(f"Xid {number} on GPU 0000:c1:00: ")
    assert verdict(seen).startswith("restart would not come back: Xid")


@pytest.mark.parametrize(
    ("of_it", "said"),
    [
        ({"fabric_manager": "inactive"}, "fabric manager is inactive"),
        ({"fabric_manager": ""}, "fabric manager is not there"),
        ({"gpu_health": (GpuHealth(index=3, uncorrected=2),)}, "GPU 3 counts 2 uncorrectable memory errors"),
        ({"image_missing": "vllm/vllm-openai:v9"}, "image vllm/vllm-openai:v9 is not on this host"),
        ({"free_bytes": {"/": 1}}, "0 MiB free for /,"),
        ({"free_bytes": {SHM: 1}}, "0 MiB free in /dev/shm"),
    ],
)
def test_what_stands_around_it_may_keep_it_down(of_it: dict[str, Any], said: str) -> None:
    (found,) = reasons(around(**of_it))
    assert said in found


@pytest.mark.parametrize(
    ("of_it", "said"),
    [
        ({"gpu_health": (GpuHealth(index=1, remap_pending=True),)}, "GPU 1 has memory rows to replace"),
        ({"nvrm_lines": ("NVRM: API mismatch: the client",)}, "the driver says: NVRM: API mismatch"),
        (
            {"reboot_required": True, "reboot_packages": ("linux-image", "nvidia-driver")},
            "the host asks for a reboot (linux-image, nvidia-driver)",
        ),
        (
            {"gpu_users": (GpuUser(pid=77, memory_mib=4096, group="/system.slice/jupyter.service", command="python"),)},
            "process 77 of /system.slice/jupyter.service is on the GPUs with 4096 MiB and not of this unit: python",
        ),
    ],
)
def test_or_is_only_suspicious(of_it: dict[str, Any], said: str) -> None:
    seen = around(**of_it)
    assert reasons(seen) == []
    (found,) = warnings(seen)
    assert said in found


def test_a_fabric_manager_that_runs_and_a_gpu_without_errors_are_no_reason() -> None:
    seen = around(fabric_manager="active", gpu_health=(GpuHealth(index=0, uncorrected=0, remap_pending=False),))
    assert (verdict(seen), warnings(seen)) == ("restart safe", [])


def test_a_start_that_took_longer_than_systemd_would_wait_now() -> None:
    seen = facts(unit=state(type="forking", timeout_start_s=90.0).model_dump()).model_copy(
        update={"load_times_s": (240.0,)}
    )
    assert reasons(seen) == ["the last start took 240 s, and TimeoutStartSec=90s would end it before"]


@pytest.mark.parametrize(
    ("line", "downloads"),
    [
        ("ExecStartPre=/usr/bin/docker pull registry.test/engine:1", True),
        ("ExecStartPre=/usr/bin/docker compose -f /srv/c.yaml pull", True),
        ("ExecStartPre=/usr/bin/git -C /srv/engine pull", True),
        ("ExecStartPre=/opt/bin/huggingface-cli download org/model", True),
        ("ExecStartPre=/usr/bin/docker rm -f engine", False),
        ("ExecStartPre=/usr/bin/sleep 1", False),
    ],
)
def test_a_command_that_downloads_before_the_start_is_named(line: str, downloads: bool) -> None:
    unit = effective(f"[Service]\n{line}\nExecStart=/bin/engine\n")
    found = [text for text in warnings(facts(), unit) if "downloads" in text]
    assert bool(found) == downloads
    assert all(text.startswith("/etc/systemd/system/chat.service:2: ExecStartPre downloads") for text in found)
