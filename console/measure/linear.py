"""Does time grow in a line with the length of an answer? Two more lengths beside the two of a decode cell."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from console.analysis.statistics.decode import linearity
from console.analysis.statistics.design import Design, look
from console.measure.bench import Answer
from console.measure.pairs import Pairs

# Further lengths, as shares of the way from the short answer to the long one: 243 and 421 between 32 and 600.
LENGTHS_BETWEEN = (0.371, 0.685)
# A rate known no better than this cannot be told from another one.
WIDTH = 0.01


async def ask_between(pairs: Pairs) -> list[Answer]:
    """An answer of each length; they do not move the rate. Raises CellRefusedError, NotMeasuredError, ConnectError."""
    found = []
    for share in LENGTHS_BETWEEN:
        tokens = pairs.short_tokens + round(share * (pairs.long_tokens - pairs.short_tokens))
        answer = await pairs.ask(tokens, refused="checks that time grows in a line")
        if answer.read.completion_tokens == tokens:
            found.append(answer)
    return found


def bent(pairs: Pairs, between: Sequence[Answer], design: Design) -> tuple[str, ...]:
    """A mark where the answers of all lengths tell another rate than the two-point, 2 % and more; else none.

    A step that takes longer the more context there is bends the line evenly and moves neither; a cache that fills, a
    prefill in chunks or an answer cut off on its way do. Judged only where the rate is known well enough.
    """
    if len(between) < len(LENGTHS_BETWEEN) or not pairs.kept:
        return ()
    ends = [answer for pair in pairs.kept for answer in pair]
    if pairs.timed_by_server and all(one.read.server_time_s is not None for one in between):
        times = [one.read.server_time_s or 0.0 for one in (*ends, *between)]
    else:
        times = [one.client_s for one in (*ends, *between)]
    short, long = times[0 : len(ends) : 2], times[1 : len(ends) : 2]
    rate = look(short, long, design).rate
    if not rate.half_width <= WIDTH:
        return ()
    # One point a length: the many answers of the two ends would outvote those between them.
    lengths = [pairs.short_tokens, pairs.long_tokens, *(one.read.completion_tokens or 0 for one in between)]
    found = linearity(lengths, [median(short), median(long), *times[len(ends) :]], two_point_tok_s=rate.value)
    if "slopes differ" not in found.why:
        return ()
    return (f"not linear: {found.rate_tok_s:.4g} tok/s over four lengths",)
