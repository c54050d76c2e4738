"""What a fragment and its drop-ins say together: which assignment of which file is in force."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

from console.units.commands import Command, Complaint, ExecLine, parse_exec
from console.units.text import Statement, UnitText

EXEC_KEYS = frozenset(
    {"ExecCondition", "ExecStartPre", "ExecStart", "ExecStartPost", "ExecReload", "ExecStop", "ExecStopPost"}
)


@dataclass(frozen=True)
class UnitSource:
    """One file that decides the unit, as it lies on disk."""

    path: str
    content: bytes

    @cached_property
    def text(self) -> UnitText:
        return _read(self.content)

    @cached_property
    def bad_exec(self) -> tuple[Statement, Complaint] | None:
        """The first Exec line systemd cannot accept: a fragment does not load then, a drop-in loses its rest."""
        for each in self.text.statements:
            if each.kind == "assignment" and each.section == "Service" and each.key in EXEC_KEYS:
                for complaint in parse_exec(each.value).complaints:
                    if complaint.fatal:
                        return each, complaint
        return None

    @property
    def assignments(self) -> Iterator[Statement]:
        """Those systemd reads, up to an Exec line it cannot accept."""
        for each in self.text.statements:
            if self.bad_exec is not None and each is self.bad_exec[0]:
                return
            if each.kind == "assignment":
                yield each


@lru_cache(maxsize=64)
def _read(content: bytes) -> UnitText:
    """Plan, ledger, proof and undo each ask for the unit anew, and in a fleet for the same bytes."""
    return UnitText.parse(content)


@dataclass(frozen=True)
class Assignment:
    """`Key=value` and where it stands; `line` is the first line of a continued one."""

    section: str
    key: str
    value: str
    path: str
    line: int
    statement: Statement = field(repr=False)

    @property
    def where(self) -> str:
        return f"{self.path}:{self.line}"


@dataclass(frozen=True)
class EffectiveUnit:
    """A unit from its fragment and drop-ins, in the order systemd lists them (FragmentPath, DropInPaths).

    `files` holds what else was read: path → content of environment files, wrappers and files of options; `missing`
    what was looked for and is not there. `source_path` is SourcePath, the file a generator made the unit from.
    `resolved` says what systemd made of a path with specifiers, `edited` which files have other bytes than on disk.
    `links`: path → where it leads, of files that are links. `covered`: files that a drop-in may stand before, so that
    a look for a setting does not end at them.
    """

    name: str
    sources: tuple[UnitSource, ...]
    source_path: str = ""
    files: Mapping[str, bytes] = field(default_factory=dict)
    missing: frozenset[str] = frozenset()
    resolved: Mapping[str, str] = field(default_factory=dict)
    working_directory: str = ""
    edited: frozenset[str] = frozenset()
    links: Mapping[str, str] = field(default_factory=dict)
    covered: frozenset[str] = frozenset()

    def with_drop_in(self, path: str, content: bytes) -> EffectiveUnit:
        """The unit as it would be with one more drop-in, or with other bytes in one it has.

        systemd reads them by file name, whatever folder each is in (systemd.unit(5)).
        """
        if any(source.path == path for source in self.sources):
            return self.with_content(path, content)
        name = path.rpartition("/")[2]
        at = next(
            (n for n, each in enumerate(self.sources) if n > 0 and each.path.rpartition("/")[2] > name),
            len(self.sources),
        )
        sources = (*self.sources[:at], UnitSource(path, content), *self.sources[at:])
        return replace(self, sources=sources, edited=self.edited | {path})

    def with_content(self, path: str, content: bytes) -> EffectiveUnit:
        """The unit as it would be with other bytes in one of its files. Raises KeyError for a file it does not have."""
        if path not in {source.path for source in self.sources}:
            if path not in self.files:
                raise KeyError(path)
            return replace(self, files={**self.files, path: content}, edited=self.edited | {path})
        sources = tuple(UnitSource(path, content) if source.path == path else source for source in self.sources)
        return replace(self, sources=sources, edited=self.edited | {path})

    def source(self, path: str) -> UnitSource:
        """Raises KeyError for a file the unit does not have."""
        for source in self.sources:
            if source.path == path:
                return source
        raise KeyError(path)

    def content(self, path: str) -> bytes:
        """The bytes of any file it has. Raises KeyError for one it does not have."""
        return self.files[path] if path in self.files else self.source(path).content

    @cached_property
    def all_assignments(self) -> tuple[Assignment, ...]:
        """Every assignment systemd reads, file by file, also those that a later one replaces."""
        return tuple(
            Assignment(each.section, each.key, each.text, source.path, each.first_line, each)
            for source in self.sources
            for each in source.assignments
        )

    def assignments(self, section: str, key: str) -> tuple[Assignment, ...]:
        """Those of a key that count: what stands before an empty assignment is gone, wherever that stands."""
        kept: list[Assignment] = []
        for each in self.all_assignments:
            if each.section == section and each.key == key:
                if each.value:
                    kept.append(each)
                else:
                    kept.clear()
        return tuple(kept)

    def last_assignment(self, section: str, key: str) -> Assignment | None:
        found = self.assignments(section, key)
        return found[-1] if found else None

    def last(self, section: str, key: str) -> str | None:
        """The value of a key that has one; None where it is not set (or reset)."""
        found = self.last_assignment(section, key)
        return found.value if found else None

    def exec_lines(self, key: str = "ExecStart") -> tuple[tuple[Assignment, ExecLine], ...]:
        """The assignments of an Exec key that count, parsed."""
        return tuple((each, parse_exec(each.statement.value)) for each in self.assignments("Service", key))

    def commands(self, key: str = "ExecStart") -> tuple[Command, ...]:
        """The commands systemd would run for `key`, in order."""
        return tuple(
            replace(command, path=each.path, line=self.source(each.path).text.line_at(command.program.start))
            for each, parsed in self.exec_lines(key)
            for command in parsed.commands
        )

    def where(self, path: str, offset: int) -> str:
        """`file:line` of a byte in one of the unit's files."""
        return f"{path}:{self.line(path, offset)}"

    def line(self, path: str, offset: int) -> int:
        return (
            self.content(path)[:offset].count(b"\n") + 1
            if path in self.files
            else self.source(path).text.line_at(offset)
        )

    @property
    def service_type(self) -> str:
        """Type= as it takes effect: `simple` where none is set, `oneshot` where there is nothing to start."""
        return self.last("Service", "Type") or ("simple" if self.assignments("Service", "ExecStart") else "oneshot")
