"""The screens that matter at night, to the letter, at three sizes; without colours and in ASCII they say the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.tui.preferences import Preferences
from tests.tui import screens


@pytest.mark.parametrize("size", screens.SIZES)
async def test_every_screen_stands_as_it_was_agreed(
    size: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    async with screens.opened(tmp_path, size, {}) as (app, pilot, _):
        async for shot in screens.shots(app, pilot):
            assert shot.text + "\n" == screens.case(shot.name, size).read_text("utf-8"), shot.name
            if size == screens.SIZES[0]:
                assert shot.colours + "\n" == screens.colours(shot.name).read_text("utf-8"), shot.name


@pytest.mark.parametrize("size", screens.SIZES)
async def test_without_colours_every_state_is_told_by_word_and_glyph(
    size: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with screens.opened(tmp_path, size, {"NO_COLOR": "1"}) as (app, pilot, _):
        async for shot in screens.shots(app, pilot):
            assert shot.text + "\n" == screens.case(shot.name, size).read_text("utf-8"), shot.name
            assert shot.colours == "", shot.name


@pytest.mark.parametrize("size", screens.SIZES)
async def test_in_ascii_the_same_stands_in_the_same_places(
    size: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with screens.opened(tmp_path, size, {"NO_COLOR": "1"}, Preferences(ascii=True)) as (app, pilot, _):
        async for shot in screens.shots(app, pilot):
            assert shot.text.isascii(), shot.name
            assert shot.text + "\n" == screens.in_ascii(shot.name, size), shot.name


async def test_the_picture_of_the_pages_is_what_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert await screens.picture(tmp_path) == screens.PICTURE.read_text("utf-8")
