"""A baseline as one table: what was measured beside what production shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from console.schema.events import FindingMade
from console.views.cells import wrap
from console.views.figures import number
from console.views.tables import table

ROWS: Mapping[str, str] = {
    "decode_tok_s": "decode, tok/s a request",
    "ttft_p50_s": "first token p50, s",
    "ttft_p95_s": "first token p95, s",
    "itl_p50_ms": "between tokens p50, ms",
    "itl_p95_ms": "between tokens p95, ms",
    "e2e_p95_s": "end to end p95, s",
    "tok_min_gpu": "tokens/min/GPU",
    "cache_hit_percent": "cached tokens, %",
    "good_percent": "kept its goal, %",
    "kv_use_percent": "KV pool in use, %",
    "queued_most": "waiting at most",
    "retracted": "taken back for room",
    "spread_percent": "spread over replicas, %",
    "running": "requests at once",
    "context_tokens": "context, tokens",
    "accept_length": "avg commit",
}
# What the engine said of a replay as a whole; its times are those of its bands.
BESIDE = ("kv_use_percent", "queued_most", "retracted")


def baseline_text(findings: Sequence[FindingMade]) -> str:
    """Columns only for what there is; a figure that one side does not have is n/a."""
    columns: dict[str, dict[str, float]] = {}
    replay: dict[str, float] = {}
    notes: list[str] = []
    for one in findings:
        value = float(one.value) if isinstance(one.value, int | float) else None
        if one.name == "load_throughput" and one.text_class != "replay" and value is not None:
            streams = one.figures.get("streams")
            name = f"{streams:g} streams" if streams else "load"
            columns[name] = {**one.figures, "tok_min_gpu": value, **_rate(one.figures)}
        elif one.name == "load_throughput" and value is not None:
            replay |= {name: one.figures[name] for name in BESIDE if name in one.figures}
        elif one.name == "load_spread" and value is not None:
            replay["spread_percent"] = value
        elif one.name == "replay_band" and one.source == "all" and value is not None:
            replay |= {**one.figures, "e2e_p95_s": value, **_rate(one.figures)}
            columns["replay"] = replay
        elif one.name == "running_requests" and value is not None:
            columns["production"] = {**one.figures, "running": value}
            notes += [f"production: {flag}" for flag in one.flags]
    if not columns:
        return "nothing could be measured; the reasons stand above"
    # The widest load stands for the others, so that the table fits beside replay and production.
    loads = [name for name in columns if name.endswith("streams")]
    shown = [*loads[:1], *loads[-1:]] if len(loads) > 1 else loads
    shown += [name for name in ("load", "replay", "production") if name in columns]
    rows = [
        [text, *(number(round(columns[name][key], 3)) if key in columns[name] else "n/a" for name in shown)]
        for key, text in ROWS.items()
        if any(key in columns[name] for name in shown)
    ]
    told = [line for note in notes for line in wrap(note, 80)]
    return "\n".join([*table(["", *shown], rows, right=range(1, 1 + len(shown))), *told])


def _rate(figures: Mapping[str, float]) -> dict[str, float]:
    gap = figures.get("itl_p50_ms")
    return {"decode_tok_s": 1000 / gap} if gap else {}
