"""What to do next depends on why there was no room."""

from __future__ import annotations

import pytest

from console.changes.no_room import way_out


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        ("tee: /etc/a.service: No space left on device", "df -i"),
        ("dd: error writing '/etc/.a': Disk quota exceeded", "raise the quota"),
        ("cp: cannot create regular file '/etc/.a': Read-only file system", "findmnt"),
    ],
)
def test_each_has_its_own(said: str, hint: str) -> None:
    assert hint in way_out(said)


def test_anything_else_has_none() -> None:
    assert way_out("Permission denied") == ""
