"""Where one can go and what one can start, from any screen: every screen but the first is loaded with this."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from textual.screen import Screen

from console.errors import ConsoleError
from console.runs.listing import find_run
from console.schema.hosts import Target, load_inventory
from console.tui.acting import ActingScreen
from console.tui.again import AgainScreen
from console.tui.commands import Commands
from console.tui.history import HistoryScreen
from console.tui.listing import ListingScreen
from console.tui.measure import COSTS, WORDS, ChooseScreen, MeasureScreen, SendsScreen
from console.tui.palette import PaletteScreen
from console.tui.run import RunScreen
from console.tui.runbooks import RunbooksScreen
from console.tui.runs import RunsScreen, waits
from console.tui.start import Started, launch
from console.tui.target import TargetScreen
from console.tui.textview import TextScreen, of_command
from console.tui.tuning import PICKS, PickScreen, TriesScreen
from console.tui.workers import work

if TYPE_CHECKING:
    from console.tui.app import ConsoleApp

MODES: dict[str, type[ListingScreen]] = {"runs": RunsScreen, "measure": MeasureScreen, "history": HistoryScreen}


class Ways:
    """Of one app."""

    def __init__(self, app: ConsoleApp) -> None:
        self.app = app
        self.session = app.session
        self.commands = Commands(app)

    def mode(self, name: str) -> ListingScreen:
        return MODES[name](self.session)

    async def begin(self) -> None:
        """With a run of mine that goes on, start on it; with one that waits for somebody, start with the list."""
        app, found = self.app, self.session.found_runs
        alive = [summary for summary in found if summary.alive]
        if not alive and not any(waits(summary) for summary in found):
            return
        if len(app.screen_stack) > 1 or app.current_mode != "fleet":
            return
        await app.switch_mode("runs")
        if len(alive) == 1:
            app.push_screen(RunScreen(self.session, run_id=alive[0].id))

    # -- to look at -------------------------------------------------------------------------------------------------

    def target(self, target: Target, tab: str) -> None:
        self.app.push_screen(TargetScreen(self.session, target, tab))

    def runbooks(self, targets: Sequence[Target]) -> None:
        self.app.push_screen(RunbooksScreen(self.session, targets))

    def palette(self, screen: Screen[Any]) -> None:
        of = cast("ActingScreen[Any]", screen)

        async def chosen(name: str | None) -> None:
            if name:
                await of.action_do(name)

        self.app.push_screen(PaletteScreen(self.session, of.NAME, of.situation()), chosen)

    def command(self, screen: Screen[Any]) -> None:
        self.commands.open(cast("ActingScreen[Any]", screen))

    def said(self, words: Sequence[str]) -> None:
        """What a command that only reads says."""
        self.app.push_screen(of_command(self.session, words))

    def review(self, run: str) -> None:
        """The events of a run one by one; nothing is touched."""

        async def source(_width: int) -> str:
            directory = find_run(self.session.base, run)
            return await asyncio.to_thread(directory.events_path.read_text, "utf-8", "replace")

        self.app.push_screen(TextScreen(self.session, f"Events of {run}", source, f"console attach {run} --json"))

    def take_over(self, run: str, targets: Sequence[Target]) -> None:
        """The question before a run of another machine is finished from here."""
        self.app.push_screen(AgainScreen(self.session, "takeover", run, targets))

    def measure(self, target: Target) -> None:
        def chosen(kind: str | None) -> None:
            if kind == "profile":
                self.said([*WORDS[kind], target.name])
            elif kind == "experiment" and target.protected:
                text = f"{target.name} is protected: console run RUNBOOK {target.name} --yes --reason …"
                self.app.notify(text, markup=False)
            elif kind is not None and kind in PICKS:
                self._pick(kind, target)
            elif kind:
                self.ask_to_send([*WORDS[kind], target.name], target.name, COSTS[kind])

        self.app.push_screen(ChooseScreen(self.session, target), chosen)

    def _pick(self, kind: str, target: Target) -> None:
        """A trace or an experiment, then the question with its price."""
        picking = PICKS[kind]
        choices = picking.choices(self.session)

        def picked(word: str | None) -> None:
            if word:
                words = [*WORDS[kind], word, target.name, *(["--yes"] if picking.asks is TriesScreen else [])]
                self.ask_to_send(words, target.name, COSTS[kind], picking.asks)

        if choices:
            self.app.push_screen(PickScreen(self.session, picking.title, choices), picked)
        else:
            self.app.notify(picking.none, severity="warning", markup=False)

    def ask_to_send(self, words: Sequence[str], wanted: str, cost: str, asks: type[SendsScreen] = SendsScreen) -> None:
        def answered(sure: bool | None) -> None:
            if sure:
                self.launch([*words, "--json"])

        self.app.push_screen(asks(self.session, words, wanted, cost), answered)

    # -- what is started --------------------------------------------------------------------------------------------

    def launch(self, words: Sequence[str]) -> None:
        """Start `console WORDS` as a process of its own and follow the run it begins."""
        path = self.session.inventory.path
        hosts = ["--hosts", str(path)] if path else []
        start = self.session.world.launch or (lambda given: launch(given, self.session.environment))
        try:
            started = start([*hosts, *words])
        except ConsoleError as error:
            self._wrong(error)
            return
        self.follow(started)

    def follow(self, started: Started) -> None:
        """Onto the screen of a run that was just started; Esc leads to the list of runs."""
        self.session.started.append(started)
        while len(self.app.screen_stack) > 1:
            self.app.pop_screen()
        work(self.app, partial(self._to_run, started), "to run", exclusive=False)

    async def _to_run(self, started: Started) -> None:
        await self.app.switch_mode("runs")
        while len(self.app.screen_stack) > 1:
            self.app.pop_screen()
        await self.app.push_screen(RunScreen(self.session, started=started))

    def reread_inventory(self) -> None:
        """Hosts that were added or changed since; what is wrong with the file is said and the old one kept."""
        path = self.session.inventory.path
        if path is None:
            return
        try:
            self.session.world.inventory = load_inventory(path)
        except ConsoleError as error:
            self._wrong(error)

    def _wrong(self, error: ConsoleError) -> None:
        self.app.notify(self.session.safe(str(error)), severity="error", timeout=10, markup=False)
