"""Every way asyncssh, the agent or the network can fail, as an error of ours."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import dataclass

import asyncssh
from asyncssh.config import ConfigParseError
from asyncssh.pbe import KeyEncryptionError

from console.errors import AuthenticationError, ConnectError, HostKeyUnknownError, UnreachableError
from console.untrusted import one_line


@dataclass(frozen=True)
class Meaning:
    """What an exception means before a session is there. `{said}` is the exception's own text."""

    error: type[ConnectError]
    text: str
    hint: str = ""


_SLOW = "is it up, and is the address right? ssh to it by hand says more"

# The most specific class in an exception's ancestry decides. Every asyncssh error has a row of its own or of a parent
# below asyncssh.Error; a test keeps it so when asyncssh gains one.
MEANINGS: dict[type[BaseException], Meaning] = {
    asyncssh.PermissionDenied: Meaning(AuthenticationError, "login refused: {said}"),
    asyncssh.IllegalUserName: Meaning(AuthenticationError, "the user name is not allowed: {said}"),
    asyncssh.PasswordChangeRequired: Meaning(AuthenticationError, "the host wants a new password: {said}"),
    asyncssh.HostKeyNotVerifiable: Meaning(HostKeyUnknownError, "the host key cannot be trusted: {said}"),
    asyncssh.ConnectionLost: Meaning(UnreachableError, "the connection was lost before login: {said}"),
    asyncssh.KeyExchangeFailed: Meaning(UnreachableError, "no common way to encrypt: {said}"),
    asyncssh.ProtocolError: Meaning(UnreachableError, "what answers does not speak SSH as it should: {said}"),
    asyncssh.ProtocolNotSupported: Meaning(UnreachableError, "what answers speaks another SSH: {said}"),
    asyncssh.ServiceNotAvailable: Meaning(UnreachableError, "the SSH server offers no login: {said}"),
    asyncssh.MACError: Meaning(UnreachableError, "data arrived damaged: {said}"),
    asyncssh.CompressionError: Meaning(UnreachableError, "data arrived damaged: {said}"),
    asyncssh.DisconnectError: Meaning(UnreachableError, "the SSH server hung up: {said}"),
    asyncssh.ChannelOpenError: Meaning(UnreachableError, "the SSH server opens no channel: {said}"),
    asyncssh.ChannelListenError: Meaning(UnreachableError, "no port could be forwarded: {said}"),
    asyncssh.ProcessError: Meaning(UnreachableError, "a command ended unexpectedly: {said}"),
    asyncssh.SFTPError: Meaning(UnreachableError, "a file transfer failed: {said}"),
    asyncssh.BreakReceived: Meaning(UnreachableError, "the SSH server sent a break"),
    asyncssh.SignalReceived: Meaning(UnreachableError, "the SSH server sent a signal: {said}"),
    asyncssh.TerminalSizeChanged: Meaning(UnreachableError, "the SSH server sent a window size"),
    asyncssh.KeyImportError: Meaning(AuthenticationError, "a key file cannot be read: {said}"),
    asyncssh.KeyExportError: Meaning(AuthenticationError, "a key cannot be used: {said}"),
    asyncssh.KeyGenerationError: Meaning(AuthenticationError, "a key cannot be used: {said}"),
    KeyEncryptionError: Meaning(AuthenticationError, "a key file is encrypted: {said}", "ssh-add it first"),
    ConfigParseError: Meaning(UnreachableError, "the SSH config cannot be used: {said}"),
    socket.gaierror: Meaning(UnreachableError, "the name does not resolve: {said}", "check address in hosts.toml"),
    ConnectionRefusedError: Meaning(UnreachableError, "nothing listens there: connection refused", _SLOW),
    ConnectionResetError: Meaning(UnreachableError, "the connection was reset: {said}", _SLOW),
    TimeoutError: Meaning(UnreachableError, "no answer in time", _SLOW),
    OSError: Meaning(UnreachableError, "{said}", _SLOW),
    EOFError: Meaning(UnreachableError, "the connection ended: {said}", _SLOW),
    ValueError: Meaning(UnreachableError, "asyncssh refused: {said}"),
}

# What may be raised while connecting; anything else is a bug and passes.
CONNECT_EXCEPTIONS = (
    asyncssh.Error,
    asyncssh.ChannelListenError,
    asyncssh.PasswordChangeRequired,
    OSError,
    EOFError,
    ValueError,
    TimeoutError,
)

# sshd drops connections it has not authenticated yet when there are too many (MaxStartups).
THROTTLED = (asyncssh.ConnectionLost, ConnectionResetError, BrokenPipeError, EOFError)


def connect_error(exception: BaseException, *, where: str, tried: Sequence[str] = ()) -> ConnectError:
    """The error of ours for an exception raised before a session was there. `tried` is what was offered to log in."""
    meaning = next((MEANINGS[kind] for kind in type(exception).__mro__ if kind in MEANINGS), None)
    said = one_line(str(exception) or type(exception).__name__, 300)
    if meaning is None:
        return UnreachableError(f"{type(exception).__name__}: {said}", where=where)
    text = meaning.text.format(said=said)
    hint = meaning.hint
    if meaning.error is AuthenticationError:
        offered = "; ".join(tried) or "nothing: no agent and no key file"
        text = f"{text} (tried: {offered})"
        hint = hint or "ssh-add your key, or name it as identity in hosts.toml"
    return meaning.error(text, where=where, hint=hint)
