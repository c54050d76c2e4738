"""Tuning from the Measure screen: a trace or an experiment is picked, its price is read, and the target is typed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from console.errors import StateError
from console.schema.hosts import Inventory
from console.tui.start import Started
from console.tui.tuning import PickScreen
from tests.tui import made_up
from tests.tui.conftest import Opens, settle, watch


@pytest.fixture
def inventory(tmp_path: Path) -> Inventory:
    """Of one host, with its results where a test can put a trace."""
    made = made_up.inventory()
    results = made.results.model_copy(update={"path": "findings"})
    return made.model_copy(update={"path": tmp_path / "hosts.toml", "results": results})


class Launches:
    """Takes down the words of what would have been started."""

    def __init__(self) -> None:
        self.words: list[list[str]] = []

    def __call__(self, words: Sequence[str]) -> Started:
        self.words.append(list(words))
        raise StateError("nothing is started in this test")


async def test_a_trace_is_picked_and_sent_only_when_the_target_is_typed(open_app: Opens, inventory: Inventory) -> None:
    app = open_app(inventory)
    launches = Launches()
    app.session.world.launch = launches
    async with app.run_test(size=(80, 30)) as pilot:
        await settle(app, pilot)
        await pilot.press("W", "m", "r")
        await pilot.pause()
        assert not isinstance(app.screen, PickScreen), "nothing was frozen, so there is nothing to pick"
        folder = inventory.results_path / "traces" / "evening"
        folder.mkdir(parents=True)
        (folder / "trace.json").write_text("{}")
        await pilot.press("m", "r")
        assert "evening: a frozen trace" in await watch(app, pilot, "Replay which trace?")
        await pilot.press("enter")
        assert "at its own pace" in await watch(app, pilot, "Type node7/chat to start it")
        await watch(app, pilot, "console measure replay evening node7/chat")
        await pilot.pause(0.6)
        await pilot.press("enter")
        assert launches.words == []
        await pilot.press(*"node7/chat", "enter")
        await pilot.pause()
    assert [words[-5:] for words in launches.words] == [["measure", "replay", "evening", "node7/chat", "--json"]]


async def test_an_experiment_says_what_it_changes_before_it_begins(open_app: Opens, inventory: Inventory) -> None:
    app = open_app(inventory)
    launches = Launches()
    app.session.world.launch = launches
    async with app.run_test(size=(80, 30)) as pilot:
        await settle(app, pilot)
        await pilot.press("W", "m", "t")
        assert "tokens/min/GPU max while p95 TTFT < 5 s" in await watch(app, pilot, "Try which experiment?")
        await pilot.press("enter")
        shown = await watch(app, pilot, "Type node7/chat to start it")
        assert "restarts the service again and again" in shown
        assert "one at a time" in shown
        await pilot.pause(0.6)
        await pilot.press(*"node7/chat", "enter")
        await pilot.pause()
    (words,) = launches.words
    assert words[-5:-3][0] == "run"
    assert words[-3:] == ["node7/chat", "--yes", "--json"]
    assert words[-4].endswith(("tune.toml", "tune_draft_window.toml"))
