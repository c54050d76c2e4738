"""What every full screen has: where one is, whether writing is on, a title, its body, and the keys that work here."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar, cast

from rich.text import Text
from textual.app import ComposeResult
from textual.content import Content
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Static

from console.tui.acting import ActingScreen
from console.tui.actions import MODES, Situation
from console.tui.copy import Copyable, CopyScreen
from console.tui.help import HelpScreen
from console.tui.messages import MessagesScreen
from console.tui.session import Seen, Session
from console.untrusted import one_line
from console.views.cells import cells, cut, pad

if TYPE_CHECKING:
    from console.schema.hosts import Target
    from console.tui.app import ConsoleApp

TITLES = {"fleet": "Fleet", "runs": "Runs", "measure": "Measure", "history": "History"}
NARROW = 60
# Of the sixteen colours these are too pale on a light ground; read there at 4.5:1 at least (WCAG 2.1, 1.4.3).
IN_LIGHT = {
    "green": "#0b540b",
    "yellow": "#5c4500",
    "bold magenta": "bold #66207a",
    "bold red": "bold #960f0f",
    "bold yellow": "bold #5c4500",
}


class FrameScreen(ActingScreen[None]):
    """A full screen. Text reaches a widget only through `say` and `cell`, which never read markup."""

    MODE: ClassVar[str] = ""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._title: tuple[str, str] = ("console", "")
        self._put: dict[str, Content] = {}
        self._composed = False

    def compose(self) -> ComposeResult:
        yield Static(id="bar")
        yield Static(id="title")
        yield from self.body()
        yield Static(id="keys")

    def body(self) -> Iterable[Widget]:
        """The widgets between title and keys."""
        raise NotImplementedError

    @property
    def console_app(self) -> ConsoleApp:
        return cast("ConsoleApp", self.app)

    def on_mount(self) -> None:
        self.set_interval(1.0, self.show_bar)
        self.refresh_frame()

    def on_resize(self) -> None:
        self.refresh_frame()

    def on_screen_resume(self) -> None:
        self.refresh_frame()

    def refresh_frame(self) -> None:
        self.show_bar()
        self.show_title(*self._title)
        self.show_keys()

    def show_bar(self) -> None:
        """`[RO] 1 Fleet  2 Runs*1  …  14:02Z`: what may be done stands leftmost, so that no terminal cuts it off."""
        if not self.ready:
            return
        width = self.app.size.width
        alive = sum(1 for summary in self.session.found_runs if summary.alive)
        modes = []
        for number, name in enumerate(MODES, start=1):
            title = TITLES[name] if width >= NARROW else TITLES[name][:4]
            more = f"*{alive}" if name == "runs" and alive else ""
            word = f"{number} {title}{more}" if width >= NARROW else f"{number}{title[0]}{more}"
            modes.append(f"[{word}]" if name == self.app.current_mode else f" {word} ")
        left = f" {self.session.badge()} {''.join(modes)}"
        time = f"{self.session.clock.now():%H:%M}Z "
        place = str(self.session.inventory_path or "")
        room = width - cells(left) - cells(time) - 2
        said = one_line(self.session.safe(place))
        where = said if cells(said) <= room else "…" + said[-(room - 1) :] if room > 12 else ""
        text = f"{pad(left, max(0, width - cells(time) - cells(where) - 2))} {where} {time}"
        self.put("#bar", Content(self.session.plain(cut(text, width))))
        self.set_class(self.session.may_write, "-write")

    def show_title(self, left: str, right: str = "") -> None:
        """What this is, and at the right end how it stands."""
        self._title = (left, right)
        if not self.ready:
            return
        width = self.app.size.width
        right_text = cut(one_line(self.session.safe(right)), width // 2)
        room = max(10, width - cells(right_text) - 2)
        text = pad(f" {one_line(self.session.safe(left))}", room) + f" {right_text} "
        self.put("#title", Content(self.session.plain(text)))

    @property
    def ready(self) -> bool:
        """Whether its widgets are there: a screen is told to resume before it is composed."""
        self._composed = self._composed or (self.is_mounted and bool(self.query("#keys")))
        return self._composed and self.is_mounted

    def show_keys(self) -> None:
        if not self.ready:
            return
        self.put("#keys", self.keys_content(self.app.size.width))

    def put(self, where: str, content: Content) -> None:
        """Show it there; what stands there already is not drawn again, which costs a layout of the whole screen."""
        before = self._put.get(where)
        if before is None or before.plain != content.plain:
            self._put[where] = content
            self.query_one(where, Static).update(content, layout=before is None or not self._as_tall(before, content))

    def _as_tall(self, before: Content, content: Content) -> bool:
        """Whether it takes the same lines: then nothing around it has to move."""
        old, new = before.plain.split("\n"), content.plain.split("\n")
        return len(old) == len(new) and all(cells(line) <= self.room for line in (*old, *new))

    @property
    def room(self) -> int:
        """Columns of text in a padded box with its scroll bar."""
        return max(30, self.app.size.width - 3)

    def cell(self, text: str, style: str = "") -> Text:
        """One cell of a table: DataTable would read a str as markup."""
        coloured = style if self.session.colour else ""
        if self.session.preferences.theme == "light":
            coloured = IN_LIGHT.get(coloured, coloured)
        return Text(one_line(self.session.safe(text)), style=coloured, no_wrap=True, overflow="ellipsis")

    def situation(self) -> Situation:
        return Situation(write=self.session.may_write)

    # -- what every screen offers to take away ----------------------------------------------------------------------

    def same_command(self) -> str:
        """The command line that shows or does what is on this screen."""
        return "console"

    def whole_text(self) -> str:
        """What is on this screen, all of it, for a pager or the clipboard."""
        return ""

    def copyable(self) -> Copyable:
        return Copyable(name="", command=self.same_command(), row=self.whole_text(), markdown=self.whole_text())

    def action_copy(self) -> None:
        self.app.push_screen(CopyScreen(self.session, self.copyable()), self._copied)

    def _copied(self, said: str | None) -> None:
        if said:
            self.tell(said, timeout=8)

    def action_copy_command(self) -> None:
        from console.tui.copy import copy_text

        self.tell(copy_text(self.app, self.session, self.same_command()), timeout=8)

    def action_pager(self) -> None:
        text = self.session.safe(self.whole_text())
        words = (self.session.preferences.editor or os.environ.get("PAGER") or "less").split()
        self.suspended(words, text, f"cannot open {words[0]}")

    def suspended(self, words: Sequence[str], text: str | None, wrong: str) -> None:
        """Give the terminal to another program, and take it back when that ends."""
        import subprocess

        given = None if text is None else text.encode()
        environment = dict(self.session.environment) | {"LESSSECURE": "1"}
        self.without_screen(lambda: subprocess.run(list(words), input=given, env=environment, check=False), wrong)

    def without_screen(self, do: Callable[[], object], wrong: str) -> None:
        """Do it on the plain terminal, and come back."""
        from textual.app import SuspendNotSupported

        try:
            with self.app.suspend():
                do()
        except SuspendNotSupported:
            self.tell("this terminal cannot be given to another program", severity="error")
        except OSError as error:
            self.tell(f"{wrong}: {error.strerror or error}", severity="error")

    def log_in(self, target: Target, seen: Seen) -> None:
        """Ask on the plain terminal what a host wanted to know, and look at it again."""
        from console.tui.logins import ask_for

        answered: list[bool] = []
        self.without_screen(lambda: answered.append(ask_for(self.session, target, seen)), "cannot ask")
        if any(answered):
            self.console_app.poller.look(target, whole=True)
        else:
            self.tell("nothing was answered")

    # -- where one can go -------------------------------------------------------------------------------------------

    def action_help(self) -> None:
        self.app.push_screen(HelpScreen(self.session, self.NAME, self.situation()))

    def action_messages(self) -> None:
        self.app.push_screen(MessagesScreen(self.session))

    def action_back(self) -> None:
        self.app.pop_screen()

    def action_write(self) -> None:
        if self.session.may_write:
            self.session.lock()
            self.tell("read-only again")
        else:
            self.session.unlock()
            minutes = round(self.session.preferences.relock_s / 60)
            self.tell(f"writing is on until {minutes} min without a key; W locks it. Every change still asks.")
        self.refresh_frame()

    def action_command(self) -> None:
        self.console_app.ways.command(cast("Screen[None]", self))

    def action_palette(self) -> None:
        self.console_app.ways.palette(cast("Screen[None]", self))

    def action_mode_fleet(self) -> None:
        self.console_app.go_to("fleet")

    def action_mode_runs(self) -> None:
        self.console_app.go_to("runs")

    def action_mode_measure(self) -> None:
        self.console_app.go_to("measure")

    def action_mode_history(self) -> None:
        self.console_app.go_to("history")

    async def action_quit(self) -> None:
        await self.app.action_quit()
