"""git's objects, asked for and made by git processes that stay: to start one for each question takes longest of all.

What `cat-file --batch` answers and `mktree --batch -z` reads: git-cat-file(1), git-mktree(1). A tree's lines are mode,
name and, in bytes, the object's name: gitformat-pack(5).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from console.results.git import Git, Talk

FOLDER = "40000"
_KINDS = {FOLDER: "tree", "160000": "commit"}


@dataclass(frozen=True)
class Entry:
    """One line of a tree; `sha` names the object, in hexadecimal digits."""

    mode: str
    sha: str
    name: bytes

    @property
    def line(self) -> bytes:
        return f"{self.mode} {_KINDS.get(self.mode, 'blob')} {self.sha}\t".encode() + self.name


class Objects:
    """A repository's objects. Every method raises DiedError with git's complaint, or CommitError."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._open = ExitStack()
        self._talks: dict[tuple[str, ...], Talk] = {}

    def close(self) -> None:
        """End the processes; whatever is asked next starts them again."""
        self._talks.clear()
        self._open.close()

    def find(self, name: str) -> str:
        """The object that `HEAD`, `HEAD:folder/file` or the like stands for; empty where there is none."""
        return self._read(name)[0]

    def tree(self, name: str) -> list[Entry] | None:
        """The lines of a tree, or of a commit's; None where there is no such thing, or it cannot be read."""
        sha, content = self._read(name + "^{tree}")
        return list(_entries(content, len(sha) // 2)) if sha else None

    def write_files(self, files: Sequence[str]) -> list[str]:
        """A blob of each file, which is named from the working tree's top, as its attributes want it."""
        talk = self._talk("hash-object", "-w", "--stdin-paths")
        names: list[str] = []
        for file in files:
            talk.ask(f"{file}\n".encode())
            names.append(talk.line().decode())
        return names

    def write_tree(self, entries: Sequence[Entry]) -> str:
        talk = self._talk("mktree", "--batch", "-z")
        talk.ask(b"".join(entry.line + b"\0" for entry in entries) + b"\0")
        return talk.line().decode()

    def _read(self, name: str) -> tuple[str, bytes]:
        """An object's name and content; both empty where there is none."""
        talk = self._talk("cat-file", "--batch")
        talk.ask(f"{name}\n".encode())
        words = talk.line().split(b" ")
        if len(words) != 3 or not words[2].isdigit():
            return "", b""
        return words[0].decode(), talk.exactly(int(words[2]) + 1)[:-1]

    def _talk(self, *words: str) -> Talk:
        talk = self._talks.get(words)
        if talk is None:
            talk = self._talks[words] = self._open.enter_context(self._git.asked(*words))
        return talk


def _entries(content: bytes, digits: int) -> Iterator[Entry]:
    at = 0
    while at < len(content):
        end = content.index(b"\0", at)
        mode, _, name = content[at:end].partition(b" ")
        at = end + 1 + digits
        yield Entry(mode.decode().lstrip("0"), content[end + 1 : at].hex(), name)
