"""record.json says what happened, holds no secret, and is saved before anything else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from console.errors import InternalError, StateError
from console.results.record import build_record, documents, folder_of, load_record, masked, save_record
from console.runs.directory import RunDirectory
from console.runs.state import fold
from console.runs.target_state import NOT_MADE
from console.schema.events import ChangeIntended, ChangeMade, ConclusionMade, LogLine, TargetFinished
from console.schema.outcome import Outcome
from console.schema.record import Record
from console.secrets import Redactor
from tests.results.conftest import record_of
from tests.runs import stories
from tests.runs.stories import FILE, RELOAD, RUN, TARGET, UNIT, Story, file_change


class TestBuild:
    def test_of_a_verified_run(self, record: Record) -> None:
        assert (record.run, record.target, record.unit, record.engine) == (RUN, TARGET, UNIT, "sglang")
        assert (record.outcome, record.exit_code, record.duration_s) == (Outcome.VERIFIED, 0, 12.5)
        assert (record.operator, record.from_host, record.runbook) == ("casey", "desk4", "extend-window")
        assert record.started_at < record.finished_at
        (setting,) = record.settings
        assert (setting.setting, setting.before, setting.after, setting.path, setting.made) == (
            "context_length", "4096", "8192", FILE, True,
        )  # fmt: skip
        assert [(change.kind, change.state) for change in record.changes] == [
            ("file", "made"), ("reload", "made"), ("restart", "made"),
        ]  # fmt: skip
        assert [step.id for step in record.steps] == ["preflight", "set", "reload", "restart", "wait", "verify"]
        assert record.levels[0].serving == "8192"
        assert record.findings[0].name == "prompt_tokens"
        assert record.diff.startswith("-ExecStart=engine 4096\n")
        assert record.facts_before["serving"]["model"] == "m-1"

    @pytest.mark.parametrize("name", stories.ALL)
    def test_its_outcome_is_the_run_s(self, name: str) -> None:
        story = stories.ALL[name]()
        said = next(event for event in story.events if isinstance(event, TargetFinished))
        assert record_of(story).outcome.value == said.outcome

    def test_before_the_verdict_it_is_what_the_events_prove(self) -> None:
        story = Story().written().start("restart").intend(stories.RESTART)
        record = record_of(story)
        assert (record.outcome, record.exit_code) == (Outcome.UNKNOWN, 9)
        assert [change.state for change in record.changes] == ["made", "made", "unknown"]
        assert record.duration_s > 0

    def test_settings_are_made_only_where_the_file_was(self) -> None:
        assert record_of(stories.refused()).settings[0].made is False
        intended = Story().begin().start("set").intend(file_change())
        assert record_of(intended).settings[0].made is False
        assert record_of(intended.undo(file_change(), NOT_MADE)).changes[0].state == "not made"

    def test_a_setting_put_back_was_made(self) -> None:
        record = record_of(stories.rolled_back())
        assert record.settings[0].made
        assert [change.state for change in record.changes] == ["undone"] * 3
        assert record.message == "out of memory"

    def test_of_a_target_nobody_named(self) -> None:
        with pytest.raises(KeyError):
            build_record(fold(stories.verified().events), "gpu9/x")

    def test_log_lines_are_bounded(self) -> None:
        story = Story().begin()
        for _ in range(300):
            story.say(LogLine(kind="weights", text="x" * 5000))
        record = record_of(story)
        assert len(record.log) == 100
        assert max(len(line.text) for line in record.log) == 400

    def test_conclusions(self) -> None:
        story = Story().begin().say(ConclusionMade(kind="cause", text="longer contexts", gain=2.0))
        assert record_of(story).conclusions[0].gain == 2.0


class TestMasked:
    def test_everywhere_and_once_is_enough(self, record: Record) -> None:
        redactor = Redactor()
        redactor.learn("canary-value")
        leaky = record.model_copy(
            update={
                "message": "x canary-value y",
                "argv_after": ("engine", "--api-key", "k4n4ry"),
                "facts_after": {"process": {"environment": {"HF_TOKEN": "k4n4ry"}}},
            }
        )
        clean = masked(leaky, redactor)
        text = clean.model_dump_json()
        assert "canary-value" not in text
        assert "k4n4ry" not in text
        assert masked(clean, redactor) == clean


class TestSave:
    def test_in_the_run_s_own_directory(self, tmp_path: Path, record: Record) -> None:
        with RunDirectory.create(tmp_path, RUN) as directory:
            path = save_record(directory, record, Redactor())
        assert path == tmp_path / RUN / "records" / "gpu7" / "llm" / "2026" / RUN / "record.json"
        assert {entry.name for entry in path.parent.iterdir()} == {"record.json", "report.md"}
        assert load_record(path) == masked(record, Redactor())

    def test_again_is_the_same_file(self, tmp_path: Path, record: Record) -> None:
        with RunDirectory.create(tmp_path, RUN) as directory:
            first = save_record(directory, record, Redactor())
            data = first.read_bytes()
            assert save_record(directory, record, Redactor()) == first
            assert first.read_bytes() == data

    def test_where_it_cannot_be_saved_is_said(self, tmp_path: Path, record: Record) -> None:
        with RunDirectory.create(tmp_path, RUN) as directory:
            directory.records_path.write_text("in the way")
            with pytest.raises(StateError, match="cannot save the record"):
                save_record(directory, record, Redactor())

    def test_no_difference_no_file(self) -> None:
        assert "```diff" not in documents(record_of(stories.nothing_to_do()))["report.md"].decode()


class TestLoad:
    def test_a_newer_version_is_read_as_far_as_it_is_understood(self, tmp_path: Path, record: Record) -> None:
        document = json.loads(documents(record)["record.json"])
        document |= {"schema": 2, "phase_of_the_moon": "full"}
        (tmp_path / "record.json").write_text(json.dumps(document))
        assert load_record(tmp_path / "record.json").run == record.run

    def test_an_old_one_that_knew_less(self, tmp_path: Path, record: Record) -> None:
        """Of before stacks, digests and levels were kept."""
        whole = json.loads(documents(record)["record.json"])
        kept = ("schema", "run", "target", "unit", "engine", "runbook", "outcome", "settings", "facts_before", "diff")
        (tmp_path / "record.json").write_text(json.dumps({name: whole[name] for name in kept}))
        old = load_record(tmp_path / "record.json")
        assert (old.run, old.outcome, old.settings) == (record.run, record.outcome, record.settings)
        assert (old.stack_before, old.digests_before, old.outage_s) == (None, {}, None)

    @pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": 1}', "\0"])
    def test_what_is_no_record(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "record.json").write_text(text)
        with pytest.raises(StateError, match="not a record"):
            load_record(tmp_path / "record.json")

    def test_a_missing_one(self, tmp_path: Path) -> None:
        with pytest.raises(StateError, match="cannot read"):
            load_record(tmp_path / "record.json")


@pytest.mark.parametrize(
    "change", [{"target": "../etc"}, {"target": "gpu7"}, {"run": "a/b"}, {"started_at": ""}, {"target": "gpu7/.git"}]
)
def test_a_path_is_made_of_names_only(record: Record, change: dict[str, str]) -> None:
    with pytest.raises(InternalError, match="cannot be part of a path"):
        folder_of(record.model_copy(update=change))


def test_the_plan_of_a_change_is_whole_in_the_log_and_a_summary_in_the_record() -> None:
    story = Story().begin().change("reload", RELOAD)
    made = [event for event in story.events if isinstance(event, ChangeIntended | ChangeMade)]
    assert all(event.change == RELOAD for event in made)
    assert record_of(story).changes[0].summary == "daemon-reload"
