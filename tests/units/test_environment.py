from __future__ import annotations

import pytest

from console.units.effective import EffectiveUnit, UnitSource
from console.units.environment import environment, environment_files, read_environment_file


def test_a_variable_knows_its_file_line_and_bytes() -> None:
    content = b'[Service]\nEnvironment=A=1 \\\n  "B=two words"\n'
    unit = EffectiveUnit("x.service", (UnitSource("/etc/x", content),))
    found = environment(unit)
    assert [(each.name, each.value, each.where) for each in found] == [
        ("A", "1", "/etc/x:2"),
        ("B", "two words", "/etc/x:3"),
    ]
    assert content[found[1].start : found[1].end] == b'"B=two words"'


def test_environment_files_are_paths_with_blanks_and_all() -> None:
    content = b"[Service]\nEnvironmentFile=-/etc/default/x\nEnvironmentFile=/etc/a b # c\n"
    unit = EffectiveUnit("x.service", (UnitSource("/etc/x", content),))
    assert [(each.name, each.optional, each.where) for each in environment_files(unit)] == [
        ("/etc/default/x", True, "/etc/x:2"),
        ("/etc/a b # c", False, "/etc/x:3"),
    ]


@pytest.mark.parametrize(
    ("content", "values"),
    [
        (b"A=1\nB=2", {"A": "1", "B": "2"}),
        (b"A=1\nA=2\n", {"A": "2"}),
        (b"# A=1\n; B=2\nC=3\n", {"C": "3"}),
        (b'A="1 2"\nB=\'3 "4"\'\n', {"A": "1 2", "B": '3 "4"'}),
        (b"A=1 2  \n", {"A": "1 2"}),
        (b"A=1 \\\n2\n", {"A": "1 2"}),
        (b"export A=1\nB\n=2\n", {}),
        (b"A=\r\nB=1\r\n", {"A": "", "B": "1"}),
        (b'A="x\\"y"\n', {"A": 'x"y'}),
    ],
)
def test_an_environment_file_is_read_as_systemd_does(content: bytes, values: dict[str, str]) -> None:
    assert {each.name: each.value for each in read_environment_file("/e", content)} == values
