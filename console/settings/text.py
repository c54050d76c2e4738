"""Text with an origin for every byte: where it is written, or why nobody but the host can say what stands there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class Origin:
    """Bytes `start` to `end` of a file."""

    path: str
    start: int
    end: int


@dataclass(frozen=True)
class Doubt:
    """What only systemd, a shell or an unread file could fill in: a sentence, and the place to look at."""

    reason: str
    where: str = ""
    hint: str = ""
    default_of: str = ""  # a variable of the environment that nothing sets, so that a script's own default counts


# Stands for what is not known; no file that is read holds it.
UNKNOWN = b"\0"


@dataclass(frozen=True)
class Text:
    """`origins[i]` belongs to byte i. `empty`: where an empty value would be written."""

    octets: bytes = b""
    origins: tuple[Origin | Doubt, ...] = ()
    empty: Origin | None = None

    def __add__(self, other: Text) -> Text:
        return Text(self.octets + other.octets, self.origins + other.origins)

    def __getitem__(self, part: slice) -> Text:
        return Text(self.octets[part], self.origins[part])

    def __str__(self) -> str:
        return self.octets.replace(UNKNOWN, "…".encode()).decode("utf-8", "backslashreplace")

    @property
    def doubt(self) -> Doubt | None:
        return next((each for each in self.origins if isinstance(each, Doubt)), None)

    @property
    def written(self) -> Origin | None:
        """The one run of bytes that it is written with; None where that is none, or in several files."""
        places = [each for each in self.origins if isinstance(each, Origin)]
        if not places:
            return self.empty
        if len(places) < len(self.origins) or any(each.path != places[0].path for each in places):
            return None
        if any(one.end > other.start for one, other in pairwise(places)):
            return None
        return Origin(places[0].path, places[0].start, places[-1].end)

    def fields(self) -> Iterator[Text]:
        """The text split at blanks, as a shell splits what it has expanded."""
        begun: int | None = None
        for index, octet in enumerate(self.octets):
            if octet in b" \t\n":
                if begun is not None:
                    yield self[begun:index]
                begun = None
            elif begun is None:
                begun = index
        if begun is not None:
            yield self[begun:]


def plain(octets: bytes, path: str, spans: Iterable[tuple[int, int]]) -> Text:
    return Text(octets, tuple(Origin(path, start, end) for start, end in spans))


def unknown(reason: str, where: str = "", *, default_of: str = "") -> Text:
    return Text(UNKNOWN, (Doubt(reason, where, default_of=default_of),))


@dataclass(frozen=True)
class Token:
    """One word of a command line as the program gets it; `path`, `start`, `end`: the word as it is written there."""

    value: Text
    path: str
    start: int
    end: int

    @property
    def text(self) -> str:
        return str(self.value)
