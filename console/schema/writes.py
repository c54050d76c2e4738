"""Each file that changes write, with all that is written into it: a run may write one file more than once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from console.schema.change import Change, FileChange


@dataclass(frozen=True)
class Writes:
    """The changes of one file, in their order; digests as in FileChange."""

    path: str  # where it really lies
    changes: tuple[FileChange, ...]

    @property
    def before(self) -> str:
        return self.changes[0].sha256_before

    @property
    def between(self) -> tuple[str, ...]:
        """What the file is for a while, where it is written more than once."""
        return tuple(change.sha256_after for change in self.changes[:-1])

    @property
    def after(self) -> str:
        return self.changes[-1].sha256_after

    def made(self, digest: str) -> int | None:
        """How many of the changes a file of this digest shows; None: it is somebody else's."""
        states = (self.before, *self.between, self.after)
        return states.index(digest) if digest in states else None


def written(changes: Iterable[Change], node: str = "") -> dict[str, Writes]:
    """Path → what is written there, in the order of the first writes; on one host, see FileChange.node."""
    found: dict[str, list[FileChange]] = {}
    for change in changes:
        if isinstance(change, FileChange) and change.node == node:
            found.setdefault(change.real_path, []).append(change)
    return {path: Writes(path, tuple(each)) for path, each in found.items()}
