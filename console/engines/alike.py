"""What every engine does alike, over its own table of spellings; each class says only what is its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from console.engines.base import LogLine, Request, Spelling, ValueKind
from console.engines.logtable import most_certain
from console.engines.values import PARSERS, same_value


class Alike:
    """The answers of an engine that has nothing special to say; see `Engine` for what each is."""

    name: str
    spellings: Mapping[str, Spelling]
    parsers: Mapping[ValueKind, Callable[[str], int | float | str]] = PARSERS

    @property
    def tells_window(self) -> bool:
        return True

    def parse_value(self, setting: str, text: str) -> int | float | str:
        """See `Engine.parse_value`; switches are 1 and 0."""
        spelling = self.spellings.get(setting)
        if spelling is None:
            raise ValueError(f"{self.name} has no setting {setting!r}")
        try:
            return self.parsers[spelling.kind](text)
        except ValueError as error:
            raise ValueError(f"{setting}: {error}") from None

    def failure_cause(self, lines: Sequence[LogLine]) -> LogLine | None:
        return most_certain(lines)

    def counters_request(self) -> Request:
        """404 or 501 where the engine was not told to count."""
        return Request("GET", "/metrics")

    def reset_cache(self) -> Request | None:
        return None

    def abort(self, request_id: str) -> Request | None:
        """Only closing the connection stops a request."""
        return None

    def agrees(self, setting: str, given: str, served: str, slots: int = 1) -> bool:
        return same_value(self.parse_value, setting, given, served)


def table(*spellings: Spelling) -> Mapping[str, Spelling]:
    """Spellings by the setting that each is of."""
    return {spelling.setting: spelling for spelling in spellings}


def spelled(setting: str, kind: ValueKind, *flags: str, variable: str = "") -> Spelling:
    """A row of such a table: the first flag is the one we write; `variable` gives the setting, too."""
    return Spelling(setting, flags, kind, (variable,) if variable else ())
