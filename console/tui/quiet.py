"""A question that is deaf until the keyboard was silent for a moment: what was typed ahead must not answer it."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.screen import ScreenResultType
from textual.timer import Timer

from console.tui.acting import ActingModal
from console.tui.session import Session

QUIET_S = 0.4


class QuietModal(ActingModal[ScreenResultType]):
    """Its actions, but for `back`, are off until `armed`; each key before that starts the wait again.

    Two bytes in one write would otherwise open a question and answer it.
    """

    NAME: ClassVar[str] = ""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.armed = False
        self._waiting: Timer | None = None

    def on_mount(self) -> None:
        self._wait()

    def _wait(self) -> None:
        if self._waiting is not None:
            self._waiting.stop()
        self._waiting = self.set_timer(QUIET_S, self._arm)

    def _arm(self) -> None:
        self.armed = True
        self.on_armed()

    def on_armed(self) -> None:
        """Now a key is meant for this question."""

    def on_key(self, event: events.Key) -> None:
        if not self.armed and event.key != "escape":
            event.stop()
            event.prevent_default()
            self._wait()

    def on_paste(self, event: events.Paste) -> None:
        if not self.armed:
            event.stop()
            event.prevent_default()
            self._wait()

    async def action_do(self, name: str) -> None:
        if self.armed or name == "back":
            await super().action_do(name)
        else:
            self._wait()

    def action_back(self) -> None:
        self.dismiss(None)
