from __future__ import annotations

import pytest

from console.engines.base import Engine
from console.settings.flags import sought
from console.settings.levels import NOT_GIVEN, Level, Levels, compare, level_of_loaded, level_of_words

UNSEEN = Level(None, "no process")
ABSENT = Level(None, NOT_GIVEN)


def levels(engine: Engine, disk: Level, loaded: Level, running: Level, serving: Level) -> Levels:
    return compare(engine, "context_length", disk=disk, loaded=loaded, running=running, serving=serving)


@pytest.mark.parametrize(
    ("seen", "first_difference"),
    [
        (("200000", "200000", "200000", "200000"), None),
        (("200k", "200000", "200000", "200000"), None),
        (("200000", "32768", "32768", "32768"), "loaded"),
        (("200000", "200000", "32768", "32768"), "running"),
        (("200000", "200000", "200000", "32768"), "serving"),
        (("200000", None, None, "200000"), None),
        (("200000", None, None, "32768"), "serving"),
        ((None, None, None, None), None),
    ],
)
def test_the_first_level_that_differs_is_the_diagnosis(
    seen: tuple[str | None, ...], first_difference: str | None, sglang: Engine
) -> None:
    found = levels(sglang, *(UNSEEN if value is None else Level(value) for value in seen))
    assert found.first_difference == first_difference
    assert found.agree == (first_difference is None)


def test_a_flag_that_the_running_process_lacks_is_a_difference(sglang: Engine) -> None:
    given = Level("200000")
    assert levels(sglang, given, given, ABSENT, Level("32768")).first_difference == "running"


def test_a_default_that_is_served_for_a_flag_nobody_gave_is_none(sglang: Engine) -> None:
    assert levels(sglang, ABSENT, ABSENT, ABSENT, Level("262144")).agree


def test_the_last_occurrence_is_the_value(sglang: Engine) -> None:
    what = sought(sglang, setting="context_length")
    assert level_of_words(["x", "--context-length", "1", "--context-len=2"], sglang, what) == Level("2")
    assert level_of_words(["x", "--port", "1"], sglang, what) == ABSENT


def test_what_systemd_shows_is_read_at_its_blanks(sglang: Engine) -> None:
    what = sought(sglang, setting="context_length")
    assert level_of_loaded("/bin/x --name a b --context-length 32768 --port 1", sglang, what) == Level("32768")
    filled_in = level_of_loaded("/bin/x --context-length ${CTX}", sglang, what)
    assert filled_in.value is None
    assert "${CTX}" in filled_in.reason


def test_a_switch_is_true_where_it_stands(sglang: Engine) -> None:
    what = sought(sglang, setting="trust_remote_code")
    assert level_of_words(["x", "--trust-remote-code", "--port", "1"], sglang, what) == Level("true")
