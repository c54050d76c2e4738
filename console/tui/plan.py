"""The plan of one target or several, read only; from here a run is started, after its question is answered."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from rich.text import Text
from textual.binding import BindingType
from textual.widget import Widget
from textual.widgets import Static

from console.clock import SystemClock, stamp
from console.errors import ConsoleError, InternalError, PendingChangesError
from console.planning.groups import Groups
from console.planning.preview import Preview
from console.planning.saved import save_plan
from console.schema.hosts import Target
from console.schema.plan import Plan
from console.schema.runbook import Runbook, Value
from console.tui.actions import Situation
from console.tui.confirm import ConfirmScreen, question_of
from console.tui.frame import FrameScreen
from console.tui.keys import bindings
from console.tui.scroll import Scroll
from console.tui.session import Session
from console.tui.start import Wish, command_line
from console.tui.workers import work
from console.views.cells import wrap
from console.views.plan import plan_text


class PlanScreen(FrameScreen):
    """What a run would do, and what it would be refused for. What is confirmed is these plans and no others."""

    NAME: ClassVar[str] = "plan"
    MODE: ClassVar[str] = "fleet"
    BINDINGS: ClassVar[list[BindingType]] = bindings("plan")

    def __init__(
        self,
        session: Session,
        targets: Sequence[Target],
        runbook: Runbook,
        values: Mapping[str, Value],
        given: Mapping[str, str],
    ) -> None:
        super().__init__(session)
        self.targets = tuple(targets)
        self.runbook = runbook
        self.values = values
        self.given = given
        self.previews: tuple[Preview, ...] = ()
        self.accept_pending = False

    def body(self) -> Iterable[Widget]:
        with Scroll(id="plan"):
            yield Static(id="text")
        yield Static(id="command")

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one("#plan").focus()
        self.action_again()

    def on_resize(self) -> None:
        super().on_resize()
        self._show()

    def situation(self) -> Situation:
        return replace(super().situation(), target=self.targets[0].name, plan=self.standing())

    def standing(self) -> str:
        """reading, refused, pending, accepted or ready; of several plans the worst."""
        if not self.previews:
            return "reading"
        errors = [preview.error for preview in self.previews if preview.error is not None or preview.plan is None]
        if any(not isinstance(error, PendingChangesError) for error in errors):
            return "refused"
        if errors:
            return "pending"
        return "accepted" if self.accept_pending else "ready"

    @property
    def plans(self) -> tuple[Plan, ...]:
        return tuple(preview.plan for preview in self.previews if preview.plan is not None and preview.error is None)

    # -- what can be done here --------------------------------------------------------------------------------------

    def action_again(self) -> None:
        self.previews = ()
        self._show()
        work(self, self._plan, "plan")

    def action_accept(self) -> None:
        self.accept_pending = not self.accept_pending
        self.action_again()

    def action_save(self) -> None:
        path = self.session.base.parent / f"plan-{self.runbook.name}-{self.targets[0].host_name}.json"
        plan_id = stamp(SystemClock().now())
        try:
            save_plan(path, self.runbook, self.session.inventory, list(self.plans), plan_id, self.session.redactor)
        except (ConsoleError, OSError) as error:
            self.tell(str(error), severity="error")
            return
        self.tell(f"kept: console run --plan {path}", timeout=10)

    def action_carry_out(self) -> None:
        plans = self.plans
        self.app.push_screen(
            ConfirmScreen(self.session, question_of(plans, self.same_command())),
            lambda why: self._confirmed(plans, why),
        )

    def _confirmed(self, plans: tuple[Plan, ...], reason: str | None) -> None:
        if reason is None:
            return
        wish = Wish(self.runbook, self.session.inventory, plans, reason, self.accept_pending)
        try:
            started = self.session.world.start(wish)
        except ConsoleError as error:
            self.tell(str(error), severity="error", timeout=10)
            return
        self.console_app.ways.follow(started)

    def same_command(self) -> str:
        names = [target.name for target in self.targets]
        return command_line(self.runbook, names, self.given, accept_pending=self.accept_pending)

    def whole_text(self) -> str:
        return self._text(max(80, self.room)).plain

    # -- planning ---------------------------------------------------------------------------------------------------

    async def _plan(self) -> None:
        names = {target.name for target in self.targets}
        groups = Groups(self.session.inventory, names, self.session.looks.glance)
        found = await asyncio.gather(*(self._preview(target, groups) for target in self.targets))
        self.previews = tuple(found)
        self._show()

    async def _preview(self, target: Target, groups: Groups) -> Preview:
        looks = self.session.looks
        try:
            return await looks.preview(
                self.runbook, target, self.values, accept_pending=self.accept_pending, groups=groups
            )
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - said on the screen; the app goes on
            wrong = InternalError(f"{type(error).__name__}: {error}", where=target.name)
            return Preview(target, error=wrong)

    # -- showing ----------------------------------------------------------------------------------------------------

    def _show(self) -> None:
        if not self.ready:
            return
        self.query_one("#text", Static).update(self._text(self.room))
        self.query_one("#command", Static).update(self.say(f"without this UI: {self.same_command()}"))
        more = f" and {len(self.targets) - 1} more" if len(self.targets) > 1 else ""
        self.show_title(f"Plan of {self.runbook.name} for {self.targets[0].name}{more}", self._word())
        self.show_keys()

    def _word(self) -> str:
        standing = self.standing()
        if standing == "reading":
            return "reading…"
        if standing in ("refused", "pending"):
            return "REFUSED"
        return "nothing to do" if all(plan.nothing_to_do for plan in self.plans) else "ready"

    def _text(self, width: int) -> Text:
        """The refusals and the plans. The escapes in it are the view's own: it shows those of a host as text."""
        names = ", ".join(target.name for target in self.targets)
        if not self.previews:
            return Text(self.session.safe(f"reading {names} and planning; nothing is touched"))
        text = Text()
        for number, preview in enumerate(self.previews):
            if number:
                text.append("\n\n" + "=" * min(width, 60) + "\n")
            if preview.error is not None:
                for line in self.session.safe(f"REFUSED: {preview.error}").splitlines():
                    text.append("\n".join(wrap(line, width, rest="    ")) + "\n", style="bold")
                text.append("\n")
            if preview.plan is not None:
                shown = plan_text(preview.plan, preview.facts, width, color=self.session.colour)
                text.append_text(Text.from_ansi(self.session.plain(self.session.redactor.text(shown))))
        return text
