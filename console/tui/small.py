"""What is shown in a terminal that is too small for anything else."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static


class SmallScreen(Screen[None]):
    """Goes by itself when there is room again; q still leaves."""

    def __init__(self, smallest: tuple[int, int]) -> None:
        super().__init__()
        self.smallest = smallest

    def compose(self) -> ComposeResult:
        yield Static(id="small")

    def on_mount(self) -> None:
        self._show()

    def on_resize(self) -> None:
        self._show()

    def _show(self) -> None:
        size = self.app.size
        said = f"too small: {size.width}x{size.height}\nneeds {self.smallest[0]}x{self.smallest[1]}\nor: console facts"
        self.query_one("#small", Static).update(Content(said))

    async def key_q(self) -> None:
        await self.app.action_quit()
