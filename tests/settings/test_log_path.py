"""An engine logs to stderr: which file takes that, of everything a unit's files say."""

from __future__ import annotations

import pytest

from console.settings.log_path import log_path
from tests.fakes import FRAGMENT, unit_file


@pytest.mark.parametrize(
    ("lines", "path"),
    [
        ("", ""),
        ("StandardOutput=journal", ""),
        ("StandardOutput=append:/var/log/engine.log", "/var/log/engine.log"),
        ("StandardOutput=file:/a.log\nStandardOutput=append:/b.log", "/b.log"),
        ("StandardOutput=file:/a.log\nStandardError=journal", ""),
        ("StandardOutput=journal\nStandardError=append:/e.log", "/e.log"),
        ("StandardOutput=file:/a.log\nStandardError=inherit", "/a.log"),
        ("StandardOutput=file:/a.log\nStandardOutput=", ""),
        ("StandardOutput=append:/var/log/%n.log", ""),
    ],
)
def test_where_the_log_is(lines: str, path: str) -> None:
    assert log_path([unit_file(FRAGMENT, f"[Service]\nExecStart=/bin/x\n{lines}\n")]) == path


def test_a_dropin_has_the_last_word() -> None:
    files = [
        unit_file(FRAGMENT, "[Service]\nStandardOutput=append:/a.log\n"),
        unit_file(f"{FRAGMENT}.d/10-log.conf", "[Service]\nStandardOutput=journal\n"),
    ]
    assert log_path(files) == ""
