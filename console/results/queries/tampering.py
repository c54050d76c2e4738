"""What makes a history less than proof: records changed after the fact, commits unsigned, branches rewritten."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from console.errors import CommitError
from console.results.history import History, pathspec
from console.untrusted import one_line

_SIGNATURES = {
    "N": "not signed",
    "B": "bad signature",
    "E": "signature cannot be checked",
    "U": "signed, by a key nobody vouches for",
    "X": "signed, signature has expired",
    "Y": "signed, by a key that has expired",
    "R": "signed, by a revoked key",
}
SHAS_AT_ONCE = 500


@dataclass(frozen=True)
class Doubt:
    """Something a reader must know before trusting the table; `sha` is the commit it is about, where it is one."""

    what: str
    sha: str = ""


def doubts(history: History, shas: Sequence[str], target: str = "") -> Iterator[Doubt]:
    """Doubts about the commits listed, and about the history they stand in."""
    yield from _unsigned(history, shas)
    yield from _edited(history, target)
    yield from _rewritten(history)


def _unsigned(history: History, shas: Sequence[str]) -> Iterator[Doubt]:
    seen: dict[str, list[str]] = {}
    for first in range(0, len(shas), SHAS_AT_ONCE):
        chosen = shas[first : first + SHAS_AT_ONCE]
        answer = history.git.run("log", "--no-walk=unsorted", "--format=%H %G?", *chosen, timeout_s=120.0)
        for line in answer.out.splitlines():
            sha, _, state = line.partition(" ")
            if state != "G":
                seen.setdefault(_SIGNATURES.get(state, "not signed"), []).append(sha)
    for what, found in seen.items():
        if len(found) == 1:
            yield Doubt(what, found[0])
        else:
            yield Doubt(f"{what}: {len(found)} of {len(shas)} commits, the newest", found[0])


def _edited(history: History, target: str) -> Iterator[Doubt]:
    """Records are only ever added: a commit that changes or takes away a record.json rewrote what happened."""
    where = pathspec(target) if target else ("*record.json",)
    if history.is_empty:
        return
    words = ("log", "-z", "--diff-filter=MDRT", "--name-status", "--format=%x01%H", "--", *where)
    sha = ""
    try:
        for piece in history.git.stream(*words):
            text = piece.decode("utf-8", "replace").strip("\n")
            if text.startswith("\x01"):
                sha = text[1:41]
            elif text.endswith("record.json"):
                yield Doubt(f"changed or took away {one_line(text, 120)} after it was recorded", sha)
    except CommitError as error:
        yield Doubt(f"git cannot read the whole history: {error.message}")


def _rewritten(history: History) -> Iterator[Doubt]:
    """Forced updates that this clone has seen of its upstream; commits replaced in the branch itself."""
    upstream = history.git.run("rev-parse", "--symbolic-full-name", "@{upstream}")
    if upstream.ok:
        log = history.git.run("reflog", "show", "--format=%H %gs", upstream.out.strip())
        for line in log.out.splitlines():
            if "forced-update" in line:
                yield Doubt("the server's branch was rewritten: a fetch found a forced update", line[:40])
    own = history.git.run("reflog", "show", "--format=%H %gs", "HEAD")
    for line in own.out.splitlines():
        if re.search(r" (?:commit \(amend\)|reset: moving to|filter-branch)", line):
            yield Doubt(f"the branch was rewritten here: {one_line(line[41:], 80)}", line[:40])
