from __future__ import annotations

from collections.abc import Iterable

import pytest

from console.schema.events import (
    ChangeUndone,
    ConclusionMade,
    ConnectionChanged,
    Event,
    FindingMade,
    LevelsRead,
    LogLine,
    PlanMade,
    QuestionAnswered,
    QuestionAsked,
    StepProgress,
    TargetStarted,
    WaveFinished,
    WaveStarted,
)
from console.views.final import final_lines
from console.views.run import PROGRESS_EVERY_S, Narration
from tests.views import story
from tests.views.golden import screen, too_wide
from tests.views.samples import HOSTILE, LONG, WIDE


def told(events: Iterable[Event], width: int = 80, *, asks: bool = False) -> str:
    """Everything said of a run, its end included."""
    narration = Narration(width, asks=asks)
    said = [line.text for event in events for line in narration.tell(event)]
    if narration.state.finished is not None:
        said += ["", *final_lines(narration.state, width)]
    return "\n".join(said) + "\n"


@pytest.mark.parametrize("name", ["verified", "rolled_back", "stopped_twice"])
def test_a_run_reads_as_its_screen(name: str) -> None:
    events: list[Event] = getattr(story, name)()
    assert told(events) == screen(name)


@pytest.mark.parametrize("name", ["verified", "rolled_back", "stopped_twice"])
@pytest.mark.parametrize("width", [60, 80, 100])
def test_only_commands_are_wider_than_the_terminal(name: str, width: int) -> None:
    assert too_wide(told(getattr(story, name)(), width), width) == []


def test_a_wait_speaks_at_each_phase_and_otherwise_now_and_then() -> None:
    start = story.up_to_restart()
    every = [(10.0 + tenth / 10, story.progress("weights", tenth, 400)) for tenth in range(200)]
    graphs = [(30.0, story.progress("graphs", 1, 18))]
    narration = Narration()
    said = [
        line.text
        for event in story.numbered([*start, *every, *graphs])
        for line in narration.tell(event)
        if line.passing
    ]
    assert len(said) == 20 / PROGRESS_EVERY_S + 1
    assert "weights [" in said[0]
    assert "graphs" in said[-1]


def test_lines_of_the_log_are_not_said_twice() -> None:
    text = told(story.rolled_back())
    assert text.count("CUDA out of memory") == 1
    line = LogLine(target=story.TARGET, kind="failure", text="CUDA out of memory")
    other = LogLine(target="node8/chat", kind="failure", text="CUDA out of memory")
    assert told(story.numbered([(0, line), (1, line), (1, other)])).count("CUDA out of memory") == 2
    assert "next: journalctl -u sglang-chat.service -n 200" in text


def test_the_state_is_said_at_the_first_stop_and_where_everything_is_at_the_second() -> None:
    first, second = told(story.stopped_twice()).split("STOP (SIGINT)")[1:]
    assert "[7/8] wait until the new process serves: stops now" in first
    assert "undo.sh" not in first
    assert story.FILE in second
    assert f"console rollback {story.RUN}" in second
    assert f"sudo sh {story.LEDGER}/undo.sh" in second


def test_several_targets_are_told_apart() -> None:
    names = ("node7/chat", "node12/chat")
    events = story.numbered(
        [
            (0, story.started(*names)),
            (0, WaveStarted(index=1, targets=names)),
            *((1, TargetStarted(target=name, unit=story.UNIT, engine="sglang")) for name in names),
            *((1, story.planned(name, answers={})) for name in names),
            (2, story.begin("reload", "node12/chat")),
            (3, story.end("reload", "changed", "systemd read the unit files again", 0.5, "node12/chat")),
            (4, WaveFinished(index=1, targets=names, verdict="go on")),
        ]
    )
    text = told(events)
    assert "wave 1: node7/chat, node12/chat\n" in text
    assert "node12/chat  [5/8] changed  have systemd read its files again " in text
    assert too_wide(text) == []


def test_questions_are_told_where_nobody_is_asked_here() -> None:
    asked = QuestionAsked(
        target=story.TARGET, question="confirm", text="Restart it?", choices=("yes", "no"), default="no"
    )
    answered = QuestionAnswered(target=story.TARGET, question="confirm", answer="no", by="nobody: no terminal")
    events = story.numbered([(0, story.started()), (1, asked), (2, answered)])
    assert "asked: Restart it? (without an answer: no)" in told(events)
    assert "Restart it?" not in told(events, asks=True)
    assert "answer: no, by nobody: no terminal" in told(events, asks=True)


