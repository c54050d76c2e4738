"""A reload where systemd has not read the files as they are or will be, and only there."""

from __future__ import annotations

from typing import Any

from console.schema.change import ReloadChange
from console.steps.base import Look, Skip
from console.steps.systemd_daemon_reload import SystemdDaemonReload
from tests.fakes import SGLANG, effective, facts, target


def look(**more: Any) -> Look:
    return Look(target(), facts(), SGLANG, effective(""), "reload", "c3", **more)


def test_it_reloads_when_something_needs_it() -> None:
    (change,) = SystemdDaemonReload().plan(look(reload_due=True))
    assert change == ReloadChange(id="c3", step="reload", unit="chat.service")


def test_it_is_skipped_otherwise() -> None:
    assert list(SystemdDaemonReload().plan(look(restart_due=True))) == [Skip("systemd has read the files as they are")]
