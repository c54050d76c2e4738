"""Under a bottleneck: the room of the pool, commits by class of text, and what the engine does not say."""

from __future__ import annotations

from console.schema.events import FindingMade
from console.views.bottleneck import room_lines


def test_only_what_is_known_is_shown() -> None:
    rooms = [
        FindingMade(target="t", name="room", value=24, context_tokens=4096, figures={"step_ms": 30.25}),
        FindingMade(target="t", name="room", value=3, context_tokens=32_768),
    ]
    accepts = [FindingMade(target="t", name="accept_on_record", value=2.913, text_class="prose")]
    assert [line.rstrip() for line in room_lines(rooms, accepts, "not exposed")] == [
        "context  at once  step ms, one alone",
        "   4096       24                30.2",
        " 32,768        3                 n/a",
        "avg commit on record: prose 2.91",
        "drafter's share of a step: not exposed",
    ]
    assert list(room_lines([], [], None)) == []
