"""The error tree as its page shows it is the tree as it is."""

from __future__ import annotations

import inspect
import re

import pytest

from console import errors
from console.errors import ConsoleError

WORDS: dict[bool | None, str] = {False: "no", True: "yes", None: "unknown"}


def classes() -> dict[str, type[ConsoleError]]:
    return {
        name: each for name, each in vars(errors).items() if inspect.isclass(each) and issubclass(each, ConsoleError)
    }


def drawn() -> dict[str, tuple[str, int, str]]:
    """Each class of the docstring's tree with the one it hangs under, its exit code and what it says of changes."""
    found: dict[str, tuple[str, int, str]] = {}
    above: list[tuple[int, str]] = [(0, "ConsoleError")]
    for line in inspect.getdoc(errors).splitlines():  # type: ignore[union-attr]
        match = re.match(r"^([ │├└─]*)(\w+Error)\s+(\d+)\s+(no|yes|unknown)\b", line)
        if match is None:
            continue
        depth = len(match[1])
        above = [(indent, name) for indent, name in above if indent < depth]
        found[match[2]] = (above[-1][1], int(match[3]), match[4])
        above.append((depth, match[2]))
    return found


def test_every_class_is_drawn_and_no_other() -> None:
    assert drawn().keys() == classes().keys() - {"ConsoleError"}


@pytest.mark.parametrize("name", sorted(classes().keys() - {"ConsoleError"}))
def test_a_class_hangs_where_it_is_drawn(name: str) -> None:
    parent, code, changed = drawn()[name]
    each = classes()[name]
    assert [base.__name__ for base in each.__bases__] == [parent]
    assert (each.exit_code, WORDS[each.changed]) == (code, changed)


def test_what_an_error_says() -> None:
    error = errors.LockHeldError("held by R1", where="node7/chat", hint="wait")
    assert str(error) == "node7/chat: held by R1\n  next: wait"
    assert (error.message, error.kind) == ("held by R1", "LockHeld")
    assert str(errors.RefusedError("no")) == "no"
