"""The requests of a target's own log, as lengths and times: what the log says of their texts stays on the host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from console.analysis.workload.batch import Batch
from console.analysis.workload.column_map import ColumnMap
from console.analysis.workload.moments import moment_us
from console.analysis.workload.read_rows import of_csv_lines
from console.remote.session import Reader
from console.schema.facts import Facts
from console.settings.log_path import log_path

LOOK_TIMEOUT_S = 120.0
OUR_IDS = b"console-"  # as runs name their requests
HEADER = ("at", "took", "input", "output", "cached", "id")
MAP = ColumnMap(
    name="request log",
    title="as look_requests.sh prints it",
    file="csv",
    columns={"at": "at", "duration": "took", "input": "input", "output": "output", "cached": "cached", "id": "id"},
    time="iso",
    at_is="end",
)


@dataclass(frozen=True)
class Requests:
    """`ours`: requests of our own measurements, which are not among the others."""

    batch: Batch
    ours: int = 0


async def look_at_requests(
    reader: Reader,
    facts: Facts,
    since_s: float,
    *,
    spans: Sequence[tuple[float, float]] = (),
    patience_s: float = 0.0,
) -> Requests:
    """Those that ended since then. Empty where the engine logs none. Raises ConnectError.

    `spans`: when we sent requests, seconds since the epoch: there a request without an id is ours.
    """
    output = await reader.look(
        "look_requests.sh",
        reader.target.service.unit,
        str(max(1, round(since_s))),
        log_path(facts.files),
        timeout_s=LOOK_TIMEOUT_S,
        patience_s=patience_s,
    )
    lines = [line for line in output.sections.get("requests", b"").split(b"\n") if line.strip()]
    ahead_s = facts.host.skew_s or 0.0
    return of_requests(lines, [(began + ahead_s, ended + ahead_s) for began, ended in spans])


def of_requests(lines: Sequence[bytes], spans: Sequence[tuple[float, float]] = ()) -> Requests:
    """The lines of the script without our own."""
    kept = [line for line in lines if not is_ours(line, spans)]
    return Requests(of_csv_lines(kept, 1, MAP, HEADER), len(lines) - len(kept))


def is_ours(line: bytes, spans: Sequence[tuple[float, float]]) -> bool:
    """By its id, else by when it ended."""
    at, _, rest = line.partition(b",")
    name = rest.rpartition(b",")[2].strip()
    if name or not spans:
        return name.startswith(OUR_IDS)
    try:
        ended_s = moment_us(at.decode("ascii", "replace"), MAP.time)[0] / 1e6
    except ValueError:
        return False
    return any(began <= ended_s <= ended for began, ended in spans)
