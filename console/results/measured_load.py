"""The files of a record that hold what a load came to: `load.csv`, a row a level, and a chart of throughput."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from console.analysis.diagnosis.replica_spread import replica_spread
from console.results.spreadsheet import text
from console.results.svg import curve
from console.schema.loads import Level
from console.schema.record import Record

FIGURES = (
    "ttft_p50_s", "ttft_p95_s", "ttft_n", "itl_p50_ms", "itl_p95_ms", "itl_n", "e2e_p50_s", "e2e_p95_s", "e2e_n",
)  # fmt: skip
COLUMNS = (
    "streams", "per_s", "state", "reason", "requests", "refused", "tok_min_gpu", "gpus", "window_s",
    *FIGURES, "running_most", "queued_most", "pool_usage_most", "retracted", "replicas", "spread_percent", "hottest",
    "client_lag_ms", "flags",
)  # fmt: skip
# What fits a page; the rest is in the file.
REPORTED = (
    "streams", "per_s", "requests", "ttft_p50_s", "ttft_p95_s", "itl_p50_ms", "itl_p95_ms", "e2e_p50_s", "e2e_p95_s",
    "tok_min_gpu", "queued_most", "state", "flags",
)  # fmt: skip


def files(record: Record) -> dict[str, str]:
    """By name; nothing where no load was measured."""
    if not record.loads:
        return {}
    drawn = chart_of(record)
    return {"load.csv": table(record.loads)} | ({"load.svg": drawn} if drawn else {})


def table(levels: Sequence[Level]) -> str:
    """A row a level, in the order they were measured."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(row(level) for level in levels)
    return out.getvalue()


def row(level: Level, columns: Sequence[str] = COLUMNS) -> tuple[str, ...]:
    """A level as these columns name it."""
    spread = replica_spread(level.replicas)
    own: dict[str, object] = {
        "replicas": len(level.replicas) or None,
        "spread_percent": None if spread is None else round(100 * spread.share, 1),
        "hottest": None if spread is None else spread.hottest.name,
        **{name: level.figures.get(name) for name in FIGURES},
        "requests": len(level.requests),
        "refused": sum(bool(one.refused) for one in level.requests),
        "flags": "; ".join(level.flags),
    }
    return tuple(text(own[name] if name in own else getattr(level, name)) for name in columns)


def name(level: Level) -> str:
    return f"{level.per_s:.3g}/s" if level.per_s else f"{level.streams} streams"


def beside(level: Level) -> str:
    """What the engine took back meanwhile, and how the load lay over its replicas; empty for what is not known."""
    spread = replica_spread(level.replicas)
    told = [f"{level.retracted} requests taken back for lack of room"] if level.retracted else []
    return "; ".join([*told, *([f"load spread {spread.sentence()}"] if spread else [])])


def chart_of(record: Record) -> str:
    """Tokens a minute and GPU over streams at once; empty below two levels of a closed loop."""
    points = [(float(one.streams), one.tok_min_gpu) for one in record.loads if one.tok_min_gpu and not one.per_s]
    if len(points) < 2:
        return ""
    title = f"{record.target}: throughput under load" + (" (simulated)" if record.simulated else "")
    return curve(sorted(points), title=title, across="streams at once", up="tok/min/GPU")
