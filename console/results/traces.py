"""Frozen traces in the results repository: `traces/NAME/trace.jsonl` and what it is, committed once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from console.analysis.workload.frozen import TraceHead, TraceRequest, lines, read_trace
from console.errors import StateError
from console.results.record import write_documents
from console.results.repository import Repository

FOLDER = "traces"
HEAD, BODY = "trace.json", "trace.jsonl"


def keep(repository: Repository, head: TraceHead, requests: Sequence[TraceRequest]) -> str:
    """Write and commit it; returns the commit. Raises StateError where another trace has that name."""
    folder = repository.path / FOLDER / head.name
    if (folder / HEAD).exists():
        before, _ = load(folder)
        if before.sha256 != head.sha256:
            raise StateError(
                f"{head.name} is another trace ({before.sha256[:12]}, this is {head.sha256[:12]})",
                where=str(folder),
                hint="a frozen trace is never changed: say another --name",
            )
    text = (
        f"traces/{head.name}: {head.requests:,} requests in {head.span_s:.0f} s, frozen\n\n"
        f"From {', '.join(head.files)} ({head.kind}); lengths, times and prefix structure, no text.\n\n"
        f"Trace: {head.name} sha256:{head.sha256}\n"
    )
    return repository.commit_folder(f"{FOLDER}/{head.name}", _files(head, requests), text)


def write(folder: Path, head: TraceHead, requests: Sequence[TraceRequest]) -> None:
    """Write it without a repository. Raises StateError."""
    try:
        write_documents(folder, _files(head, requests))
    except OSError as error:
        raise StateError(f"cannot write: {error.strerror or error}", where=str(folder)) from None


def _files(head: TraceHead, requests: Sequence[TraceRequest]) -> dict[str, bytes]:
    return {HEAD: head.text().encode(), BODY: "".join(lines(requests)).encode()}


def load(folder: Path) -> tuple[TraceHead, list[TraceRequest]]:
    """A frozen trace by its folder. Raises StateError, and InvalidFileError for one that was changed."""
    try:
        head, body = (folder / HEAD).read_bytes(), (folder / BODY).read_bytes()
    except OSError as error:
        raise StateError(
            f"no frozen trace: {error.strerror or error}", where=str(folder), hint="console workload freeze FILE"
        ) from None
    return read_trace(head, body, str(folder))


def find(results: Path | None, name: str) -> Path:
    """The folder of a trace: a path, or a name in the results repository."""
    own = Path(name).expanduser()
    if own.is_dir():
        return own
    if own.name in (HEAD, BODY) and own.is_file():
        return own.parent
    return (results or Path()) / FOLDER / name
