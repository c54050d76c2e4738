"""A run directory is this user's alone, written once, and the kernel says whether its process lives."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from console.errors import StateError
from console.runs.directory import (
    RunDirectory,
    base_folder,
    private_folder,
    socket_candidates,
    socket_path,
    write_durably,
)
from console.schema.events import StepProgress
from console.schema.plan import PlanFile
from console.secrets import Redactor
from tests.runs.stories import RUN

PLAN = PlanFile(console_version="0.1", runbook="extend-window", results_path="/srv/findings")
OWNER = """
import sys
from pathlib import Path
from console.runs.directory import RunDirectory
directory = RunDirectory.create(Path(sys.argv[1]), sys.argv[2])
print("owned", flush=True)
sys.stdin.read()
"""


class Owner:
    """A real process that owns a run."""

    def __init__(self, base: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", OWNER, str(base), RUN], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "owned\n"

    def end(self, number: int) -> None:
        self.process.send_signal(number)
        self.process.communicate()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


class TestBase:
    def test_of_the_state_folder(self) -> None:
        assert base_folder({"XDG_STATE_HOME": "/s", "HOME": "/h"}) == Path("/s/console/runs")
        assert base_folder({"HOME": "/h"}) == Path("/h/.local/state/console/runs")

    def test_a_relative_state_folder_is_ignored_as_the_specification_says(self) -> None:
        assert base_folder({"XDG_STATE_HOME": "s", "HOME": "/h"}) == Path("/h/.local/state/console/runs")


class TestCreate:
    def test_is_closed_to_others(self, tmp_path: Path) -> None:
        base = tmp_path / "state" / "runs"
        with RunDirectory.create(base, RUN) as directory:
            directory.write_plan(PLAN, Redactor())
            directory.log(now=lambda: "t", redactor=Redactor()).append(StepProgress(step="s"))
            assert mode(base) == mode(directory.path) == 0o700
            assert {path.name for path in directory.path.iterdir()} == {"owner.lock", "plan.json", "events.jsonl"}
            assert all(mode(path) == 0o600 for path in directory.path.iterdir())

    def test_twice_is_an_error(self, tmp_path: Path) -> None:
        with RunDirectory.create(tmp_path, RUN), pytest.raises(StateError, match="File exists"):
            RunDirectory.create(tmp_path, RUN)

    def test_where_nothing_can_be_written_is_an_error_that_says_where(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(StateError) as caught:
            RunDirectory.create(tmp_path / "file" / "runs", RUN)
        assert str(tmp_path / "file") in caught.value.where

    def test_only_the_owner_has_a_log_and_a_pid(self, tmp_path: Path) -> None:
        with RunDirectory.create(tmp_path, RUN) as directory:
            assert directory.pid == os.getpid()
        reader = RunDirectory.open(tmp_path / RUN)
        assert reader.pid == 0
        with pytest.raises(StateError, match="only the owner"):
            reader.log(now=lambda: "t", redactor=Redactor())

    def test_opening_what_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(StateError, match="no such run"):
            RunDirectory.open(tmp_path / RUN)


class TestAlive:
    @pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
    def test_until_the_process_is_gone_however_it_ended(self, tmp_path: Path, number: int) -> None:
        owner = Owner(tmp_path)
        directory = RunDirectory.open(tmp_path / RUN)
        assert directory.alive()
        with pytest.raises(StateError, match="still running"):
            directory.take(sleep=lambda _s: None)
        owner.end(number)
        assert not directory.alive()
        directory.take()
        assert directory.alive()
        assert RunDirectory.open(tmp_path / RUN).alive()
        directory.release()
        assert not directory.alive()

    def test_programs_we_start_do_not_keep_it_alive(self, tmp_path: Path) -> None:
        with RunDirectory.create(tmp_path, RUN) as directory:
            child = subprocess.Popen(["sleep", "60"])
        try:
            assert not directory.alive()
        finally:
            child.kill()
            child.wait()

    def test_asking_does_not_disturb_who_takes_over(self, tmp_path: Path) -> None:
        RunDirectory.create(tmp_path, RUN).release()
        stop = threading.Event()

        def ask() -> None:
            while not stop.is_set():
                RunDirectory(tmp_path / RUN).alive()

        askers = [threading.Thread(target=ask) for _ in range(3)]
        for asker in askers:
            asker.start()
        try:
            for _ in range(20):
                directory = RunDirectory(tmp_path / RUN)
                directory.take()
                directory.release()
        finally:
            stop.set()
            for asker in askers:
                asker.join()

    def test_nobody_owns_a_directory_without_a_lock(self, tmp_path: Path) -> None:
        assert not RunDirectory(tmp_path).alive()


class TestPlan:
    def test_is_written_once_and_read_back(self, tmp_path: Path) -> None:
        with RunDirectory.create(tmp_path, RUN) as directory:
            directory.write_plan(PLAN, Redactor())
            assert directory.read_plan() == PLAN
            with pytest.raises(StateError, match="once"):
                directory.write_plan(PLAN, Redactor())

    def test_holds_no_secret(self, tmp_path: Path) -> None:
        redactor = Redactor()
        redactor.learn("canary-value")
        with RunDirectory.create(tmp_path, RUN) as directory:
            directory.write_plan(PLAN.model_copy(update={"runbook_path": "/x?api_key=c4n&y=canary-value"}), redactor)
            assert b"c4n" not in directory.plan_path.read_bytes()
            assert b"canary" not in directory.plan_path.read_bytes()

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            (None, "no plan.json"),
            ("", "cannot read the plan"),
            ('{"schema": 2}', "schema = 2, this program reads up to 1"),
            ('{"schema": 1, "runbook": 5}', "damaged plan"),
            ("[]", "damaged plan"),
        ],
    )
    def test_damage_is_said(self, tmp_path: Path, text: str | None, said: str) -> None:
        with RunDirectory.create(tmp_path, RUN) as directory:
            if text is not None:
                directory.plan_path.write_text(text)
            with pytest.raises(StateError, match=said) as caught:
                directory.read_plan()
            assert str(directory.plan_path) == caught.value.where


class TestSocketPath:
    def test_in_the_runtime_folder(self) -> None:
        with tempfile.TemporaryDirectory(dir="/tmp") as short:  # the folders of pytest's workers can be too long
            path = socket_path(RUN, {"XDG_RUNTIME_DIR": short})
            assert path == Path(short) / "console" / f"{RUN}.sock"
            assert mode(path.parent) == 0o700

    def test_a_path_too_long_for_a_socket_falls_back(self, tmp_path: Path) -> None:
        long = tmp_path / ("x" * 90)
        with tempfile.TemporaryDirectory(dir="/tmp") as short:
            path = socket_path(RUN, {"XDG_RUNTIME_DIR": str(long), "TMPDIR": short})
            assert len(os.fsencode(path)) < 104
            assert not str(path).startswith(str(long))
            assert mode(path.parent) == 0o700

    def test_who_attaches_looks_where_a_run_of_cron_put_it(self, tmp_path: Path) -> None:
        environment = {"TMPDIR": str(tmp_path)}
        assert socket_path(RUN, environment) in socket_candidates(RUN, {"XDG_RUNTIME_DIR": "/run/x", **environment})

    def test_a_folder_that_is_not_ours_is_not_used(self, tmp_path: Path) -> None:
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        (tmp_path / "console").symlink_to(elsewhere)
        with pytest.raises(OSError, match="not a folder of ours"):
            private_folder(tmp_path / "console")
        assert socket_path(RUN, {"XDG_RUNTIME_DIR": str(tmp_path)}).parent != tmp_path / "console"

    def test_a_folder_open_to_others_is_closed(self, tmp_path: Path) -> None:
        (tmp_path / "console").mkdir(mode=0o755)
        private_folder(tmp_path / "console")
        assert mode(tmp_path / "console") == 0o700


class TestWriteDurably:
    def test_a_failure_leaves_the_old_file_and_no_other(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = tmp_path / "record.json"
        write_durably(path, b"old", mode=0o644)

        def fail(_descriptor: int) -> None:
            raise OSError(5, "Input/output error")

        monkeypatch.setattr(os, "fsync", fail)
        with pytest.raises(OSError, match="Input/output"):
            write_durably(path, b"new")
        assert path.read_bytes() == b"old"
        assert [entry.name for entry in tmp_path.iterdir()] == ["record.json"]

    def test_file_and_folder_are_synced(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        synced: list[bool] = []
        monkeypatch.setattr(os, "fsync", lambda fd: synced.append(stat.S_ISDIR(os.fstat(fd).st_mode)))
        write_durably(tmp_path / "x", b"data")
        assert synced == [False, True]
        assert json.dumps(mode(tmp_path / "x")) == "384"
