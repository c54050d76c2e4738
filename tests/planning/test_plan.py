"""A runbook and the real bytes of a unit become the exact changes; nothing is guessed and no secret gets in."""

from __future__ import annotations

import hashlib
import tomllib
from datetime import UTC, datetime
from typing import Any

import pytest

from console.engines.registry import engine_named
from console.errors import (
    InvalidFileError,
    RefusedError,
    SettingElsewhereError,
    SettingNotFoundError,
    UnexpectedValueError,
)
from console.planning import lint
from console.planning.plan import make_plan
from console.schema.change import CommandChange, FileChange, ReloadChange, RestartChange
from console.schema.facts import Facts, PathCheck, Process, UnitFile
from console.schema.plan import Plan, PlanFile
from console.schema.runbook import Runbook, parse_runbook
from console.schema.splice import apply
from console.secrets import Redactor
from tests.fakes import ARGV, DROPIN, FRAGMENT, OLD, SGLANG, UNIT, facts, serving, sha256, target, unit_file

NOW = datetime(2026, 3, 4, 3, 2, 11, tzinfo=UTC)
HEAD = """\
schema = 1
name = "extend-context"
title = "Extend the served context window"
on_failure = "rollback"
confirm = "Restart {{ service.unit }}? {{ facts.running_requests }} in flight."

[vars]
to = { type = "int", default = 200000 }
expect = { type = "int", default = 32768 }
mem_fraction = { type = "str", default = "" }
"""
WINDOW = """
[[step]]
uses = "unit.set"
setting = "context_length"
expect = "{{ expect }}"
to = "{{ to }}"
"""
SHARE = """
[[step]]
uses = "unit.set"
id = "share"
when = "mem_fraction"
setting = "mem_fraction"
to = "{{ mem_fraction }}"
when_absent = "add"
"""
REST = """
[[step]]
uses = "systemd.daemon_reload"

[[step]]
uses = "service.restart"

[[step]]
uses = "service.wait_ready"
timeout = "30m"

[[step]]
uses = "service.verify"
"""
BACKUP = '\n[[step]]\nuses = "unit.backup"\n'
BOOK = HEAD + BACKUP + WINDOW + SHARE + REST


def book(text: str) -> Runbook:
    runbook = parse_runbook(text, tomllib.loads(text), "book.toml")
    lint.lint(runbook)
    return runbook


def made(text: str = BOOK, seen: Facts | None = None, redactor: Redactor | None = None, **given: Any) -> Plan:
    runbook = book(text)
    variables = lint.variables(runbook, {name: str(value) for name, value in given.items()})
    return make_plan(runbook, target(), seen or facts(), SGLANG, variables, redactor=redactor or Redactor(), now=NOW)


def outline(plan: Plan) -> list[tuple[str, str, tuple[str, ...]]]:
    """Each step's id, why it will not run by itself, and the changes it makes."""
    return [(step.id, step.skipped or step.note, step.changes) for step in plan.steps]


def test_the_main_job() -> None:
    plan = made()
    assert outline(plan) == [
        ("backup", "", ()),
        ("set", "", ("c1",)),
        ("share", "when = 'mem_fraction' does not hold", ()),
        ("daemon_reload", "", ("c2",)),
        ("restart", "", ("c3",)),
        ("wait_ready", "", ()),
        ("verify", "", ()),
    ]
    assert [type(change) for change in plan.changes] == [FileChange, ReloadChange, RestartChange]
    assert [setting.sentence for setting in plan.settings] == ["context_length 32768 -> 200000"]
    assert plan.settings[0].line == 8
    assert plan.confirm == "Restart chat.service? 2 in flight."
    assert not plan.nothing_to_do
    assert (plan.argv_before, plan.argv_after) == (ARGV, tuple("200000" if w == "32768" else w for w in ARGV))
    assert (plan.old_limit_tokens, plan.invocation_id, plan.made_at) == (32768, OLD, "2026-03-04T03:02:11.000Z")


def test_the_change_leads_to_the_bytes_of_its_digest() -> None:
    plan = made()
    change = plan.change("c1")
    assert isinstance(change, FileChange)
    after = apply(UNIT.encode(), change.splices)
    assert after == UNIT.replace("32768", "200000").encode()
    assert (sha256(UNIT.encode()), sha256(after)) == (change.sha256_before, change.sha256_after)
    assert (change.step, change.summary) == ("set", "context_length 32768 -> 200000")
    (edit,) = plan.edits
    assert (edit.sha256_after, edit.change) == (change.sha256_after, "c1")
    assert "+  --context-length 200000 \\" in edit.diff


