"""What hosts ask at login and for sudo, and what a person answered: in memory, and handed on through a pipe only."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from console.errors import UsageError

# What a pipe takes at once without a reader: answers are written before their reader runs.
PIPE_BYTES = 64 * 1024

# The commands that can be handed answers: those that `--ask-sudo` can be said to.
TAKE = frozenset(
    {"run", "resume", "rollback", "takeover", "measure", "capacity", "diagnose", "plan", "facts", "doctor"}
)

Asked = tuple[str, str]  # (the hop's name, what it asks)

# Compiled when somebody is asked: the first table does not wait for it.
_ONCE = r"\b(one[- ]?time|t?otp|codes?|passcodes?|tokens?|yubikey|authenticator|verification|second factor|2fa|mfa)\b"


def good_once(asked: Asked) -> bool:
    """Whether an answer to it is worth nothing a second time: offered again, it counts as a wrong one."""
    return re.search(_ONCE, asked[1], re.IGNORECASE) is not None


@dataclass
class Answers:
    """`logins` are given again where the same hop asks the same; `missing` was asked while nobody could answer.

    An answer that was refused is forgotten: asked again and again with it, a host would lock the account. A one-time
    code is kept until it is used, and never handed on.
    """

    sudo: str = field(default="", repr=False)
    logins: dict[Asked, str] = field(default_factory=dict, repr=False)
    missing: dict[Asked, bool] = field(default_factory=dict)  # whether the answer may be seen

    def take(self, asked: Asked) -> str | None:
        """What was answered before."""
        return self.logins.pop(asked, None) if good_once(asked) else self.logins.get(asked)

    def give(self, asked: Asked, answer: str) -> None:
        self.logins[asked] = answer
        self.missing.pop(asked, None)

    def miss(self, asked: Asked, *, echo: bool) -> None:
        self.missing[asked] = echo

    def refused(self, asked: Asked) -> None:
        if self.logins.pop(asked, None) is not None:
            self.missing[asked] = False

    def pipe(self) -> int:
        """The reading end of a pipe that holds them all, for a child to inherit; nothing else ever does.

        Raises UsageError for more than a pipe takes.
        """
        kept = [[*asked, said] for asked, said in self.logins.items() if not good_once(asked)]
        told = {"sudo": self.sudo, "logins": kept}
        data = json.dumps(told).encode()
        if len(data) > PIPE_BYTES:
            raise UsageError("the answers for logins are longer than a pipe takes")
        reading, writing = os.pipe()
        try:
            os.write(writing, data)
        except OSError:
            os.close(reading)
            raise
        finally:
            os.close(writing)
        return reading


def answers_for(
    words: Sequence[str], answers: Answers | None, *, followed: bool = False
) -> tuple[tuple[int, ...], list[str]]:
    """What a child `console WORDS` inherits, and the words that tell it so; nothing where there is nothing to hand on.

    `followed`: whoever starts it sees what it asks, so it gets a pipe in any case. The one who starts it closes what it
    inherits.
    """
    verb = words[2] if len(words) > 2 and words[0] == "--hosts" else next(iter(words), "")
    if answers is None or verb not in TAKE or not (followed or answers.sudo or answers.logins):
        return (), []
    descriptor = answers.pipe()
    return (descriptor,), ["--answers-fd", str(descriptor)]


def read_pipe(descriptor: int) -> Answers:
    """What a parent handed on; the pipe is closed. Raises UsageError where there is none."""
    try:
        with os.fdopen(descriptor, "rb") as pipe:
            told = json.loads(pipe.read(PIPE_BYTES + 1))
        return Answers(told["sudo"], {(hop, text): said for hop, text, said in told["logins"]})
    except (OSError, ValueError, LookupError, TypeError) as error:
        # Not the error's own words: they may quote what was read.
        raise UsageError(f"--answers-fd {descriptor}: no answers can be read there ({type(error).__name__})") from None
