from __future__ import annotations

from console.runs.state import RunState, fold
from console.schema.events import ChangeIntended, ChangeMade, TargetStarted, UndoStarted
from console.views.standing import left_where
from tests.views import story


def left(state: RunState) -> str:
    return " ".join("\n".join(left_where(state)).split())


def test_nothing_begun_nothing_left() -> None:
    assert left_where(RunState()) == ["nothing was begun"]


def test_a_target_that_was_only_looked_at_needs_no_command() -> None:
    state = fold(story.numbered([(0, story.started()), (0, TargetStarted(target=story.TARGET, unit=story.UNIT))]))
    assert left_where(state) == ["node7/chat sglang-chat.service: nothing is changed"]


def test_a_written_file_takes_effect_at_the_next_restart() -> None:
    made = story.change(ChangeMade, story.FILE_CHANGE, backup=story.LEDGER)
    text = left(fold(story.numbered([(0, story.started()), (1, made)])))
    assert "1 file changed, not restarted: takes effect at the next restart" in text
    assert f"sudo sh {story.LEDGER}/undo.sh (on the host)" in text


def test_an_action_in_flight_is_not_said_to_be_made() -> None:
    intended = story.change(ChangeIntended, story.FILE_CHANGE, backup=story.LEDGER)
    text = left(fold(story.numbered([(0, story.started()), (1, intended)])))
    assert "one action is in flight" in text
    assert f"in flight {story.FILE}" in text


def test_putting_back_is_said_while_it_goes_on_and_nothing_is_left_after() -> None:
    events = [event for event in story.rolled_back() if event.type not in ("target.finished", "run.finished")]
    undone = next(index for index, event in enumerate(events) if isinstance(event, UndoStarted))
    assert "restarted, not proven, the old state is being put back" in left(fold(events[: undone + 1]))
    after = left(fold(events))
    assert "everything is put back" in after
    assert "console rollback" not in after