def test_edits_of_one_file_are_one_change_made_with_the_last_of_them() -> None:
    plan = made(mem_fraction="0.92")
    assert outline(plan)[1:3] == [("set", "written with step 3", ()), ("share", "", ("c1",))]
    change = plan.change("c1")
    assert isinstance(change, FileChange)
    assert apply(UNIT.encode(), change.splices) == (UNIT.replace("32768", "200000").replace("0.85", "0.92").encode())
    assert change.step == "share"
    assert plan.edits[0].steps == ("set", "share")
    assert change.summary == "context_length 32768 -> 200000; mem_fraction 0.85 -> 0.92"
    assert [type(each) for each in plan.changes] == [FileChange, ReloadChange, RestartChange]


def test_a_setting_set_twice_ends_at_the_last_value() -> None:
    second = WINDOW.replace('"{{ expect }}"', "200000").replace('"{{ to }}"', "400000")
    plan = made(HEAD + WINDOW + second + REST)
    assert [step.note for step in plan.steps][:2] == ["written with step 2", ""]
    change = plan.change("c1")
    assert isinstance(change, FileChange)
    assert apply(UNIT.encode(), change.splices) == UNIT.replace("32768", "400000").encode()


def test_an_edit_after_something_else_is_a_change_of_its_own() -> None:
    middle = '\n[[step]]\nuses = "host.command"\ncommand = "sync"\n'
    plan = made(HEAD + WINDOW + middle + SHARE + REST, mem_fraction="0.92")
    assert [(type(change), change.step) for change in plan.changes] == [
        (FileChange, "set"),
        (CommandChange, "command"),
        (FileChange, "share"),
        (ReloadChange, "daemon_reload"),
        (RestartChange, "restart"),
    ]
    first, _, second, *_ = plan.changes
    assert isinstance(first, FileChange)
    assert isinstance(second, FileChange)
    assert first.sha256_after == second.sha256_before
    assert len({change.id for change in plan.changes}) == 5


def test_the_file_that_wins_is_edited() -> None:
    dropin = "[Service]\nExecStart=\nExecStart=/opt/engine/bin/serve --context-length 32768\n"
    plan = made(seen=facts(dropins={DROPIN: dropin}))
    assert [edit.path for edit in plan.edits] == [DROPIN]
    assert plan.settings[0].path == DROPIN
    assert set(plan.deciding) == {FRAGMENT, DROPIN}


def test_a_link_is_written_where_it_leads() -> None:
    seen = facts()
    linked = seen.files[0].model_copy(update={"real_path": "/srv/units/chat.service", "mode": 0o600, "uid": 7})
    plan = made(seen=seen.model_copy(update={"files": (linked,)}))
    change = plan.change("c1")
    assert isinstance(change, FileChange)
    assert (change.path, change.real_path, change.mode, change.uid) == (FRAGMENT, "/srv/units/chat.service", 0o600, 7)
    assert plan.deciding == {"/srv/units/chat.service": sha256(UNIT.encode())}


@pytest.mark.parametrize(
    ("real_path", "said"),
    [
        ("/nix/store/abc-units/chat.service", "is generated"),
        ("/run/systemd/generator/chat.service", "is generated"),
        ("/srv/chat.container", "is generated"),
    ],
)
def test_a_link_to_what_something_else_writes_is_refused(real_path: str, said: str) -> None:
    seen = facts()
    linked = seen.model_copy(update={"files": (seen.files[0].model_copy(update={"real_path": real_path}),)})
    with pytest.raises(SettingElsewhereError, match=f"{FRAGMENT} is a link to {real_path}, which {said}") as caught:
        made(seen=linked)
    assert caught.value.where == real_path
    assert made(seen=linked, to=32768).nothing_to_do, "what is so already is not written"


@pytest.mark.parametrize("real_path", ["/usr/local/units/chat.service", "/opt/chat/chat.service"])
def test_a_link_to_a_place_of_the_operators_is_not(real_path: str) -> None:
    seen = facts()
    linked = seen.model_copy(update={"files": (seen.files[0].model_copy(update={"real_path": real_path}),)})
    assert made(seen=linked).edits[0].real_path == real_path


