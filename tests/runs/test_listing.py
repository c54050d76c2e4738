"""`console runs`: which runs are open, why, and which a later run has settled."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from console.errors import UsageError
from console.runs.directory import RunDirectory
from console.runs.listing import RunSummary, find_run, list_runs
from console.secrets import Redactor
from tests.runs import stories
from tests.runs.stories import TARGET, Story

A, B, C = (f"01KAYX5V0000000000000000{letter}0" for letter in "ABC")


def keep(base: Path, story: Story) -> RunDirectory:
    """The run on disk, as its process left it."""
    directory = RunDirectory.create(base, story.run)
    log = directory.log(now=lambda: "2026-03-04T05:06:07.000Z", redactor=Redactor())
    for event in story.events:
        log.append(event)
    log.close()
    directory.release()
    return directory


def only(base: Path) -> RunSummary:
    (summary,) = list_runs(base)
    return summary


class TestOne:
    def test_a_verified_run(self, tmp_path: Path) -> None:
        keep(tmp_path, stories.verified(run=A))
        summary = only(tmp_path)
        assert (summary.id, summary.runbook, summary.targets, summary.operator) == (
            A,
            "extend-window",
            (TARGET,),
            "casey",
        )
        assert summary.outcomes == {TARGET: "verified"}
        assert (summary.exit_code, summary.alive, summary.open, summary.needs_recover) == (0, False, False, False)
        assert summary.next == ()

    def test_a_run_left_unverified_is_open_and_says_what_to_type(self, tmp_path: Path) -> None:
        keep(tmp_path, stories.aborted_in_wait(run=A))
        summary = only(tmp_path)
        assert summary.open
        assert summary.why == "changed, not proven to serve"
        assert summary.next == ("console facts gpu7/llm",)  # as the run itself said at its end

    @pytest.mark.parametrize("name", ["verified", "rolled_back", "aborted_before_restart", "refused", "nothing_to_do"])
    def test_settled_ends_are_not_open(self, tmp_path: Path, name: str) -> None:
        keep(tmp_path, stories.ALL[name](run=A))
        assert not only(tmp_path).open

    def test_a_process_gone_before_its_first_change(self, tmp_path: Path) -> None:
        keep(tmp_path, Story(run=A).begin().ask().start("preflight"))
        summary = only(tmp_path)
        assert summary.needs_recover
        assert summary.open_targets == {TARGET: "its process is gone"}
        assert summary.outcomes == {TARGET: "failed-unchanged"}
        assert summary.next == ("console recover", f"console resume {A}", f"console rollback {A}")

    def test_a_process_gone_with_a_change_in_flight(self, tmp_path: Path) -> None:
        keep(tmp_path, Story(run=A).written().start("restart").intend(stories.RESTART))
        summary = only(tmp_path)
        assert summary.outcomes == {TARGET: "unknown"}
        assert summary.why == "its process is gone: it is not known whether a change happened"

    def test_a_record_saved_and_the_run_not_closed(self, tmp_path: Path) -> None:
        story = stories.verified(run=A)
        story.events.pop()
        keep(tmp_path, story)
        summary = only(tmp_path)
        assert summary.needs_recover
        assert summary.outcomes == {TARGET: "verified"}

    def test_a_run_that_goes_on_is_alive_and_not_open(self, tmp_path: Path) -> None:
        directory = keep(tmp_path, Story(run=A).written())
        directory.take()
        summary = only(tmp_path)
        assert (summary.alive, summary.open, summary.needs_recover, summary.outcomes) == (True, False, False, {})
        directory.release()

    def test_as_json(self, tmp_path: Path) -> None:
        keep(tmp_path, stories.aborted_in_wait(run=A))
        table = json.loads(json.dumps(only(tmp_path).document()))
        assert table["open"] is True
        assert table["outcomes"] == {TARGET: "applied-unverified"}


class TestSettled:
    def test_newest_first(self, tmp_path: Path) -> None:
        for run in (B, A, C):
            keep(tmp_path, stories.refused(run=run))
        assert [summary.id for summary in list_runs(tmp_path)] == [C, B, A]

    def open_runs(self, base: Path) -> list[str]:
        return [summary.id for summary in list_runs(base) if summary.open]

    @pytest.mark.parametrize("name", ["verified", "rolled_back"])
    def test_a_later_run_that_proves_a_state_settles_it(self, tmp_path: Path, name: str) -> None:
        keep(tmp_path, stories.aborted_in_wait(run=A))
        assert self.open_runs(tmp_path) == [A]
        keep(tmp_path, stories.ALL[name](run=B))
        assert self.open_runs(tmp_path) == []

    @pytest.mark.parametrize("name", ["refused", "aborted_before_restart", "nothing_to_do"])
    def test_a_later_run_that_proves_nothing_does_not(self, tmp_path: Path, name: str) -> None:
        keep(tmp_path, stories.aborted_in_wait(run=A))
        keep(tmp_path, stories.ALL[name](run=B))
        assert self.open_runs(tmp_path) == [A]

    def test_an_earlier_run_does_not(self, tmp_path: Path) -> None:
        keep(tmp_path, stories.verified(run=A))
        keep(tmp_path, stories.aborted_in_wait(run=B))
        assert self.open_runs(tmp_path) == [B]

    def test_a_run_on_another_target_does_not(self, tmp_path: Path) -> None:
        keep(tmp_path, stories.aborted_in_wait(run=A))
        keep(tmp_path, stories.verified(run=B, target="gpu8/llm"))
        assert self.open_runs(tmp_path) == [A]

    def test_a_resume_that_found_all_done_settles_its_parent(self, tmp_path: Path) -> None:
        keep(tmp_path, stories.aborted_in_wait(run=A))
        keep(tmp_path, stories.nothing_to_do(run=B, parent=A, purpose="resume"))
        assert self.open_runs(tmp_path) == []

    def test_and_through_it_the_parent_s_parent(self, tmp_path: Path) -> None:
        keep(tmp_path, stories.aborted_in_wait(run=A))
        keep(tmp_path, stories.aborted_in_wait(run=B, parent=A, purpose="resume"))
        assert self.open_runs(tmp_path) == [B, A]
        keep(tmp_path, stories.nothing_to_do(run=C, parent=B, purpose="resume"))
        assert self.open_runs(tmp_path) == []

    def test_a_settled_run_nobody_closed_still_needs_recover(self, tmp_path: Path) -> None:
        keep(tmp_path, Story(run=A).restarted())
        keep(tmp_path, stories.rollback_run(run=B, parent=A))
        old = list_runs(tmp_path)[1]
        assert (old.open, old.needs_recover, old.next) == (False, True, ("console recover",))


class TestDamage:
    def test_nothing_there_is_an_empty_list(self, tmp_path: Path) -> None:
        assert list_runs(tmp_path / "none") == []

    def test_what_is_no_run_is_passed_over(self, tmp_path: Path) -> None:
        (tmp_path / "notes.txt").write_text("x")
        (tmp_path / "lost+found").mkdir()
        assert list_runs(tmp_path) == []

    def test_a_directory_killed_before_its_first_event(self, tmp_path: Path) -> None:
        RunDirectory.create(tmp_path, A).release()
        summary = only(tmp_path)
        assert not summary.open
        assert "cannot read" in summary.damaged

    def test_a_log_of_garbage(self, tmp_path: Path) -> None:
        directory = keep(tmp_path, stories.verified(run=A))
        directory.events_path.write_bytes(os.urandom(4096) + b"\n")
        summary = only(tmp_path)
        assert summary.id == A
        assert summary.damaged

    def test_a_damaged_line_leaves_the_rest_readable(self, tmp_path: Path) -> None:
        directory = keep(tmp_path, stories.verified(run=A))
        lines = directory.events_path.read_bytes().splitlines(keepends=True)
        lines[4] = b"\0" * 40 + b"\n"
        directory.events_path.write_bytes(b"".join(lines))
        summary = only(tmp_path)
        assert summary.outcomes == {TARGET: "verified"}
        assert summary.damaged == "lines torn or damaged in its log: 1"

    def test_an_outcome_of_a_newer_version_is_open(self, tmp_path: Path) -> None:
        keep(tmp_path, Story(run=A).restarted().close("half-verified", 11))
        assert only(tmp_path).open


def test_many_long_runs_are_listed_at_once(tmp_path: Path) -> None:
    story = Story(run=A).restarted().start("wait")
    directory = keep(tmp_path, story)
    line = b'{"v":1,"seq":99,"ts":"t","run":"r","target":"gpu7/llm","type":"step.progress","step":"wait","done":1}\n'
    with directory.events_path.open("ab") as file:
        file.write(line * 50_000)
    started = time.perf_counter()
    assert only(tmp_path).needs_recover
    assert time.perf_counter() - started < 0.5


class TestFind:
    def test_by_the_beginning_of_its_id(self, tmp_path: Path) -> None:
        keep(tmp_path, stories.refused(run=A))
        keep(tmp_path, stories.refused(run=B))
        assert find_run(tmp_path, A).run_id == A
        assert find_run(tmp_path, B[:25].lower()).run_id == B

    def test_several_are_named(self, tmp_path: Path) -> None:
        keep(tmp_path, stories.refused(run=A))
        keep(tmp_path, stories.refused(run=B))
        with pytest.raises(UsageError, match="2 runs begin with") as caught:
            find_run(tmp_path, A[:10])
        assert A in caught.value.message
        assert caught.value.exit_code == 2

    def test_none_says_the_newest(self, tmp_path: Path) -> None:
        keep(tmp_path, stories.refused(run=A))
        with pytest.raises(UsageError, match="no run '01Z'") as caught:
            find_run(tmp_path, "01Z")
        assert A in caught.value.hint

    def test_no_runs_at_all(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="no run of this machine yet"):
            find_run(tmp_path / "none", "01")
