"""Who runs this, and from where."""

from __future__ import annotations

import getpass
import os
import socket


def operator() -> str:
    """The login name of the person; behind sudo, of the person who called it."""
    name = os.environ.get("SUDO_USER")
    if name and name != "root":
        return name
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid-{os.getuid()}"


def this_host() -> str:
    return socket.gethostname()
