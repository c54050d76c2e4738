"""The history of the results repository: one row a record, out of the trailers of its commits, as git tells them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from heapq import heappop, heappush
from pathlib import Path
from typing import TYPE_CHECKING

from console.errors import CommitError, StateError, UsageError
from console.results.git import Git
from console.untrusted import decode

if TYPE_CHECKING:
    from console.results.told import Told

# NUL can stand in none of them.
_FIELDS = ("%H", "%ct", "%at", "%s", "%(trailers:only,unfold)")
FORM = "%x00".join(_FIELDS) + "%x00"
# As schema.names has it, which loads pydantic: a test compares them.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_RUN = re.compile(r"^Run-Id: (\S+)", re.MULTILINE)
_TARGET = re.compile(r"^Target: (\S+)", re.MULTILINE)
_FINISHED = re.compile(r"^Finished: (\S+)", re.MULTILINE)
_SPAN = re.compile(r"\d{1,6}[. ](second|minute|hour|day|week|month|year)s?([. ]ago)?")
_WORDS = re.compile(
    r"now|today|yesterday|noon|midnight|last[. ](week|month|year|(mon|tues|wednes|thurs|fri|satur|sun)day)"
)
_TRAILER = re.compile(r"([A-Za-z][A-Za-z-]*): (.*)")


@dataclass(frozen=True)
class Row:
    """One committed record. `ended` and `committed` are seconds since the epoch; `block` is its trailers' text."""

    sha: str
    run: str
    target: str
    committed: int
    ended: float
    subject: str
    block: str

    @cached_property
    def told(self) -> Told:
        """What its trailers tell; read when first asked for, since most rows of a long history are passed over."""
        from console.results.told import read_trailers

        return read_trailers(trailer_pairs(self.block))

    @cached_property
    def lines(self) -> Mapping[str, list[str]]:
        """The lines of its trailers by name, in small letters; what a list shows needs no more reading than that."""
        values: dict[str, list[str]] = {}
        for key, value in trailer_pairs(self.block):
            values.setdefault(key.lower(), []).append(value)
        return values

    def line(self, key: str) -> str:
        """The first line of that name; empty where there is none."""
        return self.lines.get(key, [""])[0]

    @property
    def at(self) -> str:
        """When the run ended, RFC 3339 in UTC; as its record says, else as its commit's author date does."""
        return utc(self.ended)


@dataclass(frozen=True)
class Span:
    """From when to when, seconds since the epoch; None: without end."""

    since: float | None = None
    until: float | None = None

    def holds(self, moment: float) -> bool:
        return (self.since is None or moment >= self.since) and (self.until is None or moment < self.until)


ALWAYS = Span()
SKEW_S = 3600.0  # how far the clocks of two machines may be apart


