"""The requests of a target's own log, as lengths and times: what the log says of their texts stays on the host."""

from __future__ import annotations

from console.analysis.workload.batch import Batch
from console.analysis.workload.column_map import ColumnMap
from console.analysis.workload.read_rows import of_csv_lines
from console.remote.session import Reader
from console.schema.facts import Facts
from console.settings.log_path import log_path

LOOK_TIMEOUT_S = 120.0
HEADER = ("at", "took", "input", "output", "cached", "id")
MAP = ColumnMap(
    name="request log",
    title="as look_requests.sh prints it",
    file="csv",
    columns={"at": "at", "duration": "took", "input": "input", "output": "output", "cached": "cached", "id": "id"},
    time="iso",
    at_is="end",
)


async def look_at_requests(reader: Reader, facts: Facts, since_s: float, *, patience_s: float = 0.0) -> Batch:
    """Those that ended since then. Empty where the engine logs none. Raises ConnectError."""
    output = await reader.look(
        "look_requests.sh",
        reader.target.service.unit,
        str(max(1, round(since_s))),
        log_path(facts.files),
        timeout_s=LOOK_TIMEOUT_S,
        patience_s=patience_s,
    )
    lines = [line for line in output.sections.get("requests", b"").split(b"\n") if line.strip()]
    return of_csv_lines(lines, 1, MAP, HEADER)
