"""What hosts will ask for: the password for sudo, asked once for all of them, or all answers from an inherited pipe."""

from __future__ import annotations

import argparse
import getpass
import sys
from typing import TYPE_CHECKING

from console.cli.output import Output
from console.errors import UsageError

if TYPE_CHECKING:
    from console.remote.answers import Answers
    from console.remote.sudo import SudoWord

HELP = "ask for the sudo password first; without a terminal it is the first line of stdin"


def add(parser: argparse._ActionsContainer) -> None:
    parser.add_argument("--ask-sudo", action="store_true", help=HELP)
    # The number alone: what stands on a command line or in an environment can be read by others.
    parser.add_argument("--answers-fd", type=int, metavar="N", help=argparse.SUPPRESS)


def read(arguments: argparse.Namespace, output: Output) -> SudoWord:
    """What sudo may be told; asked for once a command. Raises UsageError where one was promised and none came."""
    from console.remote.sudo import SudoWord

    word: SudoWord | None = getattr(arguments, "sudo_word", None)
    if word is None:
        promised = getattr(arguments, "ask_sudo", False)
        word = SudoWord(asked(output) if promised else handed(arguments, output).sudo)
        arguments.sudo_word = word
    return word


def handed(arguments: argparse.Namespace, output: Output) -> Answers:
    """What the terminal UI asked before its screen opened, and handed on to this command. Raises UsageError."""
    from console.remote.answers import Answers, read_pipe

    answers: Answers | None = getattr(arguments, "answers", None)
    if answers is None:
        descriptor = getattr(arguments, "answers_fd", None)
        answers = Answers() if descriptor is None else read_pipe(descriptor)
        arguments.answers = answers
        for secret in (answers.sudo, *answers.logins.values()):
            output.redactor.learn(secret)
    return answers


def asked(output: Output) -> str:
    """The password, from the person at the terminal or the first line of stdin. Raises UsageError where none came."""
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
