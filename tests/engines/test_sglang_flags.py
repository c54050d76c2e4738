"""Flags, their aliases and abbreviations."""

from __future__ import annotations

import argparse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.engines.registry import engine_named
from console.engines.sglang_flags import ALIASES, BY_RELEASE, RELEASES

SGLANG = engine_named("sglang")


@pytest.mark.parametrize(
    ("word", "flag"),
    [
        ("--context-length", "--context-length"),
        ("--context-len", "--context-length"),
        ("--context-length=32768", "--context-length"),
        ("--context-l=32768", "--context-length"),
        ("--context", "--context-length"),  # 0.5.23 refuses it: `--context-bucket`; a unit that runs is older
        ("--mem-fraction", "--mem-fraction-static"),
        ("--tp", "--tp-size"),
        ("--dp", "--dp-size"),
        ("--pp", "--pp-size"),  # 0.4.6 only
        ("--ep", "--ep"),
        ("--model", "--model"),
        ("--model-path", "--model-path"),
        ("--speculative-draft-model", "--speculative-draft-model"),
        ("--speculative-algo", "--speculative-algorithm"),
        ("--cuda-graph-bs", "--cuda-graph-bs"),  # gone since 0.5.20, where it would be an ambiguous prefix
    ],
)
def test_a_word_means_its_flag(word: str, flag: str) -> None:
    assert SGLANG.resolve_flag(word) == flag


@pytest.mark.parametrize(
    "word",
    [
        "--speculative",
        "--speculative-num",
        "--enable",
        "--unheard-of",
        "--",
        "-",
        "",
        "--=1",
        "tp",
        "-tp",
        "32768",
        "=",
        "--CONTEXT-LENGTH",
        "--context_length",
    ],
)
def test_what_is_ambiguous_or_no_flag_means_nothing(word: str) -> None:
    assert SGLANG.resolve_flag(word) is None


@given(st.sampled_from(sorted(SGLANG.flags)), st.integers(3, 60))
def test_an_abbreviation_never_means_a_flag_it_is_not_the_beginning_of(flag: str, length: int) -> None:
    assert SGLANG.resolve_flag(flag) == flag
    meant = SGLANG.resolve_flag(flag[:length])
    assert meant is None or meant.startswith(flag[:length])


@pytest.mark.parametrize("release", RELEASES)
def test_argparse_of_every_release_agrees(release: str) -> None:
    """Whatever argparse takes for a spelled flag, we take for the same one, or say that releases differ."""
    flags = BY_RELEASE[release]
    same = {flag: group[0] for group in ALIASES for flag in group}
    parser = argparse.ArgumentParser(add_help=False, exit_on_error=False)
    for stored in {same.get(flag, flag) for flag in flags}:
        names = sorted(flag for flag in flags if same.get(flag, flag) == stored)
        parser.add_argument(*names, dest=stored, nargs="?", const="given")

    agreed = 0
    for spelled in sorted(flags & {flag for spelling in SGLANG.spellings.values() for flag in spelling.flags}):
        for length in range(4, len(spelled) + 1, 3):
            word = spelled[:length]
            try:
                given_flags = vars(parser.parse_args([word]))
            except (argparse.ArgumentError, SystemExit):
                continue  # ambiguous in this release
            meant = SGLANG.resolve_flag(word)
            if meant is not None and word not in SGLANG.flags - flags:
                assert given_flags[same.get(meant, meant)] == "given", word
                agreed += 1
    assert agreed > 80


def test_every_spelling_is_a_known_flag_and_no_flag_spells_two_settings() -> None:
    flags = [flag for spelling in SGLANG.spellings.values() for flag in spelling.flags]
    assert set(flags) <= SGLANG.flags
    assert len(flags) == len(set(flags))


def test_a_spelling_has_all_aliases_of_its_flag() -> None:
    groups = {flag: set(group) for group in ALIASES for flag in group}
    for setting, spelling in SGLANG.spellings.items():
        assert spelling.setting == setting
        assert set(spelling.flags) == groups.get(spelling.flags[0], set(spelling.flags))


@pytest.mark.parametrize(
    ("setting", "text", "value"),
    [
        ("context_length", "200000", 200_000),
        ("context_length", "200k", 200_000),
        ("context_length", "200Ki", 204_800),
        ("context_length", "25.6k", 25_600),
        ("context_length", "1M", 1_000_000),
        ("context_length", " 32768 ", 32_768),
        ("max_total_tokens", "2Mi", 2_097_152),
        ("mem_fraction", "0.92", 0.92),
        ("mem_fraction", ".9", 0.9),
        ("port", "30000", 30_000),
        ("kv_cache_dtype", "fp8_e4m3", "fp8_e4m3"),
        ("trust_remote_code", "", 1),
        ("trust_remote_code", "false", 0),
    ],
)
def test_a_value_is_what_the_engine_would_take_it_for(setting: str, text: str, value: float | str) -> None:
    assert SGLANG.parse_value(setting, text) == value


@pytest.mark.parametrize(
    ("setting", "text", "reason"),
    [
        ("context_length", "200K", "whole number"),  # suffixes are case-sensitive
        ("context_length", "1.5Ki", "decimals"),
        ("context_length", "", "whole number"),
        ("context_length", "32768.0", "whole number"),
        ("port", "30k", "whole number"),  # a plain integer
        ("mem_fraction", "nan", "finite"),
        ("mem_fraction", "most", "number"),
        ("trust_remote_code", "perhaps", "neither"),
        ("colour", "blue", "no setting"),
    ],
)
def test_a_value_the_engine_would_refuse_is_refused_with_the_reason(setting: str, text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason) as caught:
        SGLANG.parse_value(setting, text)
    assert setting in str(caught.value)
