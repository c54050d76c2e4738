"""Connections as a command makes them: with the words sudo may be told, and a person where there is a terminal."""

from __future__ import annotations

import argparse
import asyncio
import getpass
import os
from typing import TYPE_CHECKING

from console.cli import ask_sudo
from console.cli.output import Output

if TYPE_CHECKING:
    from console.remote.login import Prompt, Prompter
    from console.remote.ssh import Connections


def connections(arguments: argparse.Namespace, output: Output) -> Connections:
    """New ones. Asks for the sudo password first, where it was promised."""
    from console.remote.ssh import Connections

    return Connections(os.environ, sudo=ask_sudo.read(arguments, output), prompter=prompter(arguments, output))


def prompter(arguments: argparse.Namespace, output: Output) -> Prompter:
    """Whoever sits at the terminal; nobody where there is none. What was answered before is not asked again."""
    from console.remote.login import Prompter

    kept = ask_sudo.handed(arguments, output)
    followed = getattr(arguments, "answers_fd", None) is not None
    return Prompter(person(output) if output.is_terminal and not followed else None, kept=kept, followed=followed)


def person(output: Output) -> Prompt:
    """Who is asked what a host wants to know at login, one question at a time."""

    async def ask(hop: str, text: str, echo: bool) -> str | None:
        try:
            said = await asyncio.to_thread(getpass.getpass, f"{hop} asks: {text} ")
        except (EOFError, KeyboardInterrupt):
            return None
        if not echo:
            output.redactor.learn(said)
        return said

    return ask
