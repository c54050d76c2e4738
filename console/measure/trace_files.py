"""Trace files as batches of requests: plain, gz or zst, in pieces that end with a line, in flat memory."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, cast

from console.analysis.workload.batch import Batch
from console.analysis.workload.column_map import ColumnMap, named, read_map, recognise, shipped
from console.analysis.workload.frozen import VERSION, TraceHead, TraceRequest, digest, freeze
from console.analysis.workload.profile import Profile
from console.analysis.workload.read_flat import of_flat_lines
from console.analysis.workload.read_rows import of_csv_lines
from console.errors import ConsoleError, RefusedError
from console.schema.workload import WorkloadProfile

PIECE_BYTES = 1 << 20
# A line longer than this is no metadata.
LONGEST_LINE = 32 << 20
TOLERANCE = 0.01
# Below so many lines a share says nothing: so many may be bad in any trace.
FREE_BAD_LINES = 3


@dataclass(frozen=True)
class Piece:
    """Whole lines of a file. `torn`: the file ends with them and without a line's end."""

    data: bytes
    first_line: int
    torn: bool = False


def pieces(path: Path, *, size: int = PIECE_BYTES) -> Iterator[Piece]:
    """The file piece by piece. Raises RefusedError for what cannot be read or is no text of lines."""
    line, rest = 1, b""
    try:
        with opened(path) as file:
            while part := file.read(size):
                data = rest + part if rest else part
                cut = data.rfind(b"\n") + 1
                if not cut:
                    if len(data) > LONGEST_LINE:
                        raise RefusedError(f"line {line} has more than {LONGEST_LINE >> 20} MiB", where=str(path))  # noqa: TRY301
                    rest = data
                    continue
                yield Piece(data[:cut], line)
                line += data.count(b"\n", 0, cut)
                rest = data[cut:]
    except (OSError, EOFError, zlib.error) as error:
        raise RefusedError(
            f"cannot be read from line {line} on: {getattr(error, 'strerror', None) or error}", where=str(path)
        ) from None
    except Exception as error:
        if isinstance(error, ConsoleError) or type(error).__name__ != "ZstdError":
            raise
        raise RefusedError(f"no whole zstd file from line {line} on: {error}", where=str(path)) from None
    if rest:
        yield Piece(rest, line, torn=True)


def opened(path: Path) -> IO[bytes]:
    """The bytes of a file, unpacked by what it begins with. A pickle is never opened as one."""
    with path.open("rb") as file:
        magic = file.read(4)
    if magic[:2] == b"\x1f\x8b":
        return cast("IO[bytes]", gzip.open(path, "rb"))
    if magic == b"\x28\xb5\x2f\xfd":
        import zstandard

        return cast("IO[bytes]", zstandard.open(path, "rb"))
    if magic[:1] == b"\x80" and magic[1:2] in b"\x02\x03\x04\x05":
        raise RefusedError(
            "a Python pickle: it is not opened, whoever made it could run anything here",
            where=str(path),
            hint="convert it to JSON lines on the host it was made on; docs/tune.md says which keys are read",
        )
    return path.open("rb")


def map_of(path: Path, told: str = "") -> ColumnMap:
    """The column map told, a shipped one by name or a file of one's own; else the one that knows the file's head."""
    if told:
        own = Path(told)
        if own.suffix == ".toml" or own.exists():
            try:
                return read_map(own.read_text("utf-8"), told)
            except (OSError, UnicodeDecodeError) as error:
                raise RefusedError(f"cannot read the column map: {error}", where=told) from None
        return named(told)
    for piece in pieces(path, size=1 << 16):
        found = recognise(piece.data.split(b"\n")[:50])
        if found is not None:
            return _as_frozen(path, found)
        break
    known = ", ".join(sorted(one.name for one in shipped()))
    raise RefusedError(
        "no trace of a kind that is known by itself",
        where=str(path),
        hint=f"say --map NAME or --map FILE.toml; known: {known}",
    )


def _as_frozen(path: Path, found: ColumnMap) -> ColumnMap:
    """A frozen trace says beside itself how many tokens its blocks have."""
    if found.name != "frozen":
        return found
    import orjson

    try:
        told = orjson.loads((path.parent / "trace.json").read_bytes())
        return replace(found, block_tokens=int(told["block_tokens"]) or found.block_tokens)
    except (OSError, ValueError, KeyError, TypeError):
        return found


Work = tuple[Piece, ColumnMap, tuple[str, ...]]
Batches = Callable[[Iterator[Work]], Iterator[Batch]]


def here(work: Iterator[Work]) -> Iterator[Batch]:
    """Parse in this process."""
    for piece, columns, header in work:
        yield parse(piece, columns, header)


def batches(path: Path, columns: ColumnMap, parsed: Batches = here) -> Iterator[Batch]:
    """All requests of a file, in its order. Raises RefusedError where the file as a whole is not what the map says."""
    return parsed(_work(path, columns))