class History:
    """The records of the repository at `path`. Raises StateError where there is none."""

    def __init__(self, path: Path, environment: Mapping[str, str] = os.environ) -> None:
        self.path = path.expanduser().resolve()
        if not os.path.lexists(self.path / ".git"):
            raise StateError("no results repository here yet", where=str(self.path), hint="the first run makes it")
        self.git = Git(self.path, environment)

    @cached_property
    def is_empty(self) -> bool:
        """Whether it has no commit yet."""
        head = self.git.run("rev-parse", "-q", "--verify", "HEAD")
        if head.ok:
            return False
        unborn = self.git.run("symbolic-ref", "-q", "HEAD")
        if not unborn.ok:
            raise StateError(f"git log: HEAD cannot be read: {head.said or unborn.said}", **self._damaged)
        return True

    def rows(
        self, target: str = "", *, span: Span = ALWAYS, limit: int = 0, patterns: Sequence[str] = ()
    ) -> Iterator[Row]:
        """Records newest first, as they are read; of one target (`host/service` or `host`) where named.

        `patterns` are basic regular expressions that lines of the message must all match, in any case of letters.

        Commits that are no records of ours are passed over. Raises StateError where git cannot read on.
        """
        words = ["log", f"--format={FORM}", *(f"--grep={pattern}" for pattern in patterns)]
        words += ["--all-match", "-i", "--basic-regexp"] if patterns else []
        if span.since is not None and span.since > SKEW_S:
            words.append(f"--since={int(span.since - SKEW_S)}")  # commits come after their run
        if target:
            words += ["--", *pathspec(target)]
        found = 0
        try:
            with closing(self.git.stream(*words)) as pieces:
                for row in _rows(pieces):
                    if span.holds(row.ended) and (not target or of_target(row.target, target)):
                        yield row
                        found += 1
                        if found == limit:
                            return
        except CommitError as error:
            if found or not self.is_empty:  # git calls a branch without a commit an error
                raise StateError(error.message, **self._damaged) from error

    def moment(self, text: str, option: str = "--since") -> float:
        """`30.days` or `12h` ago, `2026-03-01` or a time of that day, `yesterday`; seconds since the epoch.

        Without a zone a time is UTC. git itself makes some time of any text (2026-13-45 is one of November to it), so
        only what has one meaning gets to it. Raises UsageError.
        """
        wrong = UsageError(f"{option} {text!r} is not a time", hint="such as 30.days, 12h, 2026-03-01 or yesterday")
        if re.match(r"\d{4}-", text):
            try:
                found = datetime.fromisoformat(text)
                return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
            except (ValueError, OverflowError):
                raise wrong from None
        if re.fullmatch(r"\d{1,6}[smhdw]", text):  # 12h as everywhere else here; git would read a time of day
            words = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
            text = f"{text[:-1]}.{words[text[-1]]}.ago"
        if not _SPAN.fullmatch(text) and not _WORDS.fullmatch(text):
            raise wrong
        said = self.git.run("rev-parse", f"--since={text}")
        seconds = said.out.strip().removeprefix("--max-age=")
        if not said.ok or not seconds.lstrip("-").isdigit():
            raise UsageError(f"{option} {text!r} is not a time: {said.said}")
        return float(seconds)

    @property
    def _damaged(self) -> dict[str, str]:
        return {"where": str(self.path), "hint": f"git -C {self.path} fsck"}


def as_ended(rows: Iterable[Row]) -> Iterator[Row]:
    """Rows as git gives them, by when their runs ended, the latest first; no more of them are read than that needs.

    A record may be committed, or put on top of others, long after a later one, but never before its run ended: once
    git is at older commits than the latest end that waits, nothing later can come.
    """
    waiting: list[tuple[float, int, Row]] = []
    for number, row in enumerate(rows):
        heappush(waiting, (-row.ended, number, row))
        while waiting and -waiting[0][0] >= row.committed + SKEW_S:
            yield heappop(waiting)[2]
    while waiting:
        yield heappop(waiting)[2]


def pathspec(target: str) -> tuple[str, ...]:
    """The folder of a target's records. Raises StateError for what is no target."""
    parts = target.split("/")
    if len(parts) > 2 or not all(NAME.fullmatch(part) for part in parts):
        raise StateError(f"{target!r} is not a target: host/service or host")
    return (f":(literal){target}/",)


def of_target(name: str, target: str) -> bool:
    """Whether a record's target is the one named, or a service of the host named."""
    return name == target or name.startswith(f"{target}/")


def utc(seconds: float) -> str:
    """`2026-01-02T03:04:05Z`."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def seconds_of(moment: str) -> float | None:
    """An RFC 3339 time as seconds since the epoch; None where it is none."""
    try:
        return datetime.fromisoformat(moment).timestamp()
    except ValueError:
        return None


def _rows(pieces: Iterator[bytes]) -> Iterator[Row]:
    fields: list[str] = []
    for piece in pieces:
        fields.append(decode(piece))
        if len(fields) == len(_FIELDS):
            if (row := _row(fields)) is not None:
                yield row
            fields = []


def _row(fields: list[str]) -> Row | None:
    sha, committed, authored, subject, block = fields
    run, target = _RUN.search(block), _TARGET.search(block)
    if run is None or target is None:
        return None
    finished = _FINISHED.search(block)
    ended = seconds_of(finished[1]) if finished else None
    return Row(
        sha=sha.strip(),
        run=run[1],
        target=target[1],
        committed=int(committed),
        ended=int(authored) if ended is None else ended,
        subject=subject,
        block=block,
    )


def trailer_pairs(block: str) -> Iterator[tuple[str, str]]:
    """Key and value of each line of a commit's trailers."""
    for line in block.splitlines():
        if match := _TRAILER.fullmatch(line):
            yield match[1], match[2].strip()
