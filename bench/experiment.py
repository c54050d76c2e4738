"""Experiments whose engine is a formula: does A/A say "no difference shown", and is +5 % found?

python -m bench.experiment [--times 500] [--restarts 5] [--seed 1]
"""

from __future__ import annotations

import argparse
import random
import sys

from console.analysis.tuning.experiment import Candidate, Result, Spec, standing
from console.analysis.tuning.objective import parse_objective

# What a restart does to a server's rate, and what requests add within one; as shares.
RESTART, WITHIN, REQUESTS = 0.01, 0.02, 8
OBJECTIVE = parse_objective("tokens/min/GPU max while p95 TTFT < 2 s")


def experiment(chance: random.Random, effect: float, restarts: int) -> str:
    """One whole experiment by the code that runs real ones; what it decided of its candidate."""
    spec = Spec(OBJECTIVE, Candidate("as it is", ()), (Candidate("changed", ()),), restarts=restarts)
    results: list[Result] = []
    while (now := standing(spec, results)).next_arm is not None:
        level = 12_000 * (1 + effect * (now.next_arm == "changed")) * (1 + chance.gauss(0, RESTART))
        rates = [level * (1 + chance.gauss(0, WITHIN)) for _ in range(REQUESTS)]
        figures = {"tok_min_gpu": rates, "ttft_p95_s": [1 + abs(chance.gauss(0, 0.05))]}
        results.append(Result(now.next_arm, now.versus, figures))
    (decision,) = now.decisions
    return "nothing" if "no difference shown" in decision.why else decision.verdict


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=500)
    parser.add_argument("--restarts", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    told = parser.parse_args()
    chance = random.Random(told.seed)
    same = sum(experiment(chance, 0.0, told.restarts) == "nothing" for _ in range(told.times))
    found = sum(experiment(chance, 0.05, told.restarts) == "keep" for _ in range(told.times))
    print(f"A/A        no difference shown  {same} of {told.times}  (at least {0.92 * told.times:.0f})")
    print(f"A/B +5 %   found and kept       {found} of {told.times}  (at least {0.9 * told.times:.0f})")
    return 0 if same >= 0.92 * told.times and found >= 0.9 * told.times else 1


if __name__ == "__main__":
    sys.exit(main())