def test_putting_back_says_what_it_did() -> None:
    text = told(story.rolled_back())
    assert "20-window.conf is as it was: context_length 16384 -> 65536 is undone" in text
    assert "once more, for the old state: restart" in text
    never = story.change(ChangeUndone, story.FILE_CHANGE, how="not made")
    assert "never happened: context_length 16384 -> 65536" in told(story.numbered([(0, story.started()), (1, never)]))


def test_nothing_to_do_is_one_sentence() -> None:
    plan = story.planned(settings=("context_length 65536 -> 65536",), nothing_to_do=True)
    text = told(story.numbered([(0, story.started()), (1, plan)]))
    assert "nothing to do: context_length 65536 is so already\n" in text
    assert "FITS?" not in text


def test_a_refusal_at_planning_is_told_in_full() -> None:
    refused = story.end(
        "plan",
        "refused",
        f"{story.TARGET}: context_length is 8192, not 16384 as expected\n"
        "  next: look at the unit, then --set expect=8192",
    )
    text = told(story.numbered([(0, story.started()), (1, refused)]))
    assert "[plan] refused  node7/chat: context_length is 8192, not 16384 as expected" in text
    assert "next: look at the unit, then --set expect=8192" in text


def test_a_level_that_differs_is_named() -> None:
    levels = LevelsRead(
        target=story.TARGET, setting="context_length", disk="65536", loaded="65536", running="16384", serving="16384"
    )
    text = told(story.numbered([(0, story.started()), (1, levels)]))
    assert "running 16384 (differs)" in text
    assert text.count("differs") == 1


def test_figures_and_conclusions_carry_their_units_and_method() -> None:
    events: list[tuple[float, Event]] = [
        (0, story.started()),
        (
            1,
            FindingMade(
                target=story.TARGET,
                name="decode_rate",
                value=139.6,
                unit="tok/s",
                low=138.9,
                high=140.3,
                context_tokens=1024,
                method="two_point",
            ),
        ),
        (2, ConclusionMade(target=story.TARGET, kind="ruled_out", text="clocks are not throttled")),
    ]
    text = told(story.numbered(events))
    assert "decode_rate 139.6 tok/s [138.9, 140.3] at 1024 tokens, two_point" in text
    assert "ruled out: clocks are not throttled" in text


@pytest.mark.parametrize("poison", [HOSTILE, LONG, WIDE, HOSTILE + LONG, "a\nb\r\nc\rd", "\ud800"])
def test_what_a_host_says_cannot_leave_its_line(poison: str) -> None:
    events = story.numbered(
        [
            (0, story.started(reason=poison)),
            (0, TargetStarted(target=story.TARGET, unit=poison, engine=poison)),
            (1, ConnectionChanged(target=story.TARGET, state="lost", message=poison)),
            (1, story.planned(warnings=(poison,), answers={"fits": [poison], "undo": 7})),
            (1, story.begin("wait")),
            (2, story.progress("weights", 1, 2, 3.0, poison)),
            (3, LogLine(target=story.TARGET, kind="failure", text=poison)),
            (4, story.end("wait", "failed", poison, 3.0)),
            (5, story.end("unheard-of", "failed", poison)),
        ]
    )
    text = told(events)
    text.encode()
    assert not [character for character in text if character != "\n" and not character.isprintable()]
    assert too_wide(text) == []


def test_events_out_of_order_or_of_no_known_step_are_told_all_the_same() -> None:
    lone = StepProgress(target=story.TARGET, step="wait", phase="weights")
    assert "weights" in told(story.numbered([(0, lone)]))
    assert told(story.numbered([(0, PlanMade(target="a/b", plan_sha256=""))])) == "\n"


def test_what_goes_on_is_one_line_a_target() -> None:
    narration = Narration()
    for event in story.numbered(story.waiting()):
        narration.tell(event)
    assert narration.going_on(lambda target, step: 290.4) == [
        "[7/8] graphs [##..............] 3/18, eta 40s, 4m50s, wait until the new process serves"
    ]
    for event in story.verified():
        narration.tell(event)
    assert narration.going_on() == []
