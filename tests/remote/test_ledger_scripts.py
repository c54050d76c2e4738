"""The ledger on the host: what is written before a change, what undo.sh makes of it, what is kept."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
from pathlib import Path

import pytest

from console.facts.parse import parse_ledger
from console.remote.ledger import parse_documents
from console.remote.session import Output, Remote
from tests.remote.sshd import Sshd

UNIT = "sglang-k26.service"
BEFORE = "[Service]\nExecStart=/bin/engine --context-length 32768\n"
AFTER = "[Service]\nExecStart=/bin/engine --context-length 200000\n"
SYSTEMCTL = 'echo "$*" >>"$LAB/systemctl.log"'


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.fixture
def unit(sshd: Sshd) -> Path:
    sshd.stand_in("systemctl", SYSTEMCTL)
    path = sshd.folder / "unit folder" / UNIT
    path.parent.mkdir()
    path.write_text(BEFORE)
    return path


async def write(
    remote: Remote, sshd: Sshd, unit: Path, run: str = "01RUN", state: str = "open", balancer: str = ""
) -> Output:
    document = {"schema": 1, "run": run, "unit": UNIT, "state": state, "operator": "kim", "reason": "more room"}
    table = f"{unit}\t{digest(BEFORE)}\t{digest(AFTER)}\tbackup-1\n"
    return await remote.act(
        "act_ledger.sh",
        str(sshd.state),
        UNIT,
        run,
        b64(json.dumps(document, indent=1)),
        b64(table),
        balancer,
        "",
        str(unit),
        "backup-1",
    )


def undo(sshd: Sshd, *args: str, run: str = "01RUN") -> subprocess.CompletedProcess[str]:
    """Run undo.sh as a person on the host would."""
    return subprocess.run(
        ["sh", str(sshd.state / UNIT / run / "undo.sh"), *args],
        env={"PATH": f"{sshd.bin}:{os.environ['PATH']}", "LAB": str(sshd.folder)},
        capture_output=True,
        text=True,
        check=False,
    )


async def test_an_entry_holds_everything_and_only_its_owner_may_read_it(remote: Remote, sshd: Sshd, unit: Path) -> None:
    unit.chmod(0o640)
    output = await write(remote, sshd, unit)
    assert output.exit_status == 0, output.complaint
    entry = sshd.state / UNIT / "01RUN"
    assert sorted(path.name for path in entry.iterdir()) == ["backup-1", "change.json", "files.tsv", "undo.sh"]
    assert entry.stat().st_mode & 0o777 == 0o700
    assert (entry / "backup-1").read_text() == BEFORE
    assert (entry / "backup-1").stat().st_mode & 0o777 == 0o640
    assert (entry / "change.json").stat().st_mode & 0o777 == 0o600


async def test_any_console_sees_it(remote: Remote, sshd: Sshd, unit: Path) -> None:
    await write(remote, sshd, unit, "01A", "verified")
    await write(remote, sshd, unit, "01B")
    output = await remote.look("look_ledger.sh", str(sshd.state), UNIT)
    entries = parse_ledger(output.sections["ledger"])
    assert [(entry.run, entry.state, entry.operator) for entry in entries] == [
        ("01B", "open", "kim"),
        ("01A", "verified", "kim"),
    ]
    assert entries[0].reason == "more room"


async def test_an_unreadable_document_counts_as_open(remote: Remote, sshd: Sshd, unit: Path) -> None:
    await write(remote, sshd, unit)
    (sshd.state / UNIT / "01RUN" / "change.json").write_text('{"torn')
    output = await remote.look("look_ledger.sh", str(sshd.state), UNIT)
    assert [(entry.run, entry.state) for entry in parse_ledger(output.sections["ledger"])] == [("01RUN", "open")]
    assert parse_documents(output.sections["ledger"]) == []


@pytest.mark.parametrize(("others", "came_with_it"), [(False, True), (True, True), (False, False)])
async def test_what_a_killed_run_left_goes_when_it_is_settled(
    remote: Remote, sshd: Sshd, unit: Path, others: bool, came_with_it: bool
) -> None:
    made = sshd.folder / f"{UNIT}.d" / "50-console.conf"
    made.parent.mkdir()
    left = [unit.parent / f".{unit.name}.console-01A", made.parent / f".{made.name}.console-01A"]
    other = unit.parent / f".{unit.name}.console-01B"
    for path in (*left, other, *([made.parent / "10-more.conf"] if others else [])):
        path.touch()
    await write(remote, sshd, unit, "01A")
    with (sshd.state / UNIT / "01A" / "files.tsv").open("a") as table:
        table.write(f"{made}\tabsent\t{digest(AFTER)}\t-\t\n")
    document = {"state": "open", "run": "01A", "plan": {"changes": [{"kind": "file", "folder": came_with_it}]}}
    (sshd.state / UNIT / "01A" / "change.json").write_text(json.dumps(document, indent=1))

    output = await remote.act("act_ledger_settle.sh", str(sshd.state), UNIT, "rolled-back", "01A")

    assert output.exit_status == 0, output.complaint
    assert not [path for path in left if path.exists()]
    assert other.exists()  # of a run that is not settled
    assert unit.read_text() == BEFORE
    assert made.parent.exists() == (others or not came_with_it)
    seen = await remote.look("look_ledger.sh", str(sshd.state), UNIT)
    assert [(entry.run, entry.state) for entry in parse_ledger(seen.sections["ledger"])] == [("01A", "rolled-back")]


async def test_its_end_is_written_over_it(remote: Remote, sshd: Sshd, unit: Path) -> None:
    await write(remote, sshd, unit)
    closed = b64(json.dumps({"run": "01RUN", "state": "verified"}))
    assert (await remote.act("act_ledger_state.sh", str(sshd.state), UNIT, "01RUN", closed)).exit_status == 0
    output = await remote.look("look_ledger.sh", str(sshd.state), UNIT)
    assert [entry.state for entry in parse_ledger(output.sections["ledger"])] == ["verified"]
    assert not (sshd.state / UNIT / "01RUN" / ".change.json.new").exists()


async def test_twenty_are_kept_and_open_ones_always(remote: Remote, sshd: Sshd, unit: Path) -> None:
    await write(remote, sshd, unit, "00OPEN")
    for number in range(20):
        entry = sshd.state / UNIT / f"01{number:02}"
        entry.mkdir()
        (entry / "change.json").write_text('{\n "state": "verified"\n}')
    await write(remote, sshd, unit, "02LAST", "verified")
    left = sorted(path.name for path in (sshd.state / UNIT).iterdir())
    assert len(left) == 21
    assert left[0] == "00OPEN"
    assert "0100" not in left
    assert "02LAST" in left


async def test_a_full_disk_is_said_and_leaves_no_whole_entry(remote: Remote, sshd: Sshd, unit: Path) -> None:
    sshd.stand_in("cp", 'echo "cp: No space left on device" >&2; exit 1')
    output = await write(remote, sshd, unit)
    assert output.exit_status != 0
    assert "No space left" in output.complaint
    assert not (sshd.state / UNIT / "01RUN").exists()


@pytest.mark.parametrize(("script", "words"), [("state", ("01RUN", b64("{}"))), ("settle", ("rolled-back", "01RUN"))])
async def test_an_end_that_there_is_no_room_for(
    remote: Remote, sshd: Sshd, unit: Path, script: str, words: tuple[str, ...]
) -> None:
    await write(remote, sshd, unit)
    entry = sshd.state / UNIT / "01RUN"
    before = (entry / "change.json").read_bytes()
    sshd.stand_in("tee", 'head -c 9 >"$2"; echo "tee: Disk quota exceeded" >&2; exit 1')
    output = await remote.act(f"act_ledger_{script}.sh", str(sshd.state), UNIT, *words)
    assert output.exit_status != 0
    assert "quota exceeded" in output.complaint
    assert (entry / "change.json").read_bytes() == before
    assert not (entry / ".change.json.new").exists()


async def test_undo_without_room_leaves_nothing_beside_the_file(remote: Remote, sshd: Sshd, unit: Path) -> None:
    await write(remote, sshd, unit)
    unit.write_text(AFTER)
    sshd.stand_in("cp", 'head -c 9 "$4" >"$5"; echo "cp: Disk quota exceeded" >&2; exit 1')
    done = undo(sshd)
    assert done.returncode == 1
    assert "quota exceeded" in done.stderr
    assert f"{unit} was not put back" in done.stderr
    assert unit.read_text() == AFTER
    assert [path.name for path in unit.parent.iterdir()] == [UNIT]
    assert not (sshd.folder / "systemctl.log").exists()


async def test_the_backup_of_a_missing_file_fails(remote: Remote, sshd: Sshd, unit: Path) -> None:
    unit.unlink()
    assert (await write(remote, sshd, unit)).exit_status != 0


async def test_a_person_can_undo(remote: Remote, sshd: Sshd, unit: Path) -> None:
    unit.chmod(0o640)
    await write(remote, sshd, unit)
    unit.write_text(AFTER)
    done = undo(sshd)
    assert done.returncode == 0, done.stderr
    assert unit.read_text() == BEFORE
    assert unit.stat().st_mode & 0o777 == 0o640
    assert (sshd.folder / "systemctl.log").read_text().splitlines() == [
        "daemon-reload",
        f"reset-failed -- {UNIT}",
        f"restart --no-block -- {UNIT}",
    ]
    assert f"put back: {unit}" in done.stdout
    assert [path.name for path in unit.parent.iterdir()] == [UNIT]


async def test_undo_without_a_restart(remote: Remote, sshd: Sshd, unit: Path) -> None:
    await write(remote, sshd, unit)
    unit.write_text(AFTER)
    undo(sshd, "--no-restart")
    assert (sshd.folder / "systemctl.log").read_text() == "daemon-reload\n"


async def test_undo_twice_is_harmless(remote: Remote, sshd: Sshd, unit: Path) -> None:
    await write(remote, sshd, unit)
    unit.write_text(AFTER)
    undo(sshd)
    again = undo(sshd)
    assert again.returncode == 0
    assert "already as it was" in again.stdout
    assert unit.read_text() == BEFORE


@pytest.mark.parametrize("what", ["file", "backup"])
async def test_undo_touches_nothing_when_somebody_edited(remote: Remote, sshd: Sshd, unit: Path, what: str) -> None:
    await write(remote, sshd, unit)
    unit.write_text("by hand\n" if what == "file" else AFTER)
    if what == "backup":
        (sshd.state / UNIT / "01RUN" / "backup-1").write_text("by hand\n")
    before = unit.read_text()
    done = undo(sshd)
    assert done.returncode == 1
    assert "nothing was touched" in done.stderr
    assert unit.read_text() == before
    assert not (sshd.folder / "systemctl.log").exists()


BALANCER = {"kind": "command", "command": 'echo "$0 in" >>$LAB/said', "hand": "lbctl ready   (on the host)"}


def balancer(**more: str) -> str:
    return b64("".join(f"{name}={b64(value)}\n" for name, value in (BALANCER | more).items()))


async def test_a_person_puts_it_into_its_balancer(remote: Remote, sshd: Sshd, unit: Path) -> None:
    await write(remote, sshd, unit, balancer=balancer())
    assert (sshd.state / UNIT / "01RUN" / "balancer.args").stat().st_mode & 0o777 == 0o600
    done = undo(sshd, "--balancer-in")
    assert (done.returncode, done.stdout) == (0, "put into its balancer\n"), done.stderr
    assert (sshd.folder / "said").read_text() == "sh in\n"
    assert unit.read_text() == BEFORE


async def test_undo_says_how(remote: Remote, sshd: Sshd, unit: Path) -> None:
    await write(remote, sshd, unit, balancer=balancer())
    unit.write_text(AFTER)
    assert undo(sshd).stdout.splitlines()[-1].endswith("/01RUN/undo.sh --balancer-in")


@pytest.mark.parametrize(
    ("args", "said"),
    [("", "took nothing out"), (balancer(kind="elsewhere"), "not from here: lbctl ready   (on the host)")],
)
async def test_what_cannot_be_done_from_the_host_is_said(
    remote: Remote, sshd: Sshd, unit: Path, args: str, said: str
) -> None:
    await write(remote, sshd, unit, balancer=args)
    done = undo(sshd, "--balancer-in")
    assert done.returncode == 1
    assert said in done.stderr


@pytest.mark.parametrize("left", ["", "10-more.conf"])
@pytest.mark.parametrize("kept", ["no-folder", "no-file"])
async def test_a_file_that_was_made_is_taken_away_again(
    remote: Remote, sshd: Sshd, unit: Path, kept: str, left: str
) -> None:
    made = unit.parent / f"{UNIT}.d" / "50-console.conf"
    table = b64(f"{made}\tabsent\t{digest(AFTER)}\t{kept}\n")
    assert (
        await remote.act("act_ledger.sh", str(sshd.state), UNIT, "01RUN", b64("{}"), table, "", "")
    ).exit_status == 0
    before = undo(sshd)
    assert (before.returncode, "already as it was" in before.stdout) == (0, True)
    made.parent.mkdir()
    made.write_text(AFTER)
    if left:
        (made.parent / left).touch()
    done = undo(sshd)
    assert (done.returncode, f"taken away: {made}" in done.stdout) == (0, True), done.stderr
    assert not made.exists()
    assert made.parent.exists() == (kept == "no-file" or bool(left))


async def test_a_file_that_was_made_and_edited_since_stays(remote: Remote, sshd: Sshd, unit: Path) -> None:
    table = b64(f"{unit}\tabsent\t{digest(AFTER)}\tno-file\n")
    await remote.act("act_ledger.sh", str(sshd.state), UNIT, "01RUN", b64("{}"), table, "", "")
    done = undo(sshd)
    assert (done.returncode, "was edited since" in done.stderr) == (1, True)
    assert unit.read_text() == BEFORE


async def test_a_file_that_was_taken_away_comes_back_with_its_folder(remote: Remote, sshd: Sshd, unit: Path) -> None:
    table = b64(f"{unit}\t{digest(BEFORE)}\tabsent\tbackup-1\n")
    kept = (str(unit), "backup-1")
    await remote.act("act_ledger.sh", str(sshd.state), UNIT, "01RUN", b64("{}"), table, "", "", *kept)
    unit.unlink()
    unit.parent.rmdir()
    assert undo(sshd).returncode == 0
    assert unit.read_text() == BEFORE
    assert unit.parent.stat().st_mode & 0o777 == 0o755


async def test_a_file_between_two_writes_of_a_run_is_no_strangers(remote: Remote, sshd: Sshd, unit: Path) -> None:
    table = b64(f"{unit}\t{digest(BEFORE)}\t{digest('last')}\tbackup-1\t{digest('a')},{digest('b')}\n")
    kept = (str(unit), "backup-1")
    await remote.act("act_ledger.sh", str(sshd.state), UNIT, "01RUN", b64("{}"), table, "", "", *kept)
    for text, status in (("a", 0), ("b", 0), ("last", 0), (BEFORE, 0), ("c", 1)):
        unit.write_text(text)
        assert undo(sshd).returncode == status
        assert unit.read_text() == (text if status else BEFORE)
