"""What decoding costs at a depth, by the law that a sweep measured: step time x acceptance, and nothing else."""

from __future__ import annotations

from console.schema.capacity import DecodeCost, DecodeLaw

# A law is a straight line through what was measured; this far beyond it, it is only a guess.
_TRUSTED = 1.05


def decode_cost(law: DecodeLaw, context_tokens: int) -> DecodeCost:
    """Step time at `context_tokens` and the rate at each acceptance length; how far that is from what was measured."""
    step_ms = law.intercept_ms + law.slope_ms * context_tokens
    rates = tuple((accept, accept / step_ms * 1000) for accept in law.accept_lengths if accept > 0)
    times = context_tokens / law.deepest_tokens if law.deepest_tokens else 0.0
    said = f"decode at {context_tokens:,} tokens: {_time(step_ms)} a step"
    if rates:
        said += ", " + ", ".join(f"{rate:.1f} tok/s at acceptance {accept:.3g}" for accept, rate in rates)
    if times > _TRUSTED:
        said += f" (extrapolated {times:.0f}-fold from {law.deepest_tokens:,} tokens)"
    return DecodeCost(
        context_tokens=context_tokens,
        step_ms=step_ms,
        rates_tok_s=rates,
        extrapolated=times,
        source=law.source,
        text=said,
    )


def _time(step_ms: float) -> str:
    return f"{step_ms / 1000:.2f} s" if step_ms >= 1000 else f"{step_ms:.1f} ms"
