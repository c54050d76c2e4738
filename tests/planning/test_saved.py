"""A plan in a file: what comes back is what was kept, it is used once, and only on the host it was made for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from console.errors import InvalidFileError, RefusedError, StalePlanError, StateError
from console.planning import policy
from console.planning.saved import SavedPlan, check_fresh, load_plan, save_plan, unused
from console.runs.directory import RunDirectory
from console.schema.facts import Facts
from console.schema.hosts import Inventory, load_inventory
from console.schema.plan import Plan, PlannedStep
from console.schema.runbook import parse_runbook
from console.secrets import Redactor
from tests.fakes import FRAGMENT, NEW, UNIT, FakeRemote, facts, host, plan, sha256, target, unit_file

TEXT = 'schema = 1\nname = "extend-context"\n[[step]]\nuses = "service.restart"\n'
RUNBOOK = parse_runbook(TEXT, {"schema": 1, "name": "extend-context", "step": [{"uses": "service.restart"}]}, "b.toml")


def made(**more: Any) -> Plan:
    given: dict[str, Any] = {
        "deciding": {FRAGMENT: sha256(UNIT.encode())},
        "boot_id": "boot-1",
        "invocation_id": "1" * 32,
        "runbook_text": TEXT,
    }
    return plan(**(given | more))


def inventory(tmp_path: Path) -> Inventory:
    path = tmp_path / "hosts.toml"
    path.write_text('schema = 1\n[results]\npath = "kept"\npush = "never"\n')
    return load_inventory(path)


def keep(tmp_path: Path, *plans: Plan, plan_id: str = "P1") -> Path:
    path = tmp_path / "plan.json"
    save_plan(path, RUNBOOK, inventory(tmp_path), plans or [made()], plan_id, Redactor())
    return path


def test_what_is_kept_comes_back(tmp_path: Path) -> None:
    saved = load_plan(keep(tmp_path))
    assert saved.file.plans == (made(),)
    assert saved.file.plans[0].digest() == made().digest()
    assert saved.targets == [target()]
    assert (saved.runbook.name, saved.runbook.path) == ("extend-context", "b.toml")
    now = saved.inventory_now()
    assert (now.results_path, now.results.push) == (tmp_path / "kept", "never")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not a plan"),
        ("[]", "schema = None"),
        ("{}", "schema = None"),
        ('{"schema": 2}', "schema = 2: this program reads plans of schema 1"),
        ('{"schema": 1}', "not a plan: console_version"),
        ('{"schema": 1, "console_version": "0", "runbook": "x"}', "has no target"),
        ('{"schema": 1, "console_version": "0", "runbook": "x", "later": 1}', "not a plan: later"),
    ],
)
def test_a_file_that_is_no_plan(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "plan.json"
    path.write_text(text)
    with pytest.raises(InvalidFileError, match=said) as caught:
        load_plan(path)
    assert caught.value.exit_code == 2
    assert str(path) in caught.value.where


def test_a_file_that_is_not_there_or_not_text(tmp_path: Path) -> None:
    with pytest.raises(InvalidFileError, match="no such file"):
        load_plan(tmp_path / "none.json")
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidFileError, match="not a plan"):
        load_plan(tmp_path / "bytes.json")
    with pytest.raises(InvalidFileError):
        load_plan(tmp_path)


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(StateError, match="cannot write"):
        save_plan(tmp_path / "none" / "plan.json", RUNBOOK, inventory(tmp_path), [made()], "P1", Redactor())


async def test_on_the_host_it_was_made_for_it_is_handed_out(tmp_path: Path) -> None:
    hand_out = load_plan(keep(tmp_path)).planners()["node7/chat"]
    assert await hand_out(facts(), FakeRemote()) == made()
    with pytest.raises(StalePlanError):
        await hand_out(facts(UNIT + "#\n"), FakeRemote())


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        (facts(UNIT + "# edited\n"), f"{FRAGMENT} changed"),
        (facts(environment_files={"/etc/default/chat": "A=1\n"}), "/etc/default/chat changed"),
        (facts().model_copy(update={"files": ()}), f"{FRAGMENT} changed"),
        (
            facts().model_copy(update={"files": (unit_file(FRAGMENT, UNIT, missing=True),)}),
            f"{FRAGMENT} changed",
        ),
        (facts(host=host(boot_id="boot-2")), "the host was rebooted"),
        (facts(unit={"invocation_id": NEW}), "chat.service was started again"),
    ],
    ids=["edited", "new file", "gone from the list", "missing", "reboot", "restart"],
)
def test_a_host_that_is_no_longer_as_it_was(seen: Facts, said: str) -> None:
    with pytest.raises(StalePlanError, match=said) as caught:
        check_fresh(made(), seen)
    assert caught.value.exit_code == 8
    assert "nothing was written" in caught.value.message


def test_a_reboot_is_not_told_as_a_restart_too() -> None:
    with pytest.raises(StalePlanError) as caught:
        check_fresh(made(), facts(host=host(boot_id="boot-2"), unit={"invocation_id": NEW}))
    assert "started again" not in caught.value.message


CHANGED = (
    '{"v":1,"seq":1,"type":"change.intended","step":"r","kind":"reload",'
    '"change":{"kind":"reload","id":"c1","step":"r","unit":"chat.service"}}\n'
)
REFUSED = '{"v":1,"seq":1,"type":"step.finished","step":"lock","uses":"lock","outcome":"refused"}\n'


def used_by(state: Path, run: str, text: str, events: str = CHANGED) -> None:
    folder = state / "console" / "runs" / run
    folder.mkdir(parents=True)
    (folder / "plan.json").write_text(text)
    (folder / "events.jsonl").write_text(events)


def saved_as(tmp_path: Path, plan_id: str) -> SavedPlan:
    return load_plan(keep(tmp_path, plan_id=plan_id))


def test_a_plan_is_used_once(tmp_path: Path) -> None:
    environment = {"XDG_STATE_HOME": str(tmp_path / "state")}
    unused(saved_as(tmp_path, "P1"), environment)
    used_by(tmp_path / "state", "R0", "torn{")
    used_by(tmp_path / "state", "R1", "[1]")
    used_by(tmp_path / "state", "R2", json.dumps({"plan_id": "P1"}))
    with pytest.raises(StalePlanError, match="carried out by run R2"):
        unused(saved_as(tmp_path, "P1"), environment)
    unused(saved_as(tmp_path, "P2"), environment)


def test_a_plan_without_an_id_matches_no_run(tmp_path: Path) -> None:
    used_by(tmp_path / "state", "R1", json.dumps({"plan_id": ""}))
    unused(saved_as(tmp_path, ""), {"XDG_STATE_HOME": str(tmp_path / "state")})


def test_a_plan_that_changed_nothing_may_be_tried_again(tmp_path: Path) -> None:
    """After a no, a lock held by somebody else, or a host that did not answer."""
    used_by(tmp_path / "state", "R1", json.dumps({"plan_id": "P1"}), REFUSED)
    unused(saved_as(tmp_path, "P1"), {"XDG_STATE_HOME": str(tmp_path / "state")})


def test_a_plan_that_is_being_carried_out_is_used(tmp_path: Path) -> None:
    used_by(tmp_path / "state", "R1", json.dumps({"plan_id": "P1"}), REFUSED)
    with RunDirectory(tmp_path / "state" / "console" / "runs" / "R1") as directory:
        directory.take()
        with pytest.raises(StalePlanError, match="being carried out by run R1"):
            unused(saved_as(tmp_path, "P1"), {"XDG_STATE_HOME": str(tmp_path / "state")})


def test_how_a_host_is_protected_is_the_inventory_s_word_of_now(tmp_path: Path) -> None:
    saved = load_plan(keep(tmp_path))
    assert [at.host.protected for at in saved.targets_now(None)] == [False]
    protected = target(protected=True).host
    assert [at.host.protected for at in saved.targets_now(Inventory(schema=1, hosts={"node7": protected}))] == [True]
    assert [at.host.protected for at in saved.targets_now(Inventory(schema=1, hosts={"node8": protected}))] == [False]


def test_a_file_of_plans_holds_no_secret(tmp_path: Path) -> None:
    redactor = Redactor()
    redactor.learn("s3cr3t-word-1")
    look = PlannedStep(
        id="look",
        index=1,
        uses="host.command",
        title="look",
        on_failure="stop",
        fields={"command": "curl s3cr3t-word-1", "mutates": False},
    )
    save_plan(tmp_path / "p.json", RUNBOOK, inventory(tmp_path), [made(steps=(look,))], "P1", redactor)
    assert "s3cr3t-word-1" not in (tmp_path / "p.json").read_text()
    (kept,) = load_plan(tmp_path / "p.json").file.plans
    with pytest.raises(RefusedError, match="masked where it was kept"):
        policy.whole(kept)
