"""What is not as recorded, and who it was as far as the host shows."""

from __future__ import annotations

import pytest

from console.engines.sglang import SGLang
from console.results.history import History
from console.results.queries.drift import RESTART, Drifted, drift
from console.schema.facts import Facts, HostState, LedgerEntry, Process, UnitFile, UnitState
from console.schema.outcome import Outcome
from tests.results.queries.conftest import Commit, change, run_id, stack

PATH = "/etc/systemd/system/x.service"
WORDS = ("python", "-m", "sglang.launch_server", "--model-path", "/m", "--context-length")

UNSEEN = f"by run {run_id(9)} of sam, whose record is not here"


def facts(context: str, *, running: str = "", head: str = "", invocation: str = "i3", ledger: str = "") -> Facts:
    text = f"{head}[Service]\nExecStart={' '.join(('/usr/bin/python', *WORDS[1:]))} {context}\n"
    return Facts(
        target="gpu7/llm",
        read_at="2026-03-09T00:00:00Z",
        host=HostState(),
        unit=UnitState(id="x.service", fragment_path=PATH, invocation_id=invocation),
        files=(UnitFile(path=PATH, real_path=PATH, kind="fragment", content=text.encode()),),
        process=Process(pid=7, argv=(*WORDS, running or context)),
        ledger=(LedgerEntry(run=run_id(9), operator="sam", summary=ledger),) if ledger else (),
    )


@pytest.fixture
def recorded(commit: Commit, history: History) -> History:
    """The last record: 32768 -> 200000 by us."""
    before = stack(context_length="32768", model_path="/m")
    after = stack(context_length="200000", model_path="/m")
    commit(
        7, settings=change("32768", "200000"), outcome=Outcome.VERIFIED, stack_before=before, stack_after=after,
        invocation_after="i3",
    )  # fmt: skip
    return history


def told(found: Drifted) -> list[tuple[str, str | None, str | None, str, str]]:
    return [(one.setting, one.recorded, one.now, one.where, one.how) for one in found.drifts]


def test_as_recorded_whatever_its_spelling(recorded: History) -> None:
    assert drift(recorded, facts("200000"), SGLang()).is_as_recorded
    assert drift(recorded, facts("200k"), SGLang()).is_as_recorded


@pytest.mark.parametrize(
    ("seen", "how"),
    [
        ({"context": "131072"}, "by hand"),
        ({"context": "32768"}, "put back by hand"),
        ({"context": "32768", "head": "# Ansible managed: do not edit\n"}, "reverted by its owner (Ansible)"),
        ({"context": "131072", "head": "# This file is managed by Puppet\n"}, "by its owner (Puppet)"),
        ({"context": "131072", "ledger": "context_length 200000 -> 131072"}, UNSEEN),
    ],
)  # fmt: skip
def test_who_it_was(recorded: History, seen: dict[str, str], how: str) -> None:
    (one,) = told(drift(recorded, facts(**seen), SGLang()))
    assert one == ("context_length", "200000", seen["context"], "disk and running", how)


def test_on_disk_only_and_running_only(recorded: History) -> None:
    (one,) = told(drift(recorded, facts("131072", running="200000"), SGLang()))
    assert one[3] == "disk"
    (other,) = told(drift(recorded, facts("200000", running="131072"), SGLang()))
    assert other[2:4] == ("131072", "running")


def test_a_restart_by_somebody_else(recorded: History) -> None:
    (one,) = told(drift(recorded, facts("200000", invocation="abcdef123456"), SGLang()))
    assert one == (RESTART, "i3", "abcdef12", "process", "by somebody else, or at a boot")


def test_a_target_without_a_record(recorded: History) -> None:
    found = drift(recorded, facts("1").model_copy(update={"target": "gpu9/llm"}), SGLang())
    assert "history adopt" in found.why
    assert not found.is_as_recorded
