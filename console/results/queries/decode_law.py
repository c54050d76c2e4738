"""How decoding slows with context on a target, as its last recorded sweep says."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from console.errors import ConsoleError
from console.schema.capacity import DecodeLaw


def decode_law(path: Path, target: str, *, environment: Mapping[str, str] = os.environ) -> DecodeLaw | None:
    """The line through the newest sweep, with the least and the most a step committed on any text on record.

    None without a repository, or without a sweep of three contexts. Never raises.
    """
    # The diagnosis and the queries are not small; on a first night there is no record to ask.
    if not (path / target).is_dir():
        return None
    from console.analysis.diagnosis.recorded import curve_of
    from console.results.queries.accept import ACCEPT
    from console.results.queries.list import list_records
    from console.results.queries.speed import LOOK_BACK, known_speed

    recorded = known_speed(path, target, environment=environment).recorded
    if len(recorded.cells) < 3:
        return None
    curve = curve_of(recorded.cells, recorded.source)
    if curve is None:
        return None
    accepts = [cell.accept_length for cell in recorded.cells]
    try:
        rows = list_records(path, limit=LOOK_BACK, target=target, environment=environment)
    except ConsoleError:
        rows = []
    accepts += [float(found) for row in rows for text in row.findings for found in ACCEPT.findall(text)]
    least, most = min(accepts), max(accepts)
    return DecodeLaw(
        intercept_ms=curve.intercept_ms,
        slope_ms=curve.slope_ms,
        deepest_tokens=round(max(cell.context_tokens for cell in recorded.cells)),
        accept_lengths=(least, most) if most > least * 1.05 else (least,),
        source=recorded.source,
    )
