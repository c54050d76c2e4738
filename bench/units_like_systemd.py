"""Made-up units read by us and by systemd's own parser: does any argv differ?

    python -m bench.units_like_systemd [--batches 200] [--size 1000] [--seed 1000]

One question to systemd a batch. Exit 1 where one unit is read otherwise; its bytes and both readings are printed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.units.agreement import differences


def main() -> int:
    parser = argparse.ArgumentParser(description="Made-up units, read by us and by systemd itself.")
    parser.add_argument("--batches", type=int, default=200, metavar="N")
    parser.add_argument("--size", type=int, default=1000, metavar="N", help="units a batch (1000)")
    parser.add_argument("--seed", type=int, default=1000, metavar="N", help="of the first batch")
    given = parser.parse_args()
    wrong, started = 0, time.monotonic()
    for batch in range(given.batches):
        with tempfile.TemporaryDirectory(prefix="units.") as folder:
            found = differences(Path(folder), given.seed + batch, given.size)
        wrong += len(found)
        for each in found[:5]:
            print(each, flush=True)
        done = (batch + 1) * given.size
        took_s = time.monotonic() - started
        print(f"{done:,} units, {wrong} read otherwise, {took_s:.0f} s", file=sys.stderr, flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
