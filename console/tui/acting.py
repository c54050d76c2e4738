"""How every screen does an action: the table is asked first, and what is off says why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from textual.content import Content
from textual.screen import ModalScreen, Screen, ScreenResultType

from console.tui.actions import Situation, action_of, actions_of
from console.tui.keys import KeyMap, key_line
from console.views.cells import pad

if TYPE_CHECKING:
    from console.tui.session import Session

# All else waits until the inventory is read, which the first table does not wait for.
AT_ONCE = frozenset({"quit", "go", "back"})


class ActingScreen(Screen[ScreenResultType]):
    """A screen whose keys come from the table of actions, under its `NAME`."""

    NAME: ClassVar[str] = ""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session

    def situation(self) -> Situation:
        """What the table needs to know to say what is off."""
        return Situation(write=self.session.may_write)

    def reason_off(self, name: str) -> str:
        """Why an action cannot be done now; empty where it can."""
        return action_of(self.NAME, name).off(self.situation())

    async def action_do(self, name: str) -> None:
        """Every key comes through here."""
        if name not in {action.id for action in actions_of(self.NAME)}:
            return
        if name not in AT_ONCE:
            await self.session.known.wait()
        reason = self.reason_off(name)
        if reason:
            self.tell(reason, severity="warning")
            return
        done = getattr(self, f"action_{name}")()
        if done is not None:
            await done

    @property
    def keymap(self) -> KeyMap:
        return self.session.preferences.keys

    def keys_content(self, width: int) -> Content:
        line = key_line(self.NAME, self.situation(), width - 2, self.keymap)
        return Content(self.session.plain(pad(f" {line}", width)))

    def say(self, text: str) -> Content:
        """Text as it may be shown: masked, cleaned, never read as markup."""
        return Content(self.session.safe(text))

    def tell(self, text: str, *, severity: Any = "information", timeout: float = 5.0) -> None:
        """A word at the bottom of the screen; it stays among the messages."""
        self.app.notify(self.session.safe(text), severity=severity, timeout=timeout, markup=False)


BOX = 78


class ActingModal(ModalScreen[ScreenResultType], ActingScreen[ScreenResultType]):
    """The same above another screen."""

    def __init__(self, session: Session) -> None:
        ActingScreen.__init__(self, session)

    @property
    def room(self) -> int:
        """Columns of text in its box."""
        return max(30, min(BOX, self.app.size.width) - 6)
