"""The fold: what a log proves, and nothing more, wherever it was cut off."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.runs.state import RunState, fold
from console.runs.target_state import NOT_MADE
from console.schema.change import Change
from console.schema.events import (
    AbortRequested,
    ChangeIntended,
    ChangeMade,
    ChangeUndone,
    ConnectionChanged,
    Event,
    FindingMade,
    LogLine,
    QuestionAsked,
    StepFinished,
    StepProgress,
    StepStarted,
    TargetFinished,
    UndoFinished,
    UndoStarted,
    Verified,
)
from console.schema.outcome import Outcome, decide
from tests.runs import stories
from tests.runs.stories import COMMAND, RELOAD, RESTART, STEPS, TARGET, Story, file_change

FIRST = file_change("file-1")
SECOND = file_change("file-2", "/etc/default/engine")


def outcome_of(story: Story) -> Outcome:
    """As the runner decides it: from the events before its own verdict."""
    return decide(fold(story.events).ending(TARGET))


def without_verdict(events: Sequence[Event]) -> list[Event]:
    return [event for event in events if not isinstance(event, TargetFinished)]


@pytest.mark.parametrize("name", stories.ALL)
def test_events_alone_lead_to_the_verdict_of_the_run(name: str) -> None:
    story = stories.ALL[name]()
    said = next(event for event in story.events if isinstance(event, TargetFinished))
    state = fold(without_verdict(story.events))
    assert state.outcome(TARGET).value == said.outcome
    assert state.targets[TARGET].exit_code == said.exit_code


class TestEveryPrefix:
    """Cut off after any event, a log says no more than what is in it."""

    @staticmethod
    def proof(prefix: Sequence[Event]) -> tuple[bool, bool]:
        """Whether the prefix holds all the evidence for a proven change, and for a proven undoing."""
        rollback = any(getattr(event, "purpose", "") == "rollback" for event in prefix)
        last_change = max(
            (
                e.seq
                for e in prefix
                if isinstance(e, ChangeIntended | ChangeMade) or (rollback and isinstance(e, ChangeUndone))
            ),
            default=0,
        )
        began_undo = next((e.seq for e in prefix if isinstance(e, UndoStarted)), None)
        served = [e.seq for e in prefix if isinstance(e, Verified) and (began_undo is None or e.seq < began_undo)]
        open_changes = {e.change.id for e in prefix if isinstance(e, ChangeIntended)} - {
            e.change.id for e in prefix if isinstance(e, ChangeMade | ChangeUndone)
        }
        back = any(isinstance(e, UndoFinished) and e.proven for e in prefix)
        return bool(served) and served[-1] > last_change and not open_changes, back and not open_changes

    @pytest.mark.parametrize("name", stories.ALL)
    def test_nothing_is_claimed_without_its_evidence(self, name: str) -> None:
        events = without_verdict(stories.ALL[name]().events)
        for k in range(len(events) + 1):
            prefix = events[:k]
            outcome = fold(prefix).outcome(TARGET)
            proven, undone = self.proof(prefix)
            if outcome in (Outcome.VERIFIED, Outcome.VERIFIED_INCOMPLETE):
                assert proven, f"verified after event {k}"
            if outcome is Outcome.ROLLED_BACK:
                assert undone, f"rolled back after event {k}"
            if outcome in (Outcome.VERIFIED, Outcome.NO_CHANGE, Outcome.MEASURED):
                ended = [e for e in prefix if isinstance(e, StepFinished) and "." in e.uses]
                assert len(ended) == len(STEPS), f"{outcome} after event {k}, before the last step"

    @pytest.mark.parametrize("name", stories.ALL)
    def test_a_step_is_ok_only_once_it_said_so(self, name: str) -> None:
        events = stories.ALL[name]().events
        for k in range(len(events) + 1):
            said = {event.step: event.outcome for event in events[:k] if isinstance(event, StepFinished)}
            for step in fold(events[:k]).target(TARGET).steps.values():
                assert step.outcome == said.get(step.id)

    @pytest.mark.parametrize("name", stories.ALL)
    def test_folding_on_is_folding_anew(self, name: str) -> None:
        state = RunState()
        events = stories.ALL[name]().events
        for k, event in enumerate(events, start=1):
            state.apply(event)
            assert state == fold(events[:k])


class TestCrash:
    """What the log says when the process was killed at that point."""

    def outcome(self, told: Story) -> Outcome:
        state = fold(told.events)
        assert state.orphan(alive=False)
        assert not state.orphan(alive=True)
        return state.outcome(TARGET)

    def test_before_any_change_nothing_is_changed(self) -> None:
        assert self.outcome(Story().begin().ask().start("preflight").end("preflight")) is Outcome.FAILED_UNCHANGED

    def test_intended_and_no_more_is_unknown(self) -> None:
        told = Story().begin().start("set").intend(FIRST)
        assert self.outcome(told) is Outcome.UNKNOWN

    def test_looking_settles_what_was_intended(self) -> None:
        began = Story().begin().start("set").intend(FIRST)
        assert self.outcome(began.undo(FIRST, NOT_MADE)) is Outcome.FAILED_UNCHANGED
        other = Story().begin().start("set").intend(FIRST)
        assert self.outcome(other.make(FIRST)) is Outcome.APPLIED_UNVERIFIED

    def test_one_file_of_two(self) -> None:
        told = Story().begin().start("set").intend(FIRST).make(FIRST).intend(SECOND)
        assert self.outcome(told) is Outcome.UNKNOWN
        settled = told.undo(SECOND, NOT_MADE)
        assert self.outcome(settled) is Outcome.APPLIED_UNVERIFIED
        assert not fold(settled.events).targets[TARGET].live

    def test_written_and_loaded_is_on_disk_only(self) -> None:
        told = Story().written()
        assert self.outcome(told) is Outcome.APPLIED_UNVERIFIED
        assert not fold(told.events).targets[TARGET].live

    def test_restart_asked(self) -> None:
        told = Story().written().start("restart").intend(RESTART)
        assert self.outcome(told) is Outcome.UNKNOWN
        assert self.outcome(told.make(RESTART)) is Outcome.APPLIED_UNVERIFIED
        assert fold(told.events).targets[TARGET].live

    def test_inside_undo(self) -> None:
        told = Story().restarted().start("wait").end("wait", "failed", 1).put_back(FIRST, proven=None)
        assert self.outcome(told) is Outcome.ROLLBACK_FAILED

    def test_undone_and_not_proven(self) -> None:
        told = Story().restarted().start("wait").end("wait", "failed", 1).put_back(FIRST, RELOAD, RESTART, proven=False)
        assert self.outcome(told) is Outcome.ROLLBACK_FAILED

    def test_proven_but_the_last_steps_never_ran(self) -> None:
        told = Story().ready().start("verify").say(Verified(invocation_id="1" * 32))
        assert self.outcome(told) is Outcome.VERIFIED_INCOMPLETE

    def test_verdict_written_and_the_run_not_closed(self) -> None:
        told = Story().ready().verify().say(TargetFinished(outcome="verified", exit_code=0))
        assert self.outcome(told) is Outcome.VERIFIED


class TestUndoing:
    def test_put_back_before_a_process_ran_it_is_unchanged(self) -> None:
        story = Story().written().phase("stop", "aborted", 130).put_back(FIRST, RELOAD)
        assert outcome_of(story) is Outcome.ABORTED_UNCHANGED

    def test_put_back_after_a_process_ran_it_is_rolled_back(self) -> None:
        story = Story().restarted().phase("stop", "aborted", 130).put_back(FIRST, RELOAD, RESTART)
        assert outcome_of(story) is Outcome.ROLLED_BACK

    def test_the_proof_of_the_old_state_proves_nothing_of_the_new(self) -> None:
        story = Story().restarted().start("wait").end("wait", "failed", 1).say(UndoStarted()).undo(FIRST)
        story.say(Verified(invocation_id="2" * 32))
        state = fold(story.events).targets[TARGET]
        assert state.verified is None
        assert state.undoing

    def test_steps_of_undoing_do_not_change_how_the_run_ended(self) -> None:
        story = Story().restarted().start("wait").end("wait", "aborted", 130).say(UndoStarted())
        story.say(StepStarted(step="undo-wait", uses="service.wait_ready", index=0, of=0))
        story.say(StepFinished(step="undo-wait", uses="service.wait_ready", outcome="failed"))
        assert fold(story.events).ending(TARGET).ended == "aborted"


class TestChanges:
    def test_a_change_after_the_proof_needs_a_new_one(self) -> None:
        story = Story().ready().verify().intend(COMMAND).make(COMMAND)
        assert outcome_of(story) is Outcome.APPLIED_UNVERIFIED

    def test_a_file_after_the_restart_is_not_live(self) -> None:
        story = Story().begin().change("restart", RESTART).change("set", FIRST)
        assert not fold(story.events).targets[TARGET].live

    def test_seen_in_the_running_process_is_live(self) -> None:
        story = Story().written().levels("8192", running="4096")
        assert not fold(story.events).targets[TARGET].live
        assert fold(story.levels("8192").events).targets[TARGET].live

    def test_levels_read_before_writing_say_nothing_of_after(self) -> None:
        story = Story().begin().levels("8192").change("set", FIRST)
        assert not fold(story.events).targets[TARGET].live

    def test_a_restart_alone_is_a_change(self) -> None:
        steps = (("restart", "service.restart"),)
        assert outcome_of(Story().begin(steps).change("restart", RESTART)) is Outcome.APPLIED_UNVERIFIED

    def test_a_reload_alone_is_a_change(self) -> None:
        steps = (("reload", "systemd.daemon_reload"),)
        assert outcome_of(Story().begin(steps).change("reload", RELOAD)) is Outcome.APPLIED_UNVERIFIED

    def test_a_rollback_that_ends_well_is_verified(self) -> None:
        story = Story(purpose="rollback").begin().say(UndoStarted()).undo(FIRST).undo(RESTART)
        assert outcome_of(story) is Outcome.ROLLBACK_FAILED
        assert outcome_of(story.say(UndoFinished(proven=True))) is Outcome.VERIFIED


class TestEnded:
    def test_a_no_is_aborted(self) -> None:
        story = Story().begin().ask("no")
        assert outcome_of(story) is Outcome.ABORTED_UNCHANGED

    @pytest.mark.parametrize("code", [1, 6, 7, 8])
    def test_a_refusal_ends_with_its_own_code(self, code: int) -> None:
        story = Story().begin().phase("plan", "refused", code)
        state = fold(story.events).targets[TARGET]
        assert (state.outcome, state.exit_code) == (Outcome.FAILED_UNCHANGED, code)

    def test_keep_waiting_takes_the_abort_back(self) -> None:
        story = Story().restarted().start("wait").end("wait", "aborted", 130)
        assert fold(story.events).ending(TARGET).ended == "aborted"
        story.done.pop()
        story.start("wait").end("wait").verify()
        assert outcome_of(story) is Outcome.VERIFIED

    def test_a_busy_server_is_a_finding_inside_a_runbook_and_a_failure_alone(self) -> None:
        alone = Story().begin((("m", "measure.decode"),))
        alone.say(StepStarted(step="m", uses="measure.decode", index=1, of=1))
        alone.say(StepFinished(step="m", uses="measure.decode", outcome="refused"))
        assert outcome_of(alone) is Outcome.FAILED_UNCHANGED
        inside = Story().begin((("m", "measure.decode"), ("n", "measure.sweep")))
        for name, uses, outcome in (("m", "measure.decode", "refused"), ("n", "measure.sweep", "ok")):
            inside.say(StepStarted(step=name, uses=uses, index=1, of=2))
            inside.say(StepFinished.model_validate({"step": name, "uses": uses, "outcome": outcome}))
        inside.say(FindingMade(name="decode_rate", value=120.5, unit="tok/s"))
        assert outcome_of(inside) is Outcome.MEASURED

    def test_nobody_named_is_not_started(self) -> None:
        assert fold([]).outcome("gpu9/x") is Outcome.NOT_STARTED
        assert decide(fold([]).ending("gpu9/x")) is Outcome.NOT_STARTED

    def test_an_outcome_of_a_newer_version_is_unknown(self) -> None:
        story = Story().begin().say(TargetFinished(outcome="half-verified", exit_code=11))
        assert fold(story.events).outcome(TARGET) is Outcome.UNKNOWN


class TestForReaders:
    def test_a_step_that_goes_on(self) -> None:
        story = Story().restarted().start("wait")
        story.say(StepProgress(step="wait", phase="weights", done=3, total=8, eta_s=12.5, message="shard 3"))
        step = fold(story.events).targets[TARGET].current_step()
        assert step is not None
        assert (step.id, step.phase, step.done, step.total, step.eta_s) == ("wait", "weights", 3, 8, 12.5)

    def test_a_question_waits_until_it_is_answered(self) -> None:
        story = Story().begin().say(QuestionAsked(question="confirm", text="Restart?", choices=("yes", "no")))
        asked = fold(story.events).question
        assert asked is not None
        assert asked.text == "Restart?"
        assert fold(Story().begin().ask().events).question is None

    def test_only_classified_log_lines_are_kept_and_not_without_end(self) -> None:
        story = Story().begin()
        for number in range(500):
            story.say(LogLine(kind="weights", text=str(number)))
            story.say(LogLine(text="a user's prompt"))
        kept = fold(story.events).targets[TARGET].log
        assert len(kept) == 400
        assert kept[-1].text == "499"
        assert all(line.kind for line in kept)

    def test_connection_and_aborts(self) -> None:
        story = Story().begin()
        story.say(ConnectionChanged(state="connected", auth="publickey SHA256:abc, ops"))
        story.say(ConnectionChanged(state="lost"))
        story.say(AbortRequested(how="SIGINT"), target="")
        state = fold(story.events)
        assert state.targets[TARGET].auth == "publickey SHA256:abc, ops"
        connection = state.targets[TARGET].connection
        assert connection is not None
        assert connection.state == "lost"
        assert [abort.how for abort in state.aborts] == ["SIGINT"]

    def test_records_and_commits(self) -> None:
        state = fold(stories.verified().events)
        assert state.records == {TARGET: "/r/record.json"}
        assert state.commits == {TARGET: "e" * 40}
        assert state.exit_code == 0


CHANGES: Sequence[Change] = (FIRST, SECOND, RELOAD, RESTART, COMMAND)
ACTS: dict[str, Callable[[Story, Change], object]] = {
    "intend": lambda story, change: story.intend(change),
    "make": lambda story, change: story.make(change),
    "undo": lambda story, change: story.undo(change),
    "not made": lambda story, change: story.undo(change, NOT_MADE),
    "verify": lambda story, _change: story.say(Verified()),
    "undo begins": lambda story, _change: story.say(UndoStarted()),
    "undo proven": lambda story, _change: story.say(UndoFinished(proven=True)),
    "undo unproven": lambda story, _change: story.say(UndoFinished(proven=False)),
    "step fails": lambda story, _change: story.end("wait", "failed", 1),
    "step ends": lambda story, _change: story.end("wait"),
}


@given(st.lists(st.tuples(st.sampled_from(sorted(ACTS)), st.sampled_from(CHANGES)), max_size=14))
def test_whatever_order_events_come_in_no_proof_is_invented(acts: list[tuple[str, Change]]) -> None:
    story = Story().begin((("wait", "service.wait_ready"),))
    for name, change in acts:
        ACTS[name](story, change)
    outcome = fold(story.events).outcome(TARGET)
    proven, undone = TestEveryPrefix.proof(story.events)
    last = {change.id: "" for change in CHANGES}
    for name, change in acts:
        if name in ("intend", "make", "undo", "not made"):
            last[change.id] = name
    if "intend" in last.values():
        assert outcome is Outcome.UNKNOWN
    if outcome in (Outcome.VERIFIED, Outcome.VERIFIED_INCOMPLETE):
        assert proven
    if outcome is Outcome.ROLLED_BACK:
        assert undone
    if outcome in (Outcome.NO_CHANGE, Outcome.FAILED_UNCHANGED, Outcome.ABORTED_UNCHANGED):
        assert last["restart"] not in ("make", "undo")
        assert all(state != "make" for state in (last["file-1"], last["file-2"], last["command"]))
