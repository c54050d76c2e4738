"""Weights of a model and its draft on one GPU, before and after they are split or chosen otherwise."""

from __future__ import annotations

from dataclasses import dataclass

from console.analysis.capacity.limits import draft_is_a_model
from console.analysis.capacity.setup import Setup
from console.analysis.capacity.situation import Situation


@dataclass(frozen=True)
class Moved:
    """What weights take more on one GPU, negative where less. `reason`: why that is not known."""

    more_gib: float = 0.0
    lines: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    reason: str = ""


def moved_gib(situation: Situation, after: Setup) -> Moved:
    """Weights split evenly over TP x PP; a draft that is left out gives its weights back, a new one is not known."""
    before = situation.setup
    more, lines, assumed = 0.0, [], []
    old, new = (setup.parallel.tensor * setup.parallel.pipeline for setup in (before, after))
    if old != new:
        weights = situation.weights_gib
        if weights is None:
            return Moved(reason="weights move with TP and PP, and how large they are was not seen")
        if situation.gpus and new > situation.gpus:
            return Moved(reason=f"weights move to {new} GPUs, the host has {situation.gpus}")
        then = weights * old / new
        more += then - weights
        lines.append(f"weights {weights:.2f} -> {then:.2f} GiB on a GPU (over {old} -> {new} GPUs)")
        assumed.append("weights split evenly, and everything else takes what it takes now")
    drafted, drafts = (draft_is_a_model(setup.algorithm, setup.draft_path) for setup in (before, after))
    if drafts and (not drafted or after.draft_path != before.draft_path):
        return Moved(reason="the weights of another draft take memory, too, and were never seen")
    if drafted and not drafts:
        size = situation.draft_weights_gib
        if size is None:
            assumed.append("at least: the weights of the draft, which leave too, were not seen")
        else:
            more -= size / old
            lines.append(f"the draft leaves with {size / old:.2f} GiB of weights on a GPU")
            assumed.append("the draft's weights are split evenly")
    return Moved(more, tuple(lines), tuple(assumed))
