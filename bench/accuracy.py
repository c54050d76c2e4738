"""How right the measurements are: every estimator against a server whose truth is known, row by row with its bound.

    python -m bench.accuracy [--rows clean,loss-5] [--replicas 500] [--cells 8] [--seed 1] [--json]

Rows without sockets are Monte-Carlo; rows through sockets measure the lab engine through a bad path with the console's
own code, fewer times. Exit 1 when a bound is missed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict

from bench import rows_sockets, rows_sweep, rows_two_point
from bench.scorecard import Score, table

MONTE_CARLO: dict[str, Callable[[int, int], Score]] = {**rows_two_point.ROWS, **rows_sweep.ROWS}
ROWS = {**MONTE_CARLO, **rows_sockets.ROWS}
GROUPS = {"all": list(ROWS), "monte-carlo": list(MONTE_CARLO), "sockets": list(rows_sockets.ROWS)}


def main() -> int:
    parser = argparse.ArgumentParser(description="How right the measurements are, row by row with its bound.")
    parser.add_argument("--rows", default="all", help=f"{', '.join(GROUPS)}, or some of: {', '.join(ROWS)}")
    parser.add_argument("--replicas", type=int, default=500, metavar="N", help="of each Monte-Carlo row (500)")
    parser.add_argument("--cells", type=int, default=8, metavar="N", help="of each row through sockets (8)")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--json", action="store_true", help="the rows as JSON on stdout")
    asked = parser.parse_args()
    names = GROUPS.get(asked.rows) or asked.rows.split(",")
    if unknown := [name for name in names if name not in ROWS]:
        parser.error(f"no such row: {', '.join(unknown)}; there are {', '.join([*GROUPS, *ROWS])}")
    if min(asked.replicas, asked.cells) < 1:
        parser.error("--replicas, --cells: at least 1")
    begun = time.monotonic()
    scores = []
    for name in names:
        started = time.monotonic()
        scores.append(ROWS[name](asked.replicas if name in MONTE_CARLO else asked.cells, asked.seed))
        print(f"{name}: {time.monotonic() - started:.1f} s", file=sys.stderr)
    if asked.json:
        print(json.dumps([{**asdict(row), "met": row.met} for row in scores], indent=1, ensure_ascii=False))
    else:
        print(table(scores))
    print(f"{time.monotonic() - begun:.0f} s in all, seed {asked.seed}", file=sys.stderr)
    return 0 if all(row.met for row in scores) else 1


if __name__ == "__main__":
    sys.exit(main())
