"""Nothing asyncssh can raise goes through unmapped."""

from __future__ import annotations

import inspect
import socket

import asyncssh
import pytest
from asyncssh.pbe import KeyEncryptionError

from console.errors import AuthenticationError, ConnectError, UnreachableError
from console.remote.mapping import CONNECT_EXCEPTIONS, MEANINGS, connect_error

# Above these a row would only say that something went wrong.
TOO_GENERAL = {asyncssh.Error, Exception, BaseException, object, ValueError, OSError}


def subclasses(kind: type[BaseException]) -> set[type[BaseException]]:
    return {kind}.union(*(subclasses(below) for below in kind.__subclasses__()))


EXCEPTIONS = sorted(
    {item for _, item in inspect.getmembers(asyncssh, inspect.isclass) if issubclass(item, BaseException)}
    | (subclasses(asyncssh.Error) - {asyncssh.Error}),
    key=lambda kind: kind.__qualname__,
)


@pytest.mark.parametrize("kind", [kind for kind in EXCEPTIONS if kind is not asyncssh.Error])
def test_every_error_of_asyncssh_has_a_meaning(kind: type[BaseException]) -> None:
    assert any(parent in MEANINGS for parent in kind.__mro__ if parent not in TOO_GENERAL), kind


def test_the_list_is_not_empty() -> None:
    assert len(EXCEPTIONS) > 25


@pytest.mark.parametrize("kind", sorted(subclasses(asyncssh.Error), key=str))
def test_whatever_is_caught_while_connecting_becomes_ours(kind: type[BaseException]) -> None:
    assert issubclass(kind, CONNECT_EXCEPTIONS)


@pytest.mark.parametrize(
    ("exception", "kind", "words"),
    [
        (asyncssh.PermissionDenied("no"), AuthenticationError, "tried: ED25519 SHA256:x"),
        (asyncssh.ConnectionLost("gone"), UnreachableError, "lost before login"),
        (asyncssh.KeyExchangeFailed("nothing in common"), UnreachableError, "nothing in common"),
        (socket.gaierror(-2, "Name or service not known"), UnreachableError, "does not resolve"),
        (ConnectionRefusedError(111, "refused"), UnreachableError, "connection refused"),
        (TimeoutError(), UnreachableError, "no answer in time"),
        (OSError(113, "No route to host"), UnreachableError, "No route to host"),
        (KeyEncryptionError("bad passphrase"), AuthenticationError, "encrypted"),
        (asyncssh.Error(1, "something new"), UnreachableError, "something new"),
    ],
)
def test_what_it_says(exception: BaseException, kind: type[ConnectError], words: str) -> None:
    error = connect_error(exception, where="gpu1", tried=["ED25519 SHA256:x"])
    assert type(error) is kind
    assert words in error.message
    assert error.where == "gpu1"
    assert error.exit_code == 7


def test_a_hostile_text_is_made_visible() -> None:
    error = connect_error(asyncssh.DisconnectError(2, "\x1b]0;owned\x07 bye"), where="gpu1")
    assert "\x1b" not in error.message