def _work(path: Path, columns: ColumnMap) -> Iterator[Work]:
    header: list[str] | None = None
    for piece in pieces(path):
        if columns.file == "csv" and header is None:
            first, _, below = piece.data.partition(b"\n")
            header = _header(first, columns, path)
            piece = Piece(below, piece.first_line + 1, piece.torn)
        yield piece, columns, tuple(header or ())


def parse(piece: Piece, columns: ColumnMap, header: Sequence[str] = ()) -> Batch:
    """One piece as columns of numbers; pure, so that any process may do it."""
    if columns.file == "csv":
        lines = piece.data.split(b"\n")
        if lines and not lines[-1]:
            lines.pop()
        return of_csv_lines(lines, piece.first_line, columns, header, torn=piece.torn)
    return of_flat_lines(piece.data, piece.first_line, columns, torn=piece.torn)


def _header(first: bytes, columns: ColumnMap, path: Path) -> list[str]:
    text = first.decode("utf-8", "replace").lstrip("\ufeff").strip("\r")
    header = next(csv.reader([text], delimiter=columns.separator), [])
    missing = [name for key, name in columns.columns.items() if key in ("at", "input", "output") and name not in header]
    if missing:
        raise RefusedError(
            f"no column {', '.join(missing)}; there are {', '.join(header)[:200]}", where=f"{path}: line 1"
        )
    return header


def profile_of(
    paths: Sequence[Path], told: str = "", *, tolerance: float = TOLERANCE, parsed: Batches = here
) -> WorkloadProfile:
    """The profile of one workload in one file or several, one after the other.

    Raises RefusedError where more than `tolerance` of the lines are bad, or nothing is a request.
    """
    profile: Profile | None = None
    kinds: list[str] = []
    for path in paths:
        columns = map_of(path, told)
        kinds.append(columns.name)
        if profile is None:
            profile = Profile(columns.block_tokens)
        elif columns.block_tokens and profile.block_tokens not in (0, columns.block_tokens):
            raise RefusedError(f"blocks of {columns.block_tokens} tokens after {profile.block_tokens}", where=str(path))
        for batch in batches(path, columns, parsed):
            profile.add(batch)
            tolerable(profile, path, tolerance, least=1000)
        tolerable(profile, path, tolerance)
    if profile is None or not profile.input.n:
        raise RefusedError("no request in it", where=", ".join(map(str, paths)), hint=_why(profile))
    return profile.result(files=[path.name for path in paths], kind=", ".join(dict.fromkeys(kinds)))


def frozen_of(
    paths: Sequence[Path], told: str, name: str, *, tolerance: float = TOLERANCE, seed: int = 0
) -> tuple[TraceHead, list[TraceRequest], list[str]]:
    """A workload as a trace to replay, and what is to be said of how it was read. Raises as `profile_of` does."""
    profile: Profile | None = None
    kinds: list[str] = []

    def read() -> Iterator[Batch]:
        nonlocal profile
        for path in paths:
            columns = map_of(path, told)
            kinds.append(columns.name)
            profile = profile or Profile(columns.block_tokens)
            for batch in batches(path, columns):
                kept = profile.once(batch)
                profile.count(batch)
                yield kept
            tolerable(profile, path, tolerance)

    requests, step_s = freeze(read(), seed=seed)
    if profile is None or not requests:
        raise RefusedError("no request in it", where=", ".join(map(str, paths)), hint=_why(profile))
    notes = [f"left out: {text}" for text in profile.bad.sentences()]
    notes += [f"note: {text}" for text in profile.told.sentences()]
    if step_s:
        notes.append(f"note: times stood {step_s:.3g} s apart: spread over that by seed {seed}")
    head = TraceHead(
        name=name,
        version=VERSION,
        kind=", ".join(dict.fromkeys(kinds)),
        files=tuple(path.name for path in paths),
        requests=len(requests),
        span_s=requests[-1].at_us / 1e6,
        block_tokens=profile.block_tokens,
        input_tokens=sum(one.input for one in requests),
        output_tokens=sum(one.output for one in requests),
        spread_s=step_s,
        seed=seed,
        sha256=digest(requests),
    )
    return head, requests, notes


def _why(profile: Profile | None) -> str:
    if profile is None or not profile.bad.total:
        return "is it the right file, and the right --map?"
    return "; ".join(profile.bad.sentences()[:3])


def tolerable(profile: Profile, path: Path, tolerance: float, *, least: int = 0) -> None:
    """Raises RefusedError when more lines are bad than the tolerance allows."""
    bad = profile.bad.total
    if profile.lines >= least and bad > max(FREE_BAD_LINES, tolerance * profile.lines):
        raise RefusedError(
            f"{bad:,} of {profile.lines:,} lines are not as the map says: {'; '.join(profile.bad.sentences()[:4])}",
            where=str(path),
            hint="is it the right --map? --tolerance 0.1 lets one line in ten be bad",
        )
