"""Logging in: keys are offered one by one, questions are passed on to a person, and both are remembered."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import asyncssh

from console.remote.answers import Answers, Asked, good_once
from console.remote.keys import Keys, describe
from console.remote.known_hosts import Offered
from console.untrusted import one_line

# (the hop's name, what it asks, whether the answer may be seen) → the answer; None: nobody gives one.
Prompt = Callable[[str, str, bool], Awaitable[str | None]]


@dataclass
class Prompter:
    """A person who answers one question at a time, whichever host asks; what was answered before is given again.

    `followed`: nobody sits here, but somebody follows a run of this process and can be asked through its socket.
    """

    ask: Prompt | None = None
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    kept: Answers = field(default_factory=Answers)
    followed: bool = False

    @property
    def attended(self) -> bool:
        return self.ask is not None

    async def answers(
        self, hop: str, prompts: Sequence[tuple[str, bool]], instructions: str, given: set[Asked]
    ) -> list[str] | None:
        """One answer a prompt; None when nobody can be asked. `given` were answered on this connection already."""
        async with self.turn:
            said: list[str] = []
            for text, echo in prompts:
                answer = await self._answer((hop, one_line(f"{instructions} {text}", 200)), given, echo=echo)
                if answer is None:
                    return None
                said.append(answer)
            return said

    async def _answer(self, asked: Asked, given: set[Asked], *, echo: bool) -> str | None:
        if asked in given:
            self.kept.refused(asked)
        given.add(asked)
        answer = self.kept.take(asked)
        if answer is None and self.ask is not None:
            answer = await self.ask(*asked, echo)
            if answer is not None and not good_once(asked):
                self.kept.give(asked, answer)
        if answer is None:
            self.kept.miss(asked, echo=echo)
        return answer


class Client(asyncssh.SSHClient):
    """Offers our keys, answers questions through a person, and remembers what was tried and what the server showed."""

    def __init__(self, keys: Keys, lost: asyncio.Event, hop: str = "", prompter: Prompter | None = None) -> None:
        self._keys = list(keys.pairs)
        self.tried: list[str] = []
        self.pairs: list[asyncssh.SSHKeyPair] = []
        self.offered: Offered | None = None
        self.authenticated = False
        self.asked = ""  # what it wanted to know, where nobody answered
        self.asking = ""  # what it waits to be told, or waited for until it was given up
        self.patience: Callable[[bool], None] = lambda _asking: None  # told when a person is asked, and has answered
        self.answered = False
        self.given: set[Asked] = set()
        self._lost = lost
        self._hop = hop
        self._prompter = prompter or Prompter()

    def public_key_auth_requested(self) -> asyncssh.SSHKeyPair | None:
        if not self._keys:
            return None
        pair = self._keys.pop(0)
        self.pairs.append(pair)
        self.tried.append(describe(pair))
        return pair

    def kbdint_auth_requested(self) -> str | None:
        return "" if not self.asked else None

    async def kbdint_challenge_received(
        self, name: str, instructions: str, lang: str, prompts: Sequence[tuple[str, bool]]
    ) -> Sequence[str] | None:
        if not prompts:
            return []
        self.asking = one_line(prompts[0][0], 80) or "a question"
        self.patience(True)
        said = await self._prompter.answers(self._hop, prompts, instructions or name, self.given)
        self.patience(False)
        if said is None:
            self.asked = self.asking
        else:
            self.answered = True
        self.asking = ""
        return said

    def validate_host_public_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:
        self.offered = Offered(key, host, addr, port)
        return False

    def validate_host_ca_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:
        self.offered = Offered(key, host, addr, port, authority=True)
        return False

    def auth_completed(self) -> None:
        self.authenticated = True

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost.set()
