"""Two looks at an engine's own counters as one window: what was generated in between, and what a step committed."""

from __future__ import annotations

from console.analysis.diagnosis.window import Window
from console.engines.metrics import Counters


def between(before: Counters, after: Counters, seconds: float, pool_tokens: int | None, at_s: float) -> Window | None:
    """None when nothing ran, when the batch changed, or when something was prefilled in between.

    A step commits generated / (engine steps x batch) tokens where the engine counts its steps; else 1 + accepted /
    drafts, or generated / drafts where it does not count those accepted. Both count only steps that had a
    draft: with drafts by n-grams that is too many.
    """
    generated = _grown(before.generated_tokens, after.generated_tokens)
    prefilled = _grown(before.prompt_tokens, after.prompt_tokens)
    batch, pool = after.requests_running, after.pool_tokens or pool_tokens
    if not generated or generated < 0 or prefilled or seconds <= 0:
        return None
    if not batch or batch != before.requests_running or not pool or after.pool_usage is None:
        return None
    usage = after.pool_usage if before.pool_usage is None else (before.pool_usage + after.pool_usage) / 2.0
    steps = _grown(before.engine_steps, after.engine_steps)
    drafts = _grown(before.draft_steps, after.draft_steps)
    accepted = _grown(before.accepted_tokens, after.accepted_tokens)
    if steps and steps > 0:
        length = generated / (steps * batch)
    elif drafts and drafts > 0 and accepted is not None:
        length = 1.0 + accepted / drafts
    elif drafts and drafts > 0:
        length = generated / drafts
    else:
        length = after.accept_length or 1.0
    return Window(
        at_s=at_s,
        context_tokens=usage * pool / batch,
        batch=float(batch),
        accept_length=max(length, 1.0),
        rate_tok_s=generated / seconds,
        queue=after.requests_waiting or 0,
    )


def _grown(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else after - before