RUNS_LESS = tuple("16384" if word == "32768" else word for word in ARGV)


@pytest.mark.parametrize(
    ("seen", "to", "old"),
    [
        ({"serving": serving(context_length=8192)}, 200000, 8192),
        ({"serving": None, "running": RUNS_LESS}, 200000, 16384),
        ({"serving": None, "process": Process()}, 200000, 32768),
        ({"serving": None, "process": Process(), "unit": {"exec_start": (" ".join(RUNS_LESS),)}}, 200000, 16384),
        # The file holds the window already: what was served before somebody wrote it there is not known.
        ({"serving": None, "process": Process()}, 32768, None),
        ({"serving": None, "running": RUNS_LESS}, 32768, 16384),
    ],
    ids=["served", "running", "on disk", "loaded", "on disk already", "on disk, less running"],
)
def test_what_a_proof_has_to_go_past(seen: dict[str, Any], to: int, old: int | None) -> None:
    assert made(seen=facts(**seen), to=to).old_limit_tokens == old


def test_of_a_window_that_was_never_given_nothing_is_known() -> None:
    text = UNIT.replace("  --context-length 32768 \\\n", "")
    book = BOOK.replace('expect = "{{ expect }}"', 'when_absent = "add"')
    assert made(book, facts(text, serving=None, process=Process())).old_limit_tokens is None


def test_every_file_that_decides_is_bound_by_its_digest_and_a_missing_one_by_being_missing() -> None:
    environment: UnitFile = unit_file("/etc/default/chat", "A=1\n")
    gone = unit_file("/etc/default/none", "", missing=True, sha256="")
    seen = facts()
    plan = made(seen=seen.model_copy(update={"files": (*seen.files, environment, gone)}))
    assert plan.deciding == {
        FRAGMENT: hashlib.sha256(UNIT.encode()).hexdigest(),
        "/etc/default/chat": hashlib.sha256(b"A=1\n").hexdigest(),
        "/etc/default/none": "",
    }


def test_nothing_to_do() -> None:
    plan = made(to=32768, expect=1)
    assert plan.nothing_to_do
    assert not plan.mutates()
    assert plan.confirm == ""
    assert outline(plan) == [
        ("backup", "nothing is written", ()),
        ("set", "", ()),
        ("share", "when = 'mem_fraction' does not hold", ()),
        ("daemon_reload", "systemd has read the files as they are", ()),
        ("restart", "what runs is what the files say", ()),
        ("wait_ready", "nothing was restarted", ()),
        ("verify", "", ()),
    ]
    assert [setting.sentence for setting in plan.unchanged] == ["context_length 32768 -> 32768"]


def test_on_disk_already_but_not_loaded_is_reloaded() -> None:
    plan = made(seen=facts(unit={"need_daemon_reload": True}), to=32768)
    assert not plan.nothing_to_do
    assert [type(change) for change in plan.changes] == [ReloadChange]


def test_on_disk_already_but_not_running_is_restarted() -> None:
    running = tuple("16384" if word == "32768" else word for word in ARGV)
    plan = made(seen=facts(running=running), to=32768)
    assert [type(change) for change in plan.changes] == [RestartChange]
    assert plan.activation.needs_accept


@pytest.mark.parametrize("active", ["inactive", "failed"])
def test_a_service_that_is_down_is_started(active: str) -> None:
    plan = made(seen=facts(unit={"active_state": active}), to=32768)
    (change,) = plan.changes
    assert isinstance(change, RestartChange)
    assert change.reset_failed is (active == "failed")


def test_another_value_than_expected_is_refused_at_planning() -> None:
    with pytest.raises(UnexpectedValueError, match="context_length is 32768, expected 16384") as caught:
        made(expect=16384)
    assert caught.value.where == f"{FRAGMENT}:8"


def test_an_absent_setting_is_refused_unless_it_may_be_added() -> None:
    with pytest.raises(SettingNotFoundError):
        made(seen=facts(UNIT.replace("  --context-length 32768 \\\n", "")))


def test_what_would_not_come_back_stands_in_the_plan() -> None:
    planned = made(
        HEAD + WINDOW + REST + '\n[[step]]\nuses = "host.preflight"\n',
        facts(paths=(PathCheck(path="/models/chat-70b", exists=False, kind="model"),)),
    )
    assert planned.wont_come_back == ("model /models/chat-70b is missing",)
    assert planned.answers.comes_back[0] == "restart would not come back: model /models/chat-70b is missing"


