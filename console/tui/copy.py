"""Taking text away: to the clipboard through the terminal, to tmux, and to a file, because the first may not work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static

from console.tui.acting import ActingModal
from console.tui.keys import bindings
from console.tui.session import Session
from console.views.cells import cut

# OSC 52 beyond this is dropped by many terminals.
CLIPBOARD_BYTES = 74_000


@dataclass(frozen=True)
class Copyable:
    """What a screen offers."""

    name: str = ""
    command: str = ""
    row: str = ""
    markdown: str = ""


class CopyScreen(ActingModal[str]):
    """Dismissed with what was done, in words."""

    NAME: ClassVar[str] = "copy"
    BINDINGS: ClassVar[list[BindingType]] = bindings("copy")

    def __init__(self, session: Session, offered: Copyable) -> None:
        super().__init__(session)
        self.offered = offered

    def compose(self) -> ComposeResult:
        lines = []
        for key, title, text in (
            ("n", "name", self.offered.name),
            ("c", "command", self.offered.command),
            ("r", "row", self.offered.row),
            ("m", "Markdown", self.offered.markdown),
        ):
            head = text.strip().splitlines()[0] if text.strip() else "nothing here"
            lines.append(f"{key}  {title:<9} {cut(head, 56)}")
        with VerticalScroll(id="box", can_focus=False):
            yield Static(self.say("\n".join(["Copy to the clipboard and to a file:", "", *lines])))
        yield Static(self.keys_content(self.app.size.width), id="keys")

    def action_name(self) -> None:
        self._take(self.offered.name)

    def action_command_text(self) -> None:
        self._take(self.offered.command)

    def action_row_text(self) -> None:
        self._take(self.offered.row)

    def action_markdown(self) -> None:
        self._take(self.offered.markdown)

    def action_back(self) -> None:
        self.dismiss("")

    def _take(self, text: str) -> None:
        self.dismiss(copy_text(self.app, self.session, text))


def copy_text(app: App[Any], session: Session, text: str) -> str:
    """Copy it by every way there is; what was done, and what may not have worked."""
    if not text.strip():
        return "there is nothing to copy here"
    masked = session.safe(text)
    size = len(masked.encode())
    said = []
    from console.runs.directory import private_folder

    path = session.base.parent / "copied.txt"
    try:
        private_folder(path.parent)
        path.write_text(masked + "\n", encoding="utf-8")
        said.append(f"in {path}")
    except OSError as error:
        said.append(f"not in a file: {error.strerror or error}")
    if session.environment.get("TMUX") and _to_tmux(masked):
        said.append("in tmux's buffer (prefix ])")
    if session.environment.get("TERM_PROGRAM") == "Apple_Terminal":
        said.append("not in the clipboard: this terminal does not take it")
    elif size > CLIPBOARD_BYTES:
        said.append(f"not in the clipboard: {size} bytes are too many for most terminals")
    else:
        app.copy_to_clipboard(masked)
        said.append("sent to the terminal's clipboard (OSC 52; a terminal may ignore it)")
    first = cut(masked.strip().splitlines()[0], 50)
    return f"{first}: {'; '.join(said)}"


def _to_tmux(text: str) -> bool:
    import subprocess

    words = ["tmux", "load-buffer", "-w", "-"]
    try:
        done = subprocess.run(words, input=text.encode(), capture_output=True, timeout=2, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
