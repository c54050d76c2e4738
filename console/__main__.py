"""`python -m console` and the `console` command."""

from __future__ import annotations

import contextlib
import gc
import os
import sys

# What is imported stays, and is most of what there is: the usual 700 would look through it all again and again, for a
# sixth of a start. A collection of this many takes some milliseconds, which no key and no answer waits for.
COLLECTED_AT = 50_000


def main() -> None:
    """Run the command line and end the process with its exit code."""
    gc.set_threshold(COLLECTED_AT, 20, 20)
    from console.cli.main import run

    code = run(sys.argv[1:])
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    # Taking asyncssh and pydantic apart object by object costs more than the end of a run may take.
    os._exit(code)


if __name__ == "__main__":
    main()
