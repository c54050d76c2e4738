from __future__ import annotations

import pytest

from console.schema.events import LevelsRead
from console.views.levels import level_summary, levels_table
from tests.views.golden import too_wide
from tests.views.samples import HOSTILE, LONG, levels


def test_levels_that_agree_are_one_row() -> None:
    assert levels_table([levels("65536", "65536", "65536", "65536")]) == [
        "setting         disk   loaded  running  serving  pool",
        "context_length  65536  65536   65536    65536    88,000",
    ]


@pytest.mark.parametrize(
    ("values", "differs", "says"),
    [
        (("65536", "16384", "16384", "16384"), "loaded", "needs a daemon-reload and a restart"),
        (("65536", "65536", "16384", "16384"), "running", "takes effect at the next restart"),
        (("65536", "65536", "65536", "16384"), "serving", "does not serve what it was started with"),
    ],
)
def test_the_first_level_that_differs_is_the_diagnosis(values: tuple[str, ...], differs: str, says: str) -> None:
    _, row, *below = levels_table([levels(*values, differs=differs)])
    assert row.count("! ") == 1
    assert row.split("! ")[1].startswith("16384")
    assert " ".join(line.strip() for line in below).startswith(f"{differs} differs: ")
    assert says in " ".join(line.strip() for line in below)


def test_a_level_that_cannot_be_seen_says_why_and_one_not_given_does_not() -> None:
    _, row, *below = levels_table([levels("a", None, None, "a", reason="no permission")])
    assert row.split()[1:] == ["a", "n/a", "n/a", "a", "88,000"]
    assert below == ["    loaded, running n/a: no permission"]
    _, row, *below = levels_table([levels(None, None, None, "auto", name="kv_cache_dtype")])
    assert row.split() == ["kv_cache_dtype", "-", "-", "-", "auto"]
    assert below == []


def test_values_too_long_for_a_column_stand_below() -> None:
    path = "/models/a-long-path/to/a/model"
    text = "\n".join(levels_table([levels(path, path, path, path, name="--model-path")]))
    assert f"    disk, loaded, running, serving: {path}" in text
    assert too_wide(text) == []


def test_hostile_values_stay_in_their_row() -> None:
    text = "\n".join(levels_table([levels(HOSTILE, LONG, "a\nb", None, name=HOSTILE, reason=HOSTILE)]))
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "a b" in text


def test_the_sentence_of_an_event() -> None:
    event = LevelsRead(
        target="a/b",
        setting="context_length",
        disk="2",
        loaded="2",
        running=None,
        serving="1",
        reasons={"running": "no process"},
        pool_tokens=101134,
    )
    assert level_summary(event) == "context_length: disk 2, loaded 2, running n/a, serving 1 (differs), pool 101,134"
    agreed = event.model_copy(update={"running": "2", "serving": "2", "agree": True})
    assert level_summary(agreed) == "context_length: 2 at all four levels, pool 101,134"
