"""`unit.set`: one edit in the file that wins, from a value of the runbook."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from console.errors import RefusedError, SettingNotFoundError, UnexpectedValueError
from console.schema.splice import apply
from console.settings.edit import Edit
from console.steps.base import Look
from console.steps.unit_set import UnitSet, word
from tests.fakes import SGLANG, UNIT, effective, facts, target


def edit(text: str = UNIT, **fields: Any) -> Edit:
    look = Look(target(), facts(), SGLANG, effective(text), "set", "c1")
    (proposal,) = UnitSet.model_validate(fields).plan(look)
    assert isinstance(proposal, Edit)
    return proposal


def test_it_replaces_the_value_and_nothing_else() -> None:
    proposed = edit(setting="context_length", to=200000, expect=32768)
    assert apply(UNIT.encode(), proposed.splices) == UNIT.replace("32768", "200000").encode()
    assert (proposed.before, proposed.after, proposed.already) == ("32768", "200000", False)


def test_what_is_so_already_is_fine_whatever_was_expected() -> None:
    assert edit(setting="context_length", to="32768", expect=1).already


def test_another_value_than_expected_is_refused() -> None:
    with pytest.raises(UnexpectedValueError, match="context_length is 32768, expected 16384"):
        edit(setting="context_length", to=200000, expect="16384")


def test_an_absent_setting_is_added_only_when_asked() -> None:
    with pytest.raises(SettingNotFoundError, match="kv_cache_dtype"):
        edit(setting="kv_cache_dtype", to="fp8_e4m3")
    proposed = edit(setting="kv_cache_dtype", to="fp8_e4m3", when_absent="add")
    assert proposed.before is None
    assert proposed.argv_after[-2:] == ("--kv-cache-dtype", "fp8_e4m3")


def test_a_switch_is_added_for_true() -> None:
    proposed = edit(setting="metrics", to=True, when_absent="add")
    assert proposed.argv_after[-1] == "--enable-metrics"


def test_a_flag_verbatim() -> None:
    assert edit(flag="--mem-fraction-static", to=0.9).argv_after[8] == "0.9"


def test_a_value_that_is_not_one_plain_word_is_refused() -> None:
    with pytest.raises(RefusedError, match="holds a blank"):
        edit(setting="context_length", to="1 --trust-remote-code")


@pytest.mark.parametrize("fields", [{"to": 1}, {"setting": "context_length", "flag": "--context-length", "to": 1}])
def test_it_needs_one_of_setting_and_flag(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="either setting = NAME or flag = WORD"):
        UnitSet.model_validate(fields)


@pytest.mark.parametrize(("value", "said"), [(True, "true"), (False, "false"), (0.92, "0.92"), (7, "7"), ("x", "x")])
def test_values_as_words(value: str | float | bool, said: str) -> None:
    assert word(value) == said


def test_the_title_says_what_becomes_what() -> None:
    assert UnitSet(setting="context_length", to=7).title(target()) == "set context_length to 7"
    assert UnitSet(flag="--x", to=True).title(target()) == "set --x to true"
