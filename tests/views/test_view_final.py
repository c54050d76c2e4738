from __future__ import annotations

from collections.abc import Iterable

import pytest

from console.runs.state import fold
from console.schema.events import Event, FactsRead, RunFinished, TargetFinished
from console.views.final import final_lines, same_process
from tests.views import story
from tests.views.golden import too_wide


def ended(*events: Event) -> str:
    return "\n".join(final_lines(fold(story.numbered([(0.0, event) for event in events]))))


def finished(outcome: str, code: int | None, **more: object) -> list[Event]:
    return [
        story.started(),
        story.planned(),
        TargetFinished.model_validate({"target": story.TARGET, "outcome": outcome, "exit_code": code} | more),
        RunFinished(exit_code=code or 0, outcomes={story.TARGET: outcome}),
    ]


def test_applied_unverified_says_whether_it_is_live() -> None:
    assert "live: a process runs it, unproven" in ended(*finished("applied-unverified", 3, live=True))
    on_disk = ended(*finished("applied-unverified", 3, live=False))
    assert "on disk only: takes effect at the next restart" in on_disk


def test_the_reason_of_a_bad_end_stands_below_the_table() -> None:
    text = ended(*finished("failed-unchanged", 8, message="the unit file changed since the plan\n  next: plan again"))
    assert "  the unit file changed since the plan\n" in text + "\n"
    assert "plan again" not in text


def test_a_target_that_was_not_begun_has_no_code() -> None:
    names = (story.TARGET, "node8/chat")
    text = ended(
        story.started(*names),
        TargetFinished(target=story.TARGET, outcome="failed-unchanged", exit_code=7, message="unreachable"),
        RunFinished(exit_code=7, outcomes={story.TARGET: "failed-unchanged", "node8/chat": "not-started"}),
    )
    assert "node8/chat  not-started          -     -\n" in text
    assert "  node7/chat: unreachable" in text


@pytest.mark.parametrize(
    ("outcome", "settings"),
    [
        ("verified", "context_length 16384 -> 65536"),
        ("applied-unverified", "context_length 16384 -> 65536"),
        ("no-change", "context_length already 65536"),  # a resume that only had to prove it
        ("rolled-back", "context_length back to 16384"),
        ("failed-unchanged", "context_length still 16384"),
        ("aborted-unchanged", "context_length still 16384"),
    ],
)
def test_a_setting_stands_as_the_run_left_it(outcome: str, settings: str) -> None:
    row = ended(*finished(outcome, 0)).split("\n")[1]
    assert row.endswith(f"  {settings}")


def test_nothing_to_do_says_that_it_is_so_already() -> None:
    plan = story.planned(settings=("context_length 65536 -> 65536",), nothing_to_do=True)
    end = TargetFinished(target=story.TARGET, outcome="no-change", exit_code=0)
    text = ended(story.started(), plan, end, RunFinished(exit_code=0, outcomes={story.TARGET: "no-change"}))
    assert text.split("\n")[1].endswith("  context_length already 65536")


def test_a_simulation_says_so() -> None:
    seen = FactsRead(target=story.TARGET, when="plan", facts={"host": {"simulated": True}})
    assert "simulated: every figure here is of a simulated host" in ended(seen, *finished("verified", 0))
    assert "simulated" not in ended(*finished("verified", 0))


def test_commands_are_said_once_and_never_broken() -> None:
    command = "ssh ops@192.0.2.7 sudo sh /var/lib/console/" + "a" * 80 + "/undo.sh"
    text = ended(*finished("verified", 0, next=(command, "console facts node7/chat", command)))
    assert text.count(command) == 1
    assert f"next: {command}\n      console facts node7/chat" in text
    assert too_wide(text) == []


def test_verified_is_about_one_process() -> None:
    def since(events: Iterable[Event]) -> str:
        return same_process(fold(events).targets[story.TARGET])

    assert since(story.verified()).startswith("same process since it was proven at 03:06:02Z (invocation 22222222)")
    assert "pool 88,000 tokens" in since(story.verified())
    other = FactsRead(target=story.TARGET, when="after", facts={"unit": {"invocation_id": "3" * 32}})
    events = [*story.verified()[:-4], other.model_copy(update={"seq": 99})]
    assert since(events).startswith("restarted since it was proven")
    assert since(story.rolled_back()) == ""
