"""A frozen trace: lengths, times and prefix structure of a workload, sorted, numbered anew, and known by its hash."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass

from console.analysis.workload.arrivals import Arrivals
from console.analysis.workload.batch import Batch
from console.errors import InvalidFileError

# What made the file: another release that freezes otherwise has another number, and the hash differs.
VERSION = "console-trace/1"
MOST_REQUESTS = 5_000_000


@dataclass(frozen=True)
class TraceRequest:
    """One request. `session` 0: none known. `blocks` are numbers of prefix blocks, equal where the text was equal."""

    at_us: int
    input: int
    output: int
    session: int = 0
    blocks: tuple[int, ...] = ()


@dataclass(frozen=True)
class TraceHead:
    """What stands beside the trace: where it came from, and how its times were spread where the clock was coarse."""

    name: str
    version: str
    kind: str
    files: tuple[str, ...]
    requests: int
    span_s: float
    block_tokens: int
    input_tokens: int
    output_tokens: int
    spread_s: float  # times were spread evenly over so long, because the trace's clock stepped by it; 0: they were not
    seed: int
    sha256: str

    def text(self) -> str:
        return json.dumps({"schema": 1, **asdict(self)}, indent=2) + "\n"


def freeze(batches: Iterable[Batch], *, seed: int = 0) -> tuple[list[TraceRequest], float]:
    """All requests in order of time from 0 on, and the step over which coarse times were spread.

    Where the clock stepped (a trace that says only every third second when requests came), times are spread evenly over
    a step by a recorded seed: else a replay sends what came over seconds in one moment. Hashes of sessions and blocks
    become numbers in order of their appearance, so that the same requests give the same bytes.
    Raises InvalidFileError above MOST_REQUESTS.
    """
    arrivals = Arrivals()
    rows: list[tuple[int, int, int, int, tuple[int, ...]]] = []
    for batch in batches:
        arrivals.add(batch)
        rows.extend(_rows(batch))
        if len(rows) > MOST_REQUESTS:
            raise InvalidFileError(f"more than {MOST_REQUESTS:,} requests", hint="freeze a part of it: --minutes 60")
    arrivals.finish()
    step_s = arrivals.step_s() or 0.0
    if step_s:
        chance = random.Random(seed)  # noqa: S311 - times, no secret
        rows = [(row[0] + int(chance.random() * step_s * 1e6), *row[1:]) for row in rows]
    rows.sort(key=lambda row: row[0])
    first = rows[0][0] if rows else 0
    sessions: dict[int, int] = {0: 0}
    blocks: dict[int, int] = {}
    return [
        TraceRequest(
            at_us=at - first,
            input=given,
            output=made,
            session=sessions.setdefault(session, len(sessions)),
            blocks=tuple(blocks.setdefault(block, len(blocks)) for block in prefix),
        )
        for at, given, made, session, prefix in rows
    ], step_s


def _rows(batch: Batch) -> Iterator[tuple[int, int, int, int, tuple[int, ...]]]:
    none = [0] * len(batch)
    sessions = none if batch.session is None else batch.session.tolist()
    counts = none if batch.blocks_n is None else batch.blocks_n.tolist()
    flat = [] if batch.blocks is None else batch.blocks.tolist()
    begin = 0
    columns = (batch.at_us.tolist(), batch.input.tolist(), batch.output.tolist(), sessions, counts)
    for at, given, made, session, count in zip(*columns, strict=True):
        yield at, given, made, session, tuple(flat[begin : begin + count])
        begin += count


def lines(requests: Iterable[TraceRequest]) -> Iterator[str]:
    """The file, line by line, in the one form that is hashed."""
    for one in requests:
        blocks = ",".join(map(str, one.blocks))
        yield f'{{"t_us":{one.at_us},"in":{one.input},"out":{one.output},"s":{one.session},"p":[{blocks}]}}\n'


def digest(requests: Iterable[TraceRequest]) -> str:
    found = hashlib.sha256()
    for line in lines(requests):
        found.update(line.encode())
    return found.hexdigest()


def read_trace(head: bytes, body: bytes, where: str) -> tuple[TraceHead, list[TraceRequest]]:
    """A frozen trace as it was frozen. Raises InvalidFileError where it is not, or was changed since."""
    try:
        told = json.loads(head)
        if told.pop("schema") != 1 or told["version"] != VERSION:
            raise InvalidFileError(f"frozen by {told['version']}, this release reads {VERSION}", where=where)
        found = TraceHead(**(told | {"files": tuple(told["files"])}))
        rows = [json.loads(line) for line in body.splitlines()]
        requests = [TraceRequest(row["t_us"], row["in"], row["out"], row["s"], tuple(row["p"])) for row in rows]
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidFileError(f"no frozen trace: {error}", where=where, hint="console workload freeze FILE") from None
    if hashlib.sha256(body).hexdigest() != found.sha256:
        raise InvalidFileError("the trace is not as it was frozen: its hash differs", where=where)
    return found, requests
