"""The case files of tests/cases/units, and that an edit touches nothing but the value it names."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from console import errors
from console.engines.base import Engine
from console.schema.splice import apply, compose
from console.settings.edit import plan_edit
from console.units.effective import EffectiveUnit, UnitSource


def unit_with(arguments: str) -> EffectiveUnit:
    content = f"[Service]\nExecStart=/opt/x/python3 -m sglang.launch_server {arguments}\n".encode()
    return EffectiveUnit("x.service", (UnitSource("/etc/systemd/system/x.service", content),))


def test_absent_is_told_with_flags_that_look_alike(sglang: Engine) -> None:
    with pytest.raises(errors.SettingNotFoundError) as caught:
        plan_edit(unit_with("--context-lenght 32768"), sglang, setting="context_length", to=200000)
    assert "--context-lenght" in caught.value.message
    assert "when_absent" in caught.value.hint


def test_absent_is_not_what_was_expected(sglang: Engine) -> None:
    with pytest.raises(errors.UnexpectedValueError, match="absent"):
        plan_edit(unit_with("--port 1"), sglang, setting="context_length", to=200000, expect=32768, when_absent="add")


def test_expect_is_compared_by_meaning(sglang: Engine) -> None:
    found = plan_edit(unit_with("--context-length 32k"), sglang, setting="context_length", to=200000, expect=32000)
    assert (found.before, found.after, found.already) == ("32k", "200000", False)


@pytest.mark.parametrize(
    "value", ["", "2 3", "2\n3", "2\t", "'2'", '"', "a\\b", "%i", "$A", "#1", ";", "\x1b[1m", "--port", "a\u202eb"]
)
def test_a_value_that_is_not_one_plain_word_is_refused(value: str, sglang: Engine) -> None:
    with pytest.raises(errors.RefusedError) as caught:
        plan_edit(unit_with("--custom-name a"), sglang, flag="--custom-name", to=value)
    assert caught.value.hint
    assert caught.value.message.isprintable()


@pytest.mark.parametrize("flag", ["--api-key", "--api-k", "--hf-token"])
def test_a_secret_does_not_go_into_execstart(flag: str, sglang: Engine) -> None:
    with pytest.raises(errors.RefusedError, match="secret"):
        plan_edit(unit_with("--port 1"), sglang, flag=flag, to="abc", when_absent="add")
    with pytest.raises(errors.RefusedError, match="secret"):
        plan_edit(unit_with("--api-key abc"), sglang, setting="api_key", to="abcd")


def test_a_value_the_engine_cannot_read_is_refused(sglang: Engine) -> None:
    with pytest.raises(errors.RefusedError, match="cannot read 'many'"):
        plan_edit(unit_with("--context-length 32768"), sglang, setting="context_length", to="many")


def test_an_unknown_setting_names_the_nearest(sglang: Engine) -> None:
    with pytest.raises(errors.RefusedError, match="context_length"):
        plan_edit(unit_with(""), sglang, setting="context_lenght", to=1)


def test_an_abbreviation_that_fits_two_flags_is_neither(sglang: Engine) -> None:
    with pytest.raises(errors.SettingNotFoundError):
        plan_edit(unit_with("--mem 0.85"), sglang, setting="mem_fraction", to="0.92")


def test_a_switch_stands_there_or_is_added_and_never_taken_away(sglang: Engine) -> None:
    on = unit_with("--trust-remote-code --port 1")
    assert plan_edit(on, sglang, setting="trust_remote_code", to=True).already
    with pytest.raises(errors.RefusedError, match="taking a flag away"):
        plan_edit(on, sglang, setting="trust_remote_code", to=False)
    assert plan_edit(unit_with("--port 1"), sglang, setting="trust_remote_code", to=False).already


def test_a_variable_nobody_can_read_after_the_flag_is_noted(sglang: Engine) -> None:
    content = b"[Service]\nEnvironmentFile=/etc/x\nExecStart=/bin/x --context-length 32768 --port 1 $EXTRA_ARGS\n"
    unit = EffectiveUnit("x.service", (UnitSource("/etc/systemd/system/x.service", content),))
    (note,) = plan_edit(unit, sglang, setting="context_length", to=200000).notes
    assert "$EXTRA_ARGS" in note
    assert "/etc/x" in note


def test_edits_of_one_file_join_to_one_change(sglang: Engine) -> None:
    unit = unit_with("--context-length 32768 --mem-fraction-static 0.85")
    path, content = unit.sources[0].path, unit.sources[0].content
    first = plan_edit(unit, sglang, setting="context_length", to=200000)
    middle = unit.with_content(path, apply(content, first.splices))
    second = plan_edit(middle, sglang, setting="mem_fraction", to="0.92")
    both = compose(content, first.splices, second.splices)
    assert apply(content, both) == content.replace(b"32768", b"200000").replace(b"0.85", b"0.92")
    assert [splice.old for splice in both] == [b"32768", b"0.85"]


def test_two_edits_of_a_quadlet_join_though_its_unit_is_made_again_only_later(sglang: Engine) -> None:
    quadlet = "/etc/containers/systemd/chat.container"
    words = "--context-length 32768 --mem-fraction-static 0.85"
    made = f"[Service]\nExecStart=/usr/bin/podman run --rm lmsysorg/sglang:v1 {words}\n".encode()
    content = f"[Container]\nImage=lmsysorg/sglang:v1\nExec={words}\n".encode()
    fragment = UnitSource("/run/systemd/generator/chat.service", made)
    unit = EffectiveUnit("chat.service", (fragment,), quadlet, {quadlet: content})
    for setting, value in (("context_length", "200000"), ("mem_fraction", "0.92")):
        edit = plan_edit(unit, sglang, setting=setting, to=value, edit_source=True)
        unit = unit.with_content(quadlet, apply(unit.content(quadlet), edit.splices))
    assert unit.content(quadlet) == content.replace(b"32768", b"200000").replace(b"0.85", b"0.92")


words = st.sampled_from(["--port", "1", "'a b'", '"c"', "\\x41", "%n", "$A", "--mem-saver", "#", "é", "--x=y"])
gaps = st.sampled_from([" ", "  ", "\t", " \\\n  ", " \\\r\n\t", " \\\n# c\n ", " \\\n  ; d \\\n"])
values = st.sampled_from(["32768", "'32768'", '"32768"', "32k"])


@settings(deadline=None)  # the machine may be busy
@given(st.data())
def test_any_edit_changes_the_bytes_of_its_value_only(engines: Mapping[str, Engine], data: st.DataObject) -> None:
    engine = engines["sglang"]
    before = "".join(data.draw(st.lists(st.tuples(words, gaps).map("".join), max_size=4)))
    after = "".join(data.draw(st.lists(st.tuples(gaps, words).map("".join), max_size=4)))
    flag, value = f"--context-length{data.draw(st.sampled_from([' ', '=']))}", data.draw(values)
    assume(not re.search(r"\n[ \t]*#[^\n]*\Z", before))  # the flag would stand in a comment line
    head = f"# a\n[Service]\nExecStart=/bin/x {before}{flag}".encode()
    tail = f"{after}\nUser=x\n".encode()
    unit = EffectiveUnit("x.service", (UnitSource("/etc/x", head + value.encode() + tail),))
    found = plan_edit(unit, engine, setting="context_length", to=200000)
    changed = apply(unit.sources[0].content, found.splices)
    bare = value.strip("'\"")
    assert changed == head + value.replace(bare, "200000").encode() + tail
    differing = [pair for pair in zip(found.argv_before, found.argv_after, strict=True) if pair[0] != pair[1]]
    assert len(differing) == 1