def test_a_value_that_a_step_cannot_take_is_an_error_of_the_file() -> None:
    text = HEAD + '\n[[step]]\nuses = "service.verify"\nprobe = "{{ mem_fraction }}"\n'
    runbook = parse_runbook(text, tomllib.loads(text), "book.toml")
    with pytest.raises(InvalidFileError, match="probe") as caught:
        make_plan(
            runbook, target(), facts(), SGLANG, {"to": 1, "expect": 1, "mem_fraction": "x"},
            redactor=Redactor(), now=NOW,
        )  # fmt: skip
    assert caught.value.exit_code == 2


def test_a_flag_spelled_out_is_judged_as_the_setting_it_is() -> None:
    text = HEAD + WINDOW.replace('setting = "context_length"', 'flag = "--context-length"') + REST
    (setting,) = made(text).settings
    assert (setting.setting, setting.flag) == ("context_length", "--context-length")
    plan = made(text, to=400000)
    assert plan.answers.fits[0].startswith("NO, starts but cannot serve: the pool will hold 88,000")


def test_a_flag_the_engine_does_not_know_stays_a_flag() -> None:
    text = HEAD + '\n[[step]]\nuses = "unit.set"\nflag = "--opaque"\nto = 8\n' + REST
    (setting,) = made(text, facts(UNIT.replace("--port", "--opaque 7 --port"))).settings
    assert (setting.setting, setting.flag, setting.sentence) == ("--opaque", "--opaque", "--opaque 7 -> 8")


def adding(setting: str, to: str) -> str:
    return HEAD + f'\n[[step]]\nuses = "unit.set"\nsetting = "{setting}"\nto = "{to}"\nwhen_absent = "add"\n' + REST


GATE = '\n[[step]]\nuses = "gate.quality"\n'


def test_lossy_settings_say_so() -> None:
    assert [setting.lossy for setting in made(adding("dtype", "float16") + GATE).settings] == [True]
    assert [setting.lossy for setting in made().settings] == [False]
    assert [setting.lossy for setting in made(adding("kv_cache_dtype", "BF16")).settings] == [False]


@pytest.mark.parametrize(
    "text",
    [
        adding("kv_cache_dtype", "fp8_e4m3"),
        adding("kv_cache_dtype", "fp8_e4m3") + GATE + 'parity = "record"\n',
        adding("kv_cache_dtype", "fp8_e4m3") + GATE + 'when = "mem_fraction"\n',
        adding("kv_cache_dtype", "fp8_e4m3").replace("\n[[step]]", GATE + "\n[[step]]", 1),
        adding("kv_cache_dtype", "fp8_e4m3").replace('\n[[step]]\nuses = "service.restart"\n', "") + GATE,
    ],
)
def test_a_lossy_change_wants_a_gate_behind_it_that_is_not_skipped(text: str) -> None:
    with pytest.raises(RefusedError, match="kv_cache_dtype = fp8_e4m3 may change what the model answers") as refused:
        made(text)
    assert "--set quality=true" in refused.value.hint


def test_a_step_keeps_its_own_failure_policy_and_timeout() -> None:
    text = BOOK + 'on_failure = "stop"\n'
    steps = {step.id: step for step in made(text).steps}
    assert (steps["verify"].on_failure, steps["restart"].on_failure) == ("stop", "rollback")
    assert steps["wait_ready"].timeout_s == 1800.0
    assert steps["verify"].fields == {"probe": "auto", "require": "serve"}


KEY = "plain-word-9000"
SECRETIVE = UNIT.replace("--port 30000", f"--api-key {KEY} \\\n  --port 30000").replace(
    "Environment=HF_HOME=/models", f"Environment=HF_HOME=/models HF_TOKEN={KEY}-b"
)


def test_the_units_secrets_are_not_in_the_plan() -> None:
    seen = facts(SECRETIVE, running=ARGV, environment={"HF_TOKEN": f"{KEY}-c"})
    plan = made(seen=seen)
    assert KEY not in plan.model_dump_json()
    assert "***" in plan.argv_before
    change = plan.change("c1")
    assert isinstance(change, FileChange)
    assert apply(SECRETIVE.encode(), change.splices) == SECRETIVE.replace("32768", "200000").encode()


