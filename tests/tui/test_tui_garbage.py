"""What is loaded is not looked through again, and what only refers to itself goes while nobody types."""

from __future__ import annotations

import gc
import weakref

import pytest

from console.tui import app as application
from console.tui.garbage import little_by_little
from tests.tui.conftest import Opens


class Knot:
    """Refers to itself."""

    def __init__(self) -> None:
        self.self = self


def test_what_is_there_stays_and_what_comes_is_looked_through_in_small_parts() -> None:
    before = gc.get_threshold(), gc.get_freeze_count()
    try:
        little_by_little()
        assert gc.get_freeze_count() > before[1]
        assert gc.get_threshold()[0] <= 2_000
    finally:
        gc.unfreeze()
        gc.set_threshold(*before[0])


async def test_the_thorough_look_waits_for_silence(open_app: Opens, monkeypatch: pytest.MonkeyPatch) -> None:
    app = open_app()
    monkeypatch.setattr(application, "SILENT_S", 3600.0)
    async with app.run_test():
        knot = Knot()
        gone = weakref.ref(knot)
        gc.disable()
        try:
            del knot
            app.session.touch()
            app._tidy()
            assert gone() is not None
            app.session.touched_at -= 3601
            app._tidy()
            assert gone() is None
        finally:
            gc.enable()
