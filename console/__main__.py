"""`python -m console` and the `console` command."""

from __future__ import annotations

import contextlib
import os
import sys


def main() -> None:
    """Run the command line and end the process with its exit code."""
    from console.cli.main import run

    code = run(sys.argv[1:])
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    # Taking asyncssh and pydantic apart object by object costs more than the end of a run may take.
    os._exit(code)


if __name__ == "__main__":
    main()
