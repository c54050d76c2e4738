"""What the host remembers of a change: everything to undo it, nothing that is secret, nothing that is inexact."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from console.errors import LockHeldError, RefusedError, StepFailedError
from console.remote.scripts import Output
from console.runner import again
from console.runner.context import RunContext
from console.runner.ledger import Ledger, settle
from console.schema.change import CommandChange, FileChange, ReloadChange
from console.schema.plan import FileEdit, Plan, SettingChange
from console.schema.splice import Splice, apply, inverse
from console.schema.writes import written
from tests.fakes import DROPIN, FRAGMENT, RUN, UNIT, FakeRemote, context, plan, sha256

FOLDER = f"/var/lib/console/chat.service/{RUN}"
AFTER = UNIT.replace("32768", "200000")
SPLICE = Splice(start=UNIT.index("32768"), old=b"32768", new=b"200000")
KEY = "plain-word-9000"


def file_change(path: str = FRAGMENT, **more: Any) -> FileChange:
    given: dict[str, Any] = {
        "id": "c1",
        "step": "set",
        "path": path,
        "real_path": path,
        "sha256_before": sha256(UNIT.encode()),
        "sha256_after": sha256(AFTER.encode()),
        "splices": (SPLICE,),
        "mode": 0o644,
        "uid": 0,
        "gid": 0,
    }
    return FileChange(**(given | more))


def edit(change: FileChange) -> FileEdit:
    return FileEdit(
        path=change.path,
        real_path=change.real_path,
        splices=change.splices,
        sha256_before=change.sha256_before,
        sha256_after=change.sha256_after,
        diff="",
        steps=("set",),
        change=change.id,
    )


def made(*changes: Any, **more: Any) -> Plan:
    chosen = changes or (file_change(),)
    setting = SettingChange(
        setting="context_length", flag="--context-length", before="32768", after="200000", path=FRAGMENT, line=8
    )
    edits = tuple(edit(change) for change in chosen if isinstance(change, FileChange))
    return plan(**({"changes": chosen, "edits": edits, "settings": (setting,)} | more))


@pytest.fixture
def run(tmp_path: Path) -> RunContext:
    return context(tmp_path)


def ledger(run: RunContext, of: Plan | None = None, remote: FakeRemote | None = None) -> Ledger:
    return Ledger(run, remote or FakeRemote(), of or made())


def decoded(word: str) -> str:
    return base64.b64decode(word).decode()


def test_it_says_who_from_where_and_why(run: RunContext) -> None:
    document = ledger(run).document("open")
    known = {name: document[name] for name in ("run", "state", "target", "unit", "operator", "from_host", "auth")}
    assert known == {
        "run": RUN,
        "state": "open",
        "target": "node7/chat",
        "unit": "chat.service",
        "operator": "kim",
        "from_host": "desk.example.net",
        "auth": "publickey ops",
    }
    assert (document["reason"], document["ticket"], document["purpose"]) == ("longer prompts", "T-1", "run")
    assert document["summary"] == "context_length 32768 -> 200000"
    assert document["at"] == "2026-03-04T03:02:11.000Z"


def test_it_can_be_undone_from_the_document_alone(run: RunContext) -> None:
    document = json.loads(json.dumps(ledger(run).document("open")))
    change = Plan.model_validate(document["plan"]).change("c1")
    assert isinstance(change, FileChange)
    assert apply(AFTER.encode(), inverse(change.splices)) == UNIT.encode()


def test_secrets_are_masked(run: RunContext) -> None:
    run.redactor.learn(KEY)
    of = made(argv_before=("/opt/x", "--header", f"X:{KEY}"), runbook_text=f"# {KEY}", confirm=f"{KEY}?")
    assert KEY not in json.dumps(ledger(run, of).document("open"))


def test_bytes_and_digests_stay_exact_whatever_is_secret(run: RunContext) -> None:
    """A number that is somebody's key, too, and a file whose name is that of a secret."""
    run.redactor.learn("32768", "200000")
    of = made(deciding={"/etc/chat/secrets": "a" * 64, "/etc/default/hf-token": ""})
    back = Plan.model_validate(ledger(run, of).document("open")["plan"])
    assert back.deciding == of.deciding
    assert back.changes == of.changes
    assert (back.edits[0].splices, back.edits[0].sha256_after) == ((SPLICE,), of.edits[0].sha256_after)
    assert back.settings[0].before == "***"


def test_a_command_is_kept_as_it_must_be_undone(run: RunContext) -> None:
    command = CommandChange(id="c1", step="run", command="a --api-key x123", undo=f"b --api-key {KEY}")
    of = made(command)
    assert Plan.model_validate(ledger(run, of).document("open")["plan"]).changes == (command,)


def test_the_run_directory_keeps_them_exact_too(run: RunContext) -> None:
    from console.schema.plan import PlanFile

    run.redactor.learn("32768", KEY)
    of = made(deciding={"/etc/chat/secrets": "a" * 64}, confirm=f"{KEY}?")
    run.directory.write_plan(PlanFile(console_version="0", runbook="x", plans=(of,)), run.redactor)
    (back,) = run.directory.read_plan().plans
    assert (back.deciding, back.changes, back.edits[0].splices) == (of.deciding, of.changes, of.edits[0].splices)
    assert back.confirm == "***?"


