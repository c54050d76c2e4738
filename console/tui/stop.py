"""How to stop a run: leave, roll back, or keep waiting, each with its price."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import Static

from console.errors import StateError
from console.planning import estimates
from console.runs.control import Abort, Extend
from console.runs.socket import send_to_run
from console.runs.state import RunState
from console.runs.target_state import TargetState
from console.schema.plan import Plan
from console.tui.keys import bindings
from console.tui.quiet import QuietModal
from console.tui.scroll import Scroll
from console.tui.session import Session
from console.views.answers import labelled
from console.views.figures import duration
from console.views.standing import standing

WIDTH = 74
Choice = Literal["leave", "rollback"]


class StopScreen(QuietModal[str]):
    """Dismissed with `leave` or `rollback`, or with None: then nothing is sent."""

    NAME: ClassVar[str] = "stop"
    BINDINGS: ClassVar[list[BindingType]] = bindings("stop")

    def __init__(self, session: Session, state: RunState, plan: Plan | None) -> None:
        super().__init__(session)
        self.state = state
        self.plan = plan

    def compose(self) -> ComposeResult:
        with Scroll(id="box", can_focus=False):
            yield Static(id="choices")
        yield Static(self.keys_content(self.app.size.width), id="keys")

    def on_mount(self) -> None:
        super().on_mount()
        self._show()
        self.set_interval(0.5, self._show)

    def _show(self) -> None:
        """Again and again: the run goes on under this question, and the prices with it, until it ends by itself."""
        if self.state.targets and all(target.finished is not None for target in self.state.targets.values()):
            self.dismiss(None)
            return
        ready = "Press l, b or w" if self.armed else "one moment: keys of before do not count"
        said = [ready, "", *stop_lines(self.state, self.plan, self.room)]
        if said != self._said:
            # A box of another height is a layout and a frame of everything, also of the run under it.
            taller = len(said) != len(self._said)
            self._said = said
            self.query_one("#choices", Static).update(self.say("\n".join(said)), layout=taller)

    _said: Sequence[str] = ()

    def on_armed(self) -> None:
        self._said = ()  # once more with a layout: the scroll bar of the first one did not know the box yet
        self._show()

    def action_leave(self) -> None:
        self.dismiss("leave")

    def action_roll_back(self) -> None:
        self.dismiss("rollback")


def stop_lines(state: RunState, plan: Plan | None, width: int = WIDTH) -> list[str]:
    """Where each target stands, what a stop does to its step, and the three choices with their prices."""
    said: list[str] = []
    for target in state.targets.values():
        if target.finished is not None:
            continue
        step = target.current_step()
        said += labelled("NOW", [f"{target.name}: {standing(target)}"], width)
        said += labelled("STEP", [f"{step.title or step.uses}: {step.on_abort or 'stops'}"], width) if step else []
        said.append("")
        for key, choice, label in (("l", "leave", "leave"), ("b", "rollback", "roll back"), ("w", "wait", "wait")):
            said += labelled(f"{key}  {label}", [prices(target, plan)[choice]], width)
    return said or ["this run is at its end: there is nothing to stop"]


def prices(target: TargetState, plan: Plan | None) -> Mapping[str, str]:
    """What each choice costs, by how far the run has come."""
    step = target.current_step()
    left = f", about {duration(step.eta_s)} to go" if step is not None and step.eta_s is not None else ""
    wait = f"nothing is sent; the run goes on{left}"
    if target.undoing:
        again = "the old state is being put back: a first stop only says so, a second gives up (exit 5)"
        return {"leave": again, "rollback": "it is being done", "wait": wait}
    standing_changes = [change for change in target.changes.values() if change.state != "undone"]
    if not standing_changes:
        unchanged = "nothing is changed yet: it ends unchanged (exit 130)"
        return {"leave": unchanged, "rollback": unchanged, "wait": wait}
    if target.proven:
        kept = "the change is proven and stays; what follows is left out (exit 10)"
        return {"leave": kept, "rollback": "not by a stop: console rollback RUN, later", "wait": wait}
    restarted = any(change.change.kind == "restart" for change in standing_changes)
    if plan is None:
        unknown = "how long it takes is not known"
        return {"leave": "the host stays as it is now, unproven (exit 3)", "rollback": unknown, "wait": wait}
    said = estimates.prices(plan, restarted=restarted)
    return {"leave": f"{said['leave']} (exit 3)", "rollback": f"{said['rollback']} (exit 4)", "wait": wait}


async def tell_run(run: str, choice: str, environment: Mapping[str, str]) -> str:
    """Send the choice to the run; returns what to say about it."""
    word: Choice = "rollback" if choice == "rollback" else "leave"
    try:
        reply = await send_to_run(run, Abort(choice=word, by="tui"), environment)
    except StateError as error:
        return str(error)
    return f"stop sent: {word}" if reply.ok else f"the run did not take it: {reply.message}"


async def give_time(run: str, minutes: float, environment: Mapping[str, str]) -> str:
    """Let the run wait longer for its service; returns what to say about it."""
    try:
        reply = await send_to_run(run, Extend(minutes=minutes, by="tui"), environment)
    except StateError as error:
        return str(error)
    return reply.message or f"{minutes:g} min more" if reply.ok else f"the run did not take it: {reply.message}"
