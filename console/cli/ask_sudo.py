"""The password for sudo: asked once for all hosts, before any of them is asked anything, and kept nowhere."""

from __future__ import annotations

import argparse
import getpass
import sys
from typing import TYPE_CHECKING

from console.cli.output import Output
from console.errors import UsageError

if TYPE_CHECKING:
    from console.remote.sudo import SudoWord

HELP = "ask for the sudo password first; without a terminal it is the first line of stdin"


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--ask-sudo", action="store_true", help=HELP)


def read(arguments: argparse.Namespace, output: Output) -> SudoWord:
    """What sudo may be told; asked for once a command. Raises UsageError where one was promised and none came."""
    from console.remote.sudo import SudoWord

    word: SudoWord | None = getattr(arguments, "sudo_word", None)
    if word is None:
        word = SudoWord(_asked(output)) if getattr(arguments, "ask_sudo", False) else SudoWord()
        arguments.sudo_word = word
    return word


def _asked(output: Output) -> str:
    try:
        said = getpass.getpass("sudo password (for the hosts that want one): ") if output.is_terminal else _piped()
    except EOFError:
        said = ""
    if not said:
        raise UsageError("--ask-sudo, and no password was given")
    output.redactor.learn(said)
    return said


def _piped() -> str:
    return sys.stdin.readline().rstrip("\r\n")