async def test_it_is_written_with_every_file_and_its_backup(run: RunContext) -> None:
    remote = FakeRemote()
    second = file_change(DROPIN, id="c3", sha256_before="c" * 64, sha256_after="d" * 64, splices=())
    entry = ledger(run, made(file_change(), ReloadChange(id="c2", step="r", unit="x"), second), remote)
    assert not entry.written
    await entry.write()
    assert entry.written
    ((script, args),) = remote.told
    assert (script, remote.locks) == ("act_ledger.sh", [RUN])
    assert args[:3] == ("/var/lib/console", "chat.service", RUN)
    assert json.loads(decoded(args[3]))["state"] == "open"
    assert decoded(args[4]).splitlines() == [
        f"{FRAGMENT}\t{sha256(UNIT.encode())}\t{sha256(AFTER.encode())}\tbackup-1",
        f"{DROPIN}\t{'c' * 64}\t{'d' * 64}\tbackup-2",
    ]
    assert args[5:] == ("", "", FRAGMENT, "backup-1", DROPIN, "backup-2")


async def test_a_file_written_twice_is_kept_once(run: RunContext) -> None:
    remote = FakeRemote()
    again = file_change(id="c3", sha256_before=sha256(AFTER.encode()), sha256_after="d" * 64, splices=())
    await ledger(run, made(file_change(), again), remote).write()
    args = remote.told[0][1]
    first, between = sha256(UNIT.encode()), sha256(AFTER.encode())
    assert decoded(args[4]) == f"{FRAGMENT}\t{first}\t{'d' * 64}\tbackup-1\t{between}\n"
    assert args[5:] == ("", "", FRAGMENT, "backup-1")


@pytest.mark.parametrize(("folder", "kept"), [(True, "no-folder"), (False, "no-file")])
async def test_of_a_file_that_is_made_there_is_no_backup(run: RunContext, folder: bool, kept: str) -> None:
    remote = FakeRemote()
    await ledger(run, made(file_change(DROPIN, sha256_before="absent", folder=folder)), remote).write()
    args = remote.told[0][1]
    assert decoded(args[4]).split("\t")[1::2] == ["absent", f"{kept}\n"]
    assert args[5:] == ("", "")


@pytest.mark.parametrize(
    ("content", "said"),
    [(UNIT, ["before", "before"]), (AFTER, ["after", "before"]), ("last", ["after", "after"])],
)
async def test_how_far_a_file_of_two_writes_is(content: str, said: list[str]) -> None:
    again_at = file_change(id="c3", sha256_before=sha256(AFTER.encode()), sha256_after=sha256(b"last"), splices=())
    plan = made(file_change(id="c1"), again_at)
    seen = await again.seen_files(plan, FakeRemote({FRAGMENT: content.encode()}), RUN)
    assert [seen["c1"], seen["c3"]] == said
    one, other = written(plan.changes)[FRAGMENT].changes
    for at, change in enumerate((one, other)):
        assert await again.seen_change(change, plan, FakeRemote({FRAGMENT: content.encode()})) == said[at]
        assert await again.seen_change(change, plan, FakeRemote({FRAGMENT: b"somebody's"})) == "foreign"


async def test_the_target_of_a_link_is_what_is_kept(run: RunContext) -> None:
    remote = FakeRemote()
    await ledger(run, made(file_change(real_path="/srv/units/chat.service")), remote).write()
    args = remote.told[0][1]
    assert decoded(args[4]).startswith("/srv/units/chat.service\t")
    assert args[5:] == ("", "", "/srv/units/chat.service", "backup-1")


async def test_an_entry_that_cannot_be_written_stops_everything(run: RunContext) -> None:
    remote = FakeRemote(answers={"act_ledger.sh": Output(1, stderr=b"tee: No space left on device\x1b[2J")})
    entry = ledger(run, remote=remote)
    with pytest.raises(RefusedError, match="No space left on device") as caught:
        await entry.write()
    assert caught.value.message.startswith(f"the ledger entry {FOLDER} cannot be written")
    assert caught.value.message.endswith("nothing was changed")
    assert "\x1b" not in caught.value.message
    assert not entry.written


async def test_an_entry_that_was_never_written_is_not_closed(run: RunContext) -> None:
    remote = FakeRemote()
    await ledger(run, remote=remote).close("unchanged")
    assert remote.told == []


async def test_closing_says_how_it_ended(run: RunContext) -> None:
    remote = FakeRemote()
    entry = ledger(run, remote=remote)
    await entry.write()
    await entry.close("verified")
    script, args = remote.told[1]
    assert (script, args[:3]) == ("act_ledger_state.sh", ("/var/lib/console", "chat.service", RUN))
    assert json.loads(decoded(args[3]))["state"] == "verified"
    assert decoded(args[3]).splitlines()[5] == ' "state": "verified",', "the scripts find the state by its line"


async def test_an_end_that_cannot_be_written_is_told(run: RunContext) -> None:
    full = Output(1, stderr=b"tee: Disk quota exceeded")
    remote = FakeRemote(answers={"act_ledger_state.sh": full, "act_ledger_settle.sh": full})
    entry = ledger(run, remote=remote)
    await entry.write()
    for ending in (entry.close("verified"), settle(remote, RUN, ["R1"], "settled")):
        with pytest.raises(StepFailedError, match=r"is not written into .*Disk quota exceeded") as caught:
            await ending
        assert "quota" in caught.value.hint


async def test_a_lock_that_is_gone_is_told(run: RunContext) -> None:
    with pytest.raises(LockHeldError):
        await ledger(run, remote=FakeRemote(answers={"act_ledger.sh": LockHeldError("gone")})).write()


async def test_earlier_entries_are_settled_in_one_go() -> None:
    remote = FakeRemote()
    await settle(remote, RUN, [], "verified")
    assert remote.told == []
    await settle(remote, RUN, ["R1", "R2"], "rolled-back")
    assert remote.told == [("act_ledger_settle.sh", ("/var/lib/console", "chat.service", "rolled-back", "R1", "R2"))]
    assert remote.locks == [RUN]
