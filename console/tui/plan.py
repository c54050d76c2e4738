"""The plan of one target, read only; from here a run is started, after its question is answered."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import ClassVar

from rich.text import Text
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.widget import Widget
from textual.widgets import Static

from console.errors import ConsoleError, InternalError, PendingChangesError
from console.planning.preview import Preview
from console.schema.hosts import Target
from console.schema.runbook import Runbook, Value
from console.tui.actions import bindings
from console.tui.confirm import ConfirmScreen
from console.tui.frame import FrameScreen
from console.tui.run import RunScreen
from console.tui.session import Session
from console.tui.start import Wish, command_line
from console.views.cells import wrap
from console.views.plan import plan_text


class PlanScreen(FrameScreen):
    """What a run would do, and what it would be refused for. What is confirmed is this plan and no other."""

    NAME: ClassVar[str] = "plan"
    BINDINGS: ClassVar[list[BindingType]] = bindings("plan")

    def __init__(
        self,
        session: Session,
        target: Target,
        runbook: Runbook,
        values: Mapping[str, Value],
        given: Mapping[str, str],
    ) -> None:
        super().__init__(session)
        self.target = target
        self.runbook = runbook
        self.values = values
        self.given = given
        self.preview: Preview | None = None
        self.accept_pending = False

    def body(self) -> Iterable[Widget]:
        with VerticalScroll(id="plan"):
            yield Static(id="text")
        yield Static(id="command")

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one("#plan").focus()
        self.action_refresh()

    def on_resize(self) -> None:
        super().on_resize()
        self._show()

    def off(self) -> set[str]:
        refusal = self.preview.error if self.preview else None
        off = set() if self._can_run() else {"carry_out"}
        return off if isinstance(refusal, PendingChangesError) or self.accept_pending else off | {"accept"}

    # -- what can be done here --------------------------------------------------------------------------------------

    def action_refresh(self) -> None:
        self.preview = None
        self._show()
        self.run_worker(self._plan(), group="plan", exclusive=True, exit_on_error=False)

    def action_accept(self) -> None:
        if "accept" in self.off():
            self.app.notify("nothing of others is pending on this host", markup=False)
            return
        self.accept_pending = not self.accept_pending
        self.action_refresh()

    def action_carry_out(self) -> None:
        plan = self.preview.plan if self.preview else None
        if plan is None or not self._can_run():
            self.app.notify(self._why_not(), severity="warning", markup=False)
            return
        command = command_line(self.runbook, self.target.name, self.given, accept_pending=self.accept_pending)
        self.app.push_screen(ConfirmScreen(self.session, plan, command), self._confirmed)

    def _confirmed(self, reason: str | None) -> None:
        plan = self.preview.plan if self.preview else None
        if reason is None or plan is None:
            return
        wish = Wish(self.runbook, self.session.inventory, plan, reason, self.accept_pending)
        try:
            started = self.session.start(wish)
        except ConsoleError as error:
            self.app.notify(self.session.safe(str(error)), severity="error", timeout=10, markup=False)
            return
        self.session.started.append(started)
        while len(self.app.screen_stack) > 1:
            self.app.pop_screen()
        self.app.push_screen(RunScreen(self.session, started=started))

    # -- planning ---------------------------------------------------------------------------------------------------

    async def _plan(self) -> None:
        looks = self.session.looks
        try:
            self.preview = await looks.preview(
                self.runbook, self.target, self.values, accept_pending=self.accept_pending
            )
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - said on the screen; the app goes on
            wrong = InternalError(f"{type(error).__name__}: {error}", where=self.target.name)
            self.preview = Preview(self.target, error=wrong)
        self._show()

    def _can_run(self) -> bool:
        return self.preview is not None and self.preview.plan is not None and self.preview.error is None

    def _why_not(self) -> str:
        if self.preview is None:
            return "the plan is not made yet"
        return "this plan is refused: see the top of the screen"

    # -- showing ----------------------------------------------------------------------------------------------------

    def _show(self) -> None:
        if not self.is_mounted:
            return
        self.query_one("#text", Static).update(self._text(self.room))
        command = command_line(self.runbook, self.target.name, self.given, accept_pending=self.accept_pending)
        self.query_one("#command", Static).update(self.say(f"without this UI: {command}"))
        self.show_title(f"Plan of {self.runbook.name} for {self.target.name}", self._standing())
        self.show_keys()

    def _standing(self) -> str:
        if self.preview is None:
            return "reading…"
        if self.preview.error is not None:
            return "REFUSED"
        return "nothing to do" if self.preview.plan and self.preview.plan.nothing_to_do else "ready"

    def _text(self, width: int) -> Text:
        """The refusal and the plan. The escapes in it are the view's own: it shows those of a host as text."""
        if self.preview is None:
            return Text(f"reading {self.target.name} and planning; nothing is touched")
        text = Text()
        if self.preview.error is not None:
            for line in self.session.safe(f"REFUSED: {self.preview.error}").splitlines():
                text.append("\n".join(wrap(line, width, rest="    ")) + "\n", style="bold")
            text.append("\n")
        if self.preview.plan is not None:
            shown = plan_text(self.preview.plan, self.preview.facts, width, color=True)
            text.append_text(Text.from_ansi(self.session.redactor.text(shown)))
        return text
