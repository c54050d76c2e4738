"""Carrying out what was typed after `:`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from console.errors import ConsoleError
from console.planning import lint
from console.planning.shelf import runbook_path
from console.runs.listing import find_run
from console.tui.again import AgainScreen
from console.tui.grammar import Meaning, completions, meaning
from console.tui.palette import CommandScreen
from console.tui.plan import PlanScreen
from console.tui.run import RunScreen
from console.tui.runbooks import found_runbooks

if TYPE_CHECKING:
    from console.tui.acting import ActingScreen
    from console.tui.app import ConsoleApp

NEWEST_RUNS = 20


class Commands:
    """Reading is done at once, planning leads to the plan's screen, and what changes a host to its question."""

    def __init__(self, app: ConsoleApp) -> None:
        self.app = app

    def open(self, screen: ActingScreen[Any]) -> None:
        session = self.app.session
        names = completions(
            screen.NAME,
            session.verbs,
            [target.name for target in session.inventory.targets()],
            [summary.id for summary in session.found_runs[:NEWEST_RUNS]],
            [found.path.name for found in found_runbooks(session.inventory)],
        )

        async def typed(text: str | None) -> None:
            if text:
                await self.carry_out(text, screen)

        self.app.push_screen(CommandScreen(session, screen.NAME, names), typed)

    async def carry_out(self, text: str, screen: ActingScreen[Any]) -> None:
        try:
            wanted = meaning(text, screen.NAME)
            if wanted.kind == "action":
                await screen.action_do(wanted.words[0])
            elif wanted.kind == "quit":
                await self.app.action_quit()
            else:
                self._go(wanted)
        except ConsoleError as error:
            screen.tell(str(error), severity="error", timeout=10)

    def _go(self, wanted: Meaning) -> None:
        session, words = self.app.session, wanted.words
        if wanted.kind == "read":
            self.app.ways.said(words)
        elif wanted.kind == "plan":
            runbook = lint.load(_runbook(words[0]))
            targets = [session.inventory.target(name) for name in words[1:]]
            values = lint.variables(runbook, wanted.given)
            self.app.push_screen(PlanScreen(session, targets, runbook, values, wanted.given))
        elif wanted.kind == "again":
            self.app.push_screen(AgainScreen(session, words[0], find_run(session.base, words[1]).run_id))
        elif wanted.kind == "follow":
            self.app.push_screen(RunScreen(session, run_id=find_run(session.base, words[0]).run_id))
        elif wanted.kind == "measure":
            named = [target.name for target in session.inventory.targets() if target.name in words]
            self.app.ways.ask_to_send(words, named[0] if named else words[-1], "what this command says that it costs")


def _runbook(name: str) -> Path:
    """The file of that name, or the one on the shelf."""
    path = Path(name)
    return path if path.exists() else runbook_path(name if name.endswith(".toml") else f"{name}.toml")
