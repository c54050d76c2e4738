"""What is refused, with which exit code, before a host is asked and before the first change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from console.errors import (
    ConsoleError,
    EngineAuthError,
    LockHeldError,
    PendingChangesError,
    RefusedError,
    SudoError,
    UsageError,
)
from console.planning import policy
from console.schema.change import RestartChange
from console.schema.facts import LockState, UserUnit
from console.schema.hosts import Service, Target
from console.schema.plan import Activation, FileEdit, Plan
from console.schema.runbook import Runbook
from tests.fakes import FRAGMENT, facts, host, plan, serving, target, unit_file

RESTART = RestartChange(id="c1", step="restart", unit="chat.service", invocation_before="")


def runbook(*steps: dict[str, Any], **more: Any) -> Runbook:
    return Runbook.model_validate({"schema": 1, "name": "x", "step": steps or [{"uses": "service.restart"}]} | more)


def attended(book: Runbook, here: Target | None = None, **how: Any) -> None:
    given: dict[str, Any] = {"terminal": False, "yes": False, "reason": ""}
    policy.attended(book, [here or target()], **(given | how))


def test_at_a_terminal_or_with_yes_anything_may_begin() -> None:
    attended(runbook(confirm="Sure?"), terminal=True)
    attended(runbook(confirm="Sure?"), yes=True)


@pytest.mark.parametrize(
    "steps",
    [
        [{"uses": "unit.set", "setting": "context_length", "to": 1}],
        [{"uses": "systemd.daemon_reload"}],
        [{"uses": "service.restart"}],
        [{"uses": "host.command", "command": "reboot"}],
        [{"uses": "host.preflight"}, {"uses": "service.restart"}],
    ],
)
def test_without_a_terminal_a_change_needs_a_yes_though_the_runbook_has_no_question(steps: list[Any]) -> None:
    with pytest.raises(UsageError, match="no terminal to ask at") as caught:
        attended(runbook(*steps))
    assert caught.value.exit_code == 2
    attended(runbook(*steps, unattended="proceed"))
    attended(runbook(*steps), yes=True)


@pytest.mark.parametrize(
    "steps",
    [
        [{"uses": "host.preflight"}, {"uses": "service.wait_ready"}, {"uses": "service.verify"}],
        [{"uses": "host.command", "command": "uptime", "mutates": False}],
    ],
)
def test_looking_needs_nobody_unless_the_runbook_asks(steps: list[Any]) -> None:
    attended(runbook(*steps))
    with pytest.raises(UsageError):
        attended(runbook(*steps, confirm="Sure?"))


def test_a_protected_host_needs_a_reason_even_at_a_terminal() -> None:
    here = target(protected=True)
    for how in ({"terminal": True}, {"yes": True}, {}):
        with pytest.raises(UsageError, match="node7 is protected: a change there needs a reason"):
            attended(runbook(unattended="proceed"), here, **how)
    attended(runbook(), here, terminal=True, reason="planned")
    attended(runbook(), here, yes=True, reason="planned")


def test_a_protected_host_is_never_changed_unattended_without_yes() -> None:
    with pytest.raises(UsageError, match="protected and there is no terminal"):
        attended(runbook(unattended="proceed"), target(protected=True), reason="planned")


def test_a_key_that_is_not_set_is_named() -> None:
    here = target().model_copy(
        update={"service": Service(unit="x.service", engine="sglang", url="http://h:1", api_key_env="CHAT_KEY")}
    )
    for environment in ({}, {"CHAT_KEY": ""}):
        with pytest.raises(UsageError, match="node7/chat: the variable CHAT_KEY is not set"):
            policy.keys([target(), here], environment)
    policy.keys([target(), here], {"CHAT_KEY": "x"})


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ("not-found", "no unit chat.service"),
        ("masked", "is masked"),
        ("bad-setting", r"systemd cannot load chat\.service \(bad-setting\)"),
        ("error", "cannot load"),
    ],
)
def test_a_unit_that_cannot_be_used(state: str, said: str) -> None:
    with pytest.raises(RefusedError, match=said) as caught:
        policy.usable(facts(unit={"load_state": state}))
    assert caught.value.where == "node7/chat"
    assert caught.value.hint


def test_a_unit_of_a_users_own_manager_is_named_with_the_way_on() -> None:
    theirs = UserUnit(user="kim", uid=1003, path="/home/kim/.config/systemd/user/chat.service", running=True)
    missing = facts(unit={"load_state": "not-found"})

    with pytest.raises(RefusedError) as caught:
        policy.usable(missing.model_copy(update={"user_units": (theirs,)}))

    said = str(caught.value)
    assert "is a user unit of kim (/home/kim/.config/systemd/user/chat.service, running)" in said
    assert "loginctl enable-linger kim" in said
    assert "User=kim" in caught.value.hint
    assert "sudo -u kim XDG_RUNTIME_DIR=/run/user/1003 systemctl --user daemon-reload" in caught.value.hint
    stays = theirs.model_copy(update={"linger": True})
    with pytest.raises(RefusedError) as caught:
        policy.usable(missing.model_copy(update={"user_units": (stays, theirs)}))
    assert "and of 1 more" in str(caught.value)
    assert "logs out" not in str(caught.value)


@pytest.mark.parametrize("active", ["active", "inactive", "failed", "activating"])
def test_a_unit_that_does_not_run_can_still_be_used(active: str) -> None:
    policy.usable(facts(unit={"active_state": active}))


def test_a_file_that_cannot_be_read_is_named() -> None:
    file = unit_file("/etc/chat.env", "", error="permission denied")
    with pytest.raises(RefusedError, match=r"/etc/chat\.env cannot be read: permission denied"):
        policy.usable(facts().model_copy(update={"files": (*facts().files, file)}))


def test_an_engine_that_refuses_our_key_could_not_prove_anything() -> None:
    with pytest.raises(EngineAuthError, match="401"):
        policy.usable(facts(serving=serving(refused=True)))


def test_a_lock_of_another_run() -> None:
    seen = facts(lock=LockState(held=True, run="R1", operator="kim", since="03:02"))
    with pytest.raises(LockHeldError, match="run R1 of kim holds the lock since 03:02") as caught:
        policy.unlocked(seen)
    assert caught.value.exit_code == 6
    policy.unlocked(seen, ["R1"])
    policy.unlocked(facts(lock=LockState(held=False, run="R1")))


def test_a_lock_that_tells_nothing_of_its_holder() -> None:
    with pytest.raises(LockHeldError, match="run unknown of somebody holds the lock since \\?"):
        policy.unlocked(facts(lock=LockState(held=True)), [""])


FOREIGN = Activation(words_added=("--tp-size 8",), words_removed=("--tp-size 4",))


def test_somebodys_words_need_accept_pending() -> None:
    made = plan(changes=(RESTART,), activation=FOREIGN)
    with pytest.raises(PendingChangesError) as caught:
        policy.pending(made, accept=False)
    assert "- --tp-size 4\n    + --tp-size 8" in caught.value.message
    assert "--accept-pending" in caught.value.hint
    policy.pending(made, accept=True)


@pytest.mark.parametrize(
    "made",
    [
        plan(changes=(RESTART,), activation=Activation(environment=("A: 1 -> 2",))),
        plan(changes=(RESTART,), activation=Activation(reason="it cannot be seen")),
        plan(changes=(), activation=FOREIGN),
        plan(changes=(RESTART,)),
    ],
    ids=["environment", "unseen", "no restart", "nothing"],
)
def test_nothing_else_does(made: Plan) -> None:
    policy.pending(made, accept=False)


@pytest.mark.parametrize(
    ("sudo", "said"),
    [("password", "wants a password"), ("refused", "is not allowed"), ("absent", "there is no sudo")],
)
def test_a_change_needs_sudo(sudo: str, said: str) -> None:
    seen = facts(host=host(sudo=sudo))
    with pytest.raises(SudoError, match=f"{said}.* for ops") as caught:
        policy.permitted(plan(changes=(RESTART,)), seen)
    assert caught.value.exit_code == 7
    policy.permitted(plan(), seen)


def test_a_sudo_that_asks_at_each_call_needs_somebody_who_stays() -> None:
    waits, spent = (facts(host=host(sudo=sudo)) for sudo in ("each_call", "one_time"))
    changing = plan(changes=(RESTART,))
    for seen, said in ((waits, "waits for an approval at each call"), (spent, "not a second time")):
        with pytest.raises(SudoError, match=said) as caught:
            policy.permitted(changing, seen)
        assert "console doctor node7/chat --sudoers" in caught.value.hint
    policy.permitted(changing, waits, be_here=True)
    with pytest.raises(SudoError, match="not a second time"):
        policy.permitted(changing, spent, be_here=True)


@pytest.mark.parametrize("sudo", ["root", "passwordless"])
def test_with_rights_it_is_permitted(sudo: str) -> None:
    policy.permitted(plan(changes=(RESTART,)), facts(host=host(sudo=sudo)))


SYSTEM = "/etc/systemd/system"


def edited(path: str) -> Plan:
    edit = FileEdit(
        path=path, real_path=path, splices=(), sha256_before="", sha256_after="", diff="", steps=(), change="c1"
    )
    return plan(edits=(edit,))


def test_such_a_file_is_not_edited() -> None:
    with pytest.raises(RefusedError, match=r"decides every instance of chat@\.service") as caught:
        policy.of_this_unit(edited(f"{SYSTEM}/chat@.service"), facts())
    assert "drop-in" in caught.value.hint
    policy.of_this_unit(edited(FRAGMENT), facts())


def test_such_a_file_is_not_edited_through_a_link_either() -> None:
    (edit,) = edited(FRAGMENT).edits
    linked = plan(edits=(edit.model_copy(update={"real_path": "/srv/units/chat@.service"}),))
    with pytest.raises(RefusedError, match=r"a link to /srv/units/chat@\.service\) decides every instance"):
        policy.of_this_unit(linked, facts())


def test_every_refusal_says_what_to_do_next() -> None:
    refusals: list[ConsoleError] = []
    calls: list[Callable[[], None]] = [
        lambda: attended(runbook()),
        lambda: attended(runbook(), target(protected=True)),
        lambda: policy.usable(facts(unit={"load_state": "masked"})),
        lambda: policy.unlocked(facts(lock=LockState(held=True))),
        lambda: policy.permitted(plan(changes=(RESTART,)), facts(host=host(sudo="absent"))),
    ]
    for call in calls:
        with pytest.raises(ConsoleError) as caught:
            call()
        refusals.append(caught.value)
    assert all(error.hint for error in refusals)
