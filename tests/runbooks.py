"""The shipped runbook without one of its steps, for what can be seen only when that step is not there."""

from __future__ import annotations

from pathlib import Path

EXTEND_CONTEXT = Path(__file__).parents[1] / "runbooks" / "extend_context.toml"


def without_step(uses: str) -> str:
    """The text of extend_context.toml without its step of that kind."""
    head, *steps = EXTEND_CONTEXT.read_text().split("[[step]]\n")
    kept = [step for step in steps if not step.startswith(f'uses = "{uses}"')]
    assert len(kept) == len(steps) - 1, uses
    return "[[step]]\n".join([head, *kept])
