"""accept_length of a class of text: many different prompts of it, each answered to its own end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from console.analysis.statistics.acceptance import accept_length
from console.analysis.statistics.estimate import Estimate
from console.measure.bench import Bench
from console.measure.prompt import Source
from console.measure.prompts import corpus

# Long enough for a drafter to have a text to guess from, short enough that 20 of them are soon answered.
PROMPT_TOKENS = 256
OUTPUT_TOKENS = 256


@dataclass(frozen=True)
class Workload:
    """What came of it; `estimate` None: `reason` says why not. One number a prompt, not a token, is the sample."""

    text_class: str
    prompts: int
    estimate: Estimate | None = None
    reason: str = ""


async def prompts_of(source: Source, text_class: str, count: int) -> list[str | tuple[int, ...]]:
    """Different prompts of one class: pieces of one long text, or the short ones there are."""
    if text_class == "short":
        return list(corpus("short")[:count])
    long = (await source.prompt(text_class, count * PROMPT_TOKENS, nonce=source.bench.nonce)).sent
    size = len(long) // count
    return [long[at * size : (at + 1) * size] for at in range(count)]


async def measure(bench: Bench, source: Source, text_class: str, count: int) -> Workload:
    """Ask all of them, one after the other. Raises NotMeasuredError, ConnectError."""
    tokens: list[int] = []
    steps: list[int] = []
    prompts: Sequence[str | tuple[int, ...]] = await prompts_of(source, text_class, count)
    for number, prompt in enumerate(prompts):
        bench.say(phase=f"accept_length of {text_class}", done=number, total=len(prompts))
        read = (await bench.generate(prompt, OUTPUT_TOKENS, ignore_eos=False)).read
        if read.error:
            return Workload(text_class, len(tokens), reason=read.error)
        if read.completion_tokens is None or read.verify_steps is None:
            return Workload(text_class, len(tokens), reason="the engine does not say the steps of each answer")
        if read.verify_steps:
            tokens.append(read.completion_tokens - 1)  # prefill makes the first one
            steps.append(read.verify_steps)
    if not tokens:
        return Workload(text_class, 0, reason="no answer took a step")
    return Workload(text_class, len(tokens), accept_length(tokens, steps))
