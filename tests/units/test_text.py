from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.units.text import UnitText

PIECES = [
    b"[Service]",
    b"ExecStart=",
    b"/bin/x",
    b"\\",
    b"\n",
    b"\r\n",
    b"\r",
    b"\0",
    b" ",
    b"\t",
    b"#",
    b";",
    b"'",
    b'"',
]
PIECES += [b"--flag", b"=", b"\xff", b"\xef\xbb\xbf", b"\\x41", b"%i", b"${A}", b"$A", b"[", b"]"]
unit_like = st.one_of(st.binary(), st.lists(st.sampled_from(PIECES), max_size=60).map(b"".join))


@settings(deadline=None)  # the machine may be busy
@given(unit_like)
def test_any_bytes_are_written_as_they_were_read(data: bytes) -> None:
    assert UnitText.parse(data).to_bytes() == data


@settings(deadline=None)  # the machine may be busy
@given(unit_like)
def test_every_byte_of_a_value_knows_its_place(data: bytes) -> None:
    for statement in UnitText.parse(data).statements:
        value = statement.value
        assert len(value.data) == len(value.offsets)
        for octet, offset in zip(value.data, value.offsets, strict=True):
            assert data[offset] == octet or (data[offset : offset + 1] == b"\\" and octet == 0x20)


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"a\nb", [b"a", b"b"]),
        (b"a\r\nb\r\n", [b"a", b"b"]),
        (b"a\n\n\nb", [b"a", b"", b"", b"b"]),
        (b"a\rb", [b"a", b"b"]),
        (b"a\n\r\n\rb", [b"a", b"", b"b"]),
        (b"a\0b\0\0", [b"a", b"b", b""]),
        (b"", []),
    ],
)
def test_lines_end_where_systemd_ends_them(data: bytes, lines: list[bytes]) -> None:
    assert [line.content for line in UnitText.parse(data).lines] == lines
