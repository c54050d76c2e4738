"""What a `:` command means here: an action of the screen, something to read, or a plan to look at first."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from console.errors import UsageError
from console.tui.actions import actions_of
from console.tui.said import READS, READS_BELOW, only_reads

BELOW = {
    "history": ("list", "show", "compare", "blame", "drift", "trend", "audit", "report"),
    "hosts": ("list",),
    "workload": ("profile",),
    "measure": ("decode", "sweep", "load", "replay", "baseline"),
}
Kind = Literal["nothing", "action", "read", "plan", "again", "follow", "measure", "quit"]


@dataclass(frozen=True)
class Meaning:
    """What to do, and with which words."""

    kind: Kind
    words: tuple[str, ...] = ()
    given: Mapping[str, str] = field(default_factory=dict)


def meaning(typed: str, screen: str) -> Meaning:
    """Raises UsageError for what is no command, or one that has no place on a screen."""
    try:
        words = shlex.split(typed)
    except ValueError as error:
        raise UsageError(f"{typed!r}: {error}") from None
    words = words[1:] if words[:1] == ["console"] else words
    if not words:
        return Meaning("nothing")
    if words in (["q"], ["quit"]):
        return Meaning("quit")
    if len(words) == 1 and words[0] in {action.id for action in actions_of(screen)}:
        return Meaning("action", (words[0],))
    verb, *rest = words
    if verb in ("run", "plan") and "--plan" not in rest and "--out" not in rest:
        return _plan(rest)
    if verb in ("resume", "rollback") and len(rest) == 1:
        return Meaning("again", (verb, rest[0]))
    if verb == "attach" and len(rest) == 1:
        return Meaning("follow", (rest[0],))
    if verb in ("measure", "capacity", "diagnose"):
        return Meaning("measure", tuple(words))
    if only_reads(words):
        return Meaning("read", tuple(words))
    raise UsageError(
        f"{verb!r} cannot be done from here",
        hint=f"in a shell: console {shlex.join(words)}; or Esc, then ? for the keys",
    )


def _plan(rest: Sequence[str]) -> Meaning:
    """`RUNBOOK TARGET… [--set k=v]`: shown as a plan, whatever the verb."""
    names: list[str] = []
    given: dict[str, str] = {}
    words = iter(rest)
    for word in words:
        if word == "--set":
            name, equals, value = next(words, "").partition("=")
            if not equals:
                raise UsageError("--set needs name=value")
            given[name] = value
        elif word.startswith("-"):
            raise UsageError(
                f"{word} cannot be given here", hint="run it in a shell, or choose it on the plan's screen"
            )
        else:
            names.append(word)
    if len(names) < 2:
        raise UsageError("RUNBOOK and TARGET are needed", hint="run extend_context.toml gpu1/k26 --set to=200000")
    return Meaning("plan", tuple(names), given)


def completions(
    screen: str, verbs: Iterable[str], targets: Sequence[str], runs: Sequence[str], runbooks: Sequence[str]
) -> list[str]:
    """Everything that can be typed whole, the short first."""
    said = [action.id for action in actions_of(screen)]
    known = set(verbs) | {"quit"}
    for verb in sorted(known):
        below = [f"{verb} {word}" for word in BELOW.get(verb, ())] or [verb]
        for text in below:
            if verb in ("facts", "capacity", "diagnose", "measure") or text == "history blame":
                said += [text, *(f"{text} {name}" for name in targets)]
            elif verb in ("resume", "rollback", "attach") or text in ("history show", "history report"):
                said += [f"{text} {name}" for name in runs]
            elif verb in ("run", "plan"):
                said += [f"{text} {book} {name}" for book in runbooks for name in targets]
            elif verb in READS or verb in READS_BELOW or verb == "quit":
                said.append(text)
    return list(dict.fromkeys(said))
