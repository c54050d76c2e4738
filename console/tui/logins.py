"""What hosts ask at login and for sudo, asked on the terminal: before the screen opens, or while it is away."""

from __future__ import annotations

import getpass
from collections.abc import Callable
from typing import TYPE_CHECKING

from console.errors import ConsoleError
from console.untrusted import one_line

if TYPE_CHECKING:
    from console.schema.hosts import Target
    from console.tui.session import Seen, Session, World

SUDO = "sudo password (for the hosts that want one)"


async def log_in(session: Session, world: World, hosts: set[str], say: Callable[[str], None]) -> None:
    """Log in to these hosts, one after the other, and stay logged in. After this nobody is asked on the terminal.

    What fails is said here, and again on the screen.
    """
    assert world.ways is not None
    for target in {target.host_name: target for target in reversed(world.inventory.targets())}.values():
        if target.host_name not in hosts:
            continue
        say(f"{target.host_name}: logging in")
        try:
            await world.looks.glance(target)
        except ConsoleError as error:
            say(str(error))
    world.ways.prompter.ask = None
    for answer in session.answers.logins.values():
        session.redactor.learn(answer)


def wanted(session: Session, seen: Seen) -> list[tuple[str, str]]:
    """(hop, what it asks) of everything that nobody has answered; the hop is empty for sudo's password."""
    said = list(session.answers.missing)
    if seen.facts is not None and seen.facts.host.sudo == "password":
        said.append(("", SUDO))
    return said


def ask_for(session: Session, target: Target, seen: Seen) -> bool:
    """Ask for what is wanted, on a terminal that the screen has given away; whether anything was answered."""
    answered = False
    for hop, text in wanted(session, seen):
        question = f"{hop} asks: {text}" if hop else f"{target.host_name}: {text}"
        try:
            said = getpass.getpass(f"{one_line(question, 200)} ")
        except (EOFError, KeyboardInterrupt):
            break
        if not said:
            continue
        answered = True
        session.redactor.learn(said)
        if hop:
            session.answers.give((hop, text), said)
            continue
        session.answers.sudo = said
        if session.world.ways is not None:
            session.world.ways.sudo.password = said
            session.world.ways.sudo.hosts.clear()
    return answered