def test_a_secret_beside_an_added_flag_stays_out_of_the_splice() -> None:
    text = adding("kv_cache_dtype", "fp8_e4m3") + GATE
    one_line = f"[Service]\nExecStart=/opt/x --context-length 1 --api-key {KEY}\n"
    plan = made(text, facts(one_line))
    assert KEY not in plan.model_dump_json()


def test_a_plan_comes_back_from_json_as_it_was() -> None:
    plan = made(mem_fraction="0.92")
    file = PlanFile(console_version="0", runbook=plan.runbook, targets=(plan.target,), plans=(plan,))
    back = PlanFile.model_validate_json(file.model_dump_json(by_alias=True))
    assert back == file
    assert back.plans[0].digest() == plan.digest()


def test_two_plans_of_the_same_are_the_same_and_of_another_value_are_not() -> None:
    assert made().digest() == made().digest()
    assert made().digest() != made(to=200001).digest()


def test_bytes_that_are_no_text_survive_the_plan() -> None:
    latin = UNIT.encode().replace(b"[Service]", b"# le mod\xe8le\n[Service]")
    seen = facts()
    file = seen.files[0].model_copy(update={"content": latin, "sha256": sha256(latin)})
    plan = made(seen=seen.model_copy(update={"files": (file,)}))
    back = Plan.model_validate_json(plan.model_dump_json(by_alias=True))
    change = back.change("c1")
    assert isinstance(change, FileChange)
    assert apply(latin, change.splices) == latin.replace(b"32768", b"200000")


def test_what_the_engine_did_not_say_is_unknown_in_the_question() -> None:
    assert made(seen=facts(serving=serving(running_requests=None))).confirm.endswith("unknown in flight.")


def test_warnings_of_steps_and_edits_are_in_the_plan() -> None:
    text = HEAD + '\n[[step]]\nuses = "host.preflight"\n' + WINDOW + REST
    twice = UNIT.replace("--port 30000", "--context-length 32768 --port 30000")
    warnings = made(text, facts(twice, unit={"unit_file_state": "disabled"})).warnings
    assert any("will not start at boot" in warning for warning in warnings)
    assert any("stands 2 times" in warning for warning in warnings)


COMMAND = '\n[[step]]\nuses = "host.command"\ncommand = "curl --token {{ secret }} localhost"\n'
SECRET = 'secret = { type = "str", default = "" }\n'


def test_a_command_is_carried_out_as_it_was_written_and_shown_without_its_secret() -> None:
    redactor = Redactor()
    redactor.learn("s3cr3t-word-1")
    plan = made(HEAD + SECRET + COMMAND + "mutates = false\n", redactor=redactor, secret="s3cr3t-word-1")
    assert plan.steps[0].fields["command"] == "curl --token s3cr3t-word-1 localhost"


def test_a_command_that_a_rollback_would_leave_is_named() -> None:
    def left(text: str) -> list[str]:
        return [warning for warning in made(text).warnings if "KillMode" not in warning]

    (said,) = left(HEAD + COMMAND.replace("{{ secret }}", "x"))
    assert "'curl --token x localhost' has no undo" in said
    assert said.startswith("extend_context.toml:") or ".toml:" in said
    assert left(HEAD + COMMAND.replace("{{ secret }}", "x") + 'undo = "true"\n') == []
    assert left(HEAD.replace('"rollback"', '"stop"') + COMMAND.replace("{{ secret }}", "x")) == []


def test_a_window_that_the_engine_will_not_tell_is_refused_where_it_is_to_be_proven() -> None:
    """`verify` could not see it: the change would be made, doubted and put back, with two restarts."""
    seen = facts('[Service]\nEnvironment="OLLAMA_CONTEXT_LENGTH=32768"\nExecStart=/usr/bin/ollama serve\n')

    def planned(text: str) -> Plan:
        runbook = book(text)
        ollama = engine_named("ollama")
        return make_plan(runbook, target(), seen, ollama, lint.variables(runbook, {}), redactor=Redactor(), now=NOW)

    with pytest.raises(RefusedError, match="ollama does not say which context it serves") as caught:
        planned(BOOK)
    assert "without service.verify" in caught.value.hint
    unproven = planned(BOOK.partition('[[step]]\nuses = "service.verify"')[0])
    assert [setting.sentence for setting in unproven.settings] == ["context_length 32768 -> 200000"]
