"""What must hold under fire, on real hosts, with its figures; heavier than what every run of the tests can pay.

`python -m tests.real.fire [PROOF …]` (root); without a name all of them, one after the other. Exit status 1 when a line
is not met. The interrupt matrix is `python -m tests.real.matrix`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.hosts.fleet import why_not
from tests.real.fire import bastion, fleets, guards, links, pairs, partitions, sleepers, stops, without_state
from tests.real.fire.said import Said

PROOFS = {
    "stops": stops.prove,
    "sleepers": sleepers.prove,
    "links": links.prove,
    "pairs": pairs.prove,
    "partitions": partitions.prove,
    "guards": guards.prove,
    "without-state": without_state.prove,
    "fleets": fleets.prove,
    "bastion": bastion.prove,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("proof", nargs="*", choices=[[], *PROOFS], help=f"of {', '.join(PROOFS)}")
    asked = parser.parse_args()
    if reason := why_not():
        sys.stderr.write(f"{reason}\n")
        return 2
    wrong = 0
    for name in asked.proof or PROOFS:
        said = Said(name)
        with tempfile.TemporaryDirectory(prefix="fire-") as folder:
            PROOFS[name](said, Path(folder))
        wrong += said.wrong
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
