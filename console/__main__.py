"""`python -m console` and the `console` command."""

from __future__ import annotations

import sys


def main() -> int:
    from console.cli.main import run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
