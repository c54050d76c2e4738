"""The world of a session in life: the inventory as it is read, hosts over SSH, runs as processes of their own."""

from __future__ import annotations

import asyncio
from pathlib import Path

from console.planning.preview import Looking
from console.remote.login import Prompt, Prompter
from console.remote.ssh import Connections
from console.remote.sudo import SudoWord
from console.schema.hosts import load_inventory
from console.tui.session import Session, World
from console.tui.start import launch, start_run


async def world_of(session: Session, path: Path, ask: Prompt | None = None) -> World:
    """`ask` is a person at the terminal, as long as no screen is there. Raises InvalidFileError."""
    inventory = await asyncio.to_thread(load_inventory, path)
    environment, redactor, answers = session.environment, session.redactor, session.answers
    ways = Connections(environment, sudo=SudoWord(answers.sudo), prompter=Prompter(ask, kept=answers))
    looking = Looking(ways, redactor, environment, inventory.results_path)

    async def aclose() -> None:
        await looking.aclose()
        await looking.connections.aclose()

    return World(
        inventory,
        looking,
        lambda wish: start_run(wish, environment, redactor, answers),
        lambda words: launch(words, environment, answers),
        ways,
        aclose,
    )
