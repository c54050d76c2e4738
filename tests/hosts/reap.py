"""Take away hosts whose test process is gone: `python -m tests.hosts.reap`.

With `--watch FOLDER` it waits until its standard input ends, which happens when the process that opened it dies in
whatever way, and then takes that fleet away. Every fleet starts one of these.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.hosts.remains import machine_lock, reap, remove


def main(words: list[str]) -> int:
    match words:
        case ["--watch", folder]:
            sys.stdin.buffer.read()
            with machine_lock():
                if Path(folder).is_dir():
                    remove(Path(folder))
            return 0
        case []:
            reaped = reap()
            sys.stdout.write(f"taken away: {', '.join(reaped) or 'nothing was left behind'}\n")
            return 0
        case _:
            sys.stderr.write(f"{__doc__}\n")
            return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
