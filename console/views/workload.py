"""The shape of a workload on one screen: lengths with their tails, reuse, arrivals, and where the requests lie."""

from __future__ import annotations

from collections.abc import Iterator

from console.schema.workload import Distribution, Heat, WorkloadProfile
from console.views.figures import duration, number
from console.views.tables import table

SHADES = " .:-=+*#%@"
HEAD = ("", "p50", "p90", "p95", "p99", "most", "mean", "n")


def profile_text(profile: WorkloadProfile) -> str:
    return "\n".join(_lines(profile))


def _lines(profile: WorkloadProfile) -> Iterator[str]:
    rate = f", {profile.per_s:.3g} a second" if profile.per_s is not None else ""
    yield f"{', '.join(profile.files)} ({profile.kind})"
    yield f"{profile.requests:,} requests in {duration(profile.span_s)}{rate}"
    if profile.failed:
        yield f"{profile.failed:,} more failed: no answer, not counted below"
    if profile.own_requests:
        yield f"{profile.own_requests:,} of our own measurements are left out"
    yield ""
    yield from table(HEAD, list(_rows(profile)), right=range(1, len(HEAD)))
    yield ""
    if profile.ratio is not None:
        yield f"input : output  {profile.ratio:.1f} : 1"
    yield from _reuse(profile)
    yield from _arrivals(profile)
    if profile.sessions:
        yield f"sessions        {profile.sessions:,}"
    yield ""
    yield from heat_lines(profile.heat)
    if profile.bad or profile.told:
        yield ""
        yield from (f"left out: {text}" for text in profile.bad)
        yield from (f"note: {text}" for text in profile.told)


def _rows(profile: WorkloadProfile) -> Iterator[tuple[str, ...]]:
    for name, found, unit in (
        ("input tokens", profile.input_tokens, ""),
        ("output tokens", profile.output_tokens, ""),
        ("gap", profile.gap_s, "s"),
        ("latency", profile.latency_s, "s"),
        ("at once", profile.at_once, ""),
        ("turns a session", profile.turns, ""),
        ("sessions at once", profile.sessions_at_once, ""),
    ):
        if found is not None:
            yield (name, *_figures(found, unit), f"{found.n:,}")


def _figures(found: Distribution, unit: str) -> tuple[str, ...]:
    values = (found.p50, found.p90, found.p95, found.p99, found.most, found.mean)
    if unit:
        return tuple(f"{value:.3g}s" if value < 100 else duration(value) for value in values)
    return tuple(number(round(value, 1)) for value in values)


def _reuse(profile: WorkloadProfile) -> Iterator[str]:
    found = profile.reuse
    if found is not None:
        without = ""
        if found.common_blocks and found.share_without_common is not None:
            blocks = f"{found.common_blocks} block{'s' if found.common_blocks > 1 else ''} of nearly all requests"
            without = f"{found.share_without_common:.1%} without the {blocks}"
        yield f"prefix reuse    {found.share:.1%} of input tokens, had nothing been forgotten"
        if without:
            yield f"                {without}"
        if found.by_share and sum(found.by_share):
            every = sum(found.by_share)
            cut = [sum(found.by_share[5 * quarter : 5 * quarter + 5]) / every for quarter in range(4)]
            names = ("0-25", "25-50", "50-75", "75-100")
            told = ", ".join(f"{name} %: {share:.0%}" for name, share in zip(names, cut, strict=True))
            yield f"                requests by known share of their prompt: {told}"
    if profile.cached_share is not None:
        yield f"prefix cache    {profile.cached_share:.1%} of input tokens came from it, as the engine counted"
    elif found is None:
        yield "prefix reuse    n/a: the trace has no prefix hashes and no cached tokens"


def _arrivals(profile: WorkloadProfile) -> Iterator[str]:
    if profile.clock_step_s is not None:
        yield f"arrivals        the trace's clock steps by {profile.clock_step_s:.3g} s: gaps within are not known"
    elif profile.gap_variation is not None:
        yield f"arrivals        variation {profile.gap_variation:.2f} (1 is by chance, more is in bursts)"
    if profile.at_once is None and profile.per_s is not None:
        yield f"at once         n/a: no end times; {profile.per_s:.3g} a second of latency (Little's law)"


def heat_lines(heat: Heat) -> list[str]:
    """Input tokens downwards, output tokens to the right, each cell a shade of its share of the fullest one."""
    most = max((cell for row in heat.requests for cell in row), default=0)
    said = ["requests by input (down) and output tokens (right), from:"]
    said.append(" " * 9 + "".join(f"{_short(one):>6}" for one in heat.output_from))
    for begin, row in zip(heat.input_from, heat.requests, strict=True):
        cells = "".join(f"{_shade(cell, most) * 2:>6}" for cell in row)
        said.append(f"{_short(begin):>8} {cells}".rstrip())
    return [line[:80] for line in said]


def _shade(cell: int, most: int) -> str:
    # By the root, so that a tail is still seen beside what is usual.
    return SHADES[0] if not cell else SHADES[max(1, round((cell / most) ** 0.5 * (len(SHADES) - 1)))]


def _short(tokens: int) -> str:
    return f"{tokens >> 20}M" if tokens >= 1 << 20 else f"{tokens >> 10}k" if tokens >= 1 << 10 else str(tokens)
