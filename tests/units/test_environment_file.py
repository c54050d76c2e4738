"""Environment files as systemd reads them, which is not as a shell does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.units.environment_file import read_environment


def values(text: str) -> dict[str, str]:
    return {each.name: each.octets.decode() for each in read_environment(text.encode()).variables}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A=1\nB=2", {"A": "1", "B": "2"}),
        ("A = 1 \n", {"A": "1"}),
        ("A='x y' # no comment\n", {"A": "x y# no comment"}),
        ('A="x\\"y"\n', {"A": 'x"y'}),
        ('A="x\\ny"\n', {"A": "x\\ny"}),
        ("A='x'\"y\"z\n", {"A": "xyz"}),
        ("A=x\\\ny\n", {"A": "xy"}),
        ("A='two\nlines'\n", {"A": "two\nlines"}),
        ("export A=1\nB=$A\n", {"B": "$A"}),
        ("# A=1\n;B=2\nC=\n", {"C": ""}),
        ("1A=x\n", {}),
    ],
)
def test_a_file_sets_what_systemd_makes_of_it(text: str, expected: dict[str, str]) -> None:
    assert values(text) == expected


def test_every_byte_of_a_value_knows_its_place() -> None:
    content = b'# window\nCTX="32768"\nNEXT=\n'
    first, second = read_environment(content).variables
    assert content[first.spans[0][0] : first.spans[-1][1]] == b"32768"
    assert content[second.at - 1 : second.at] == b"="


def test_assignments_in_comments_are_told() -> None:
    assert read_environment(b"A=1\n#B=2\n").commented == (("B", 2),)


def test_a_byte_that_is_no_text_spoils_the_file() -> None:
    assert not read_environment(b"A=\xff\n").is_valid


@given(st.binary(max_size=60))
def test_any_bytes_are_read(content: bytes) -> None:
    read_environment(content)
