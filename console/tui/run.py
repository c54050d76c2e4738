"""A run as it goes on, followed from its directory; leaving this screen, or the program, does not touch it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.widget import Widget
from textual.widgets import Static

from console.clock import SystemClock, stamp
from console.errors import StateError
from console.runs.directory import RunDirectory
from console.runs.log import follow
from console.runs.state import RunState
from console.schema.events import Event, LogLine, QuestionAsked, StepFinished, StepProgress
from console.schema.plan import Plan
from console.tui.actions import Situation
from console.tui.again import AgainScreen
from console.tui.answer import AnswerScreen, answer_run
from console.tui.frame import FrameScreen
from console.tui.keys import bindings
from console.tui.scroll import LineLog, Scroll
from console.tui.session import Session
from console.tui.start import Started
from console.tui.steps import diff_lines, since, step_lines, word_of
from console.tui.stop import StopScreen, give_time, tell_run
from console.tui.textview import TextScreen
from console.tui.workers import work
from console.untrusted import one_line
from console.views.cells import wrap
from console.views.final import final_lines
from console.views.run import Narration
from console.views.standing import left_where

FLUSH_S = 0.1
EVENTS_AT_ONCE = 200
LOG_LINES = 5000
LINES_AT_ONCE = 1000
MORE_MINUTES = 5.0
# Lines of a terminal below which the end of a run takes the place of its log.
LOW = 30
# Below which little more than the outcome and the next commands fits.
TINY = 20


class RunScreen(FrameScreen):
    """Steps above, what the engine and the host say below; at the end the outcome and the commands to go on.

    Either a run just started, whose id is learned from its output, or one of this machine by its directory. Of an
    experiment it follows one arm after the other, unless somebody has scrolled up in one.
    """

    NAME: ClassVar[str] = "run"
    MODE: ClassVar[str] = "runs"
    BINDINGS: ClassVar[list[BindingType]] = bindings("run")

    def __init__(self, session: Session, *, started: Started | None = None, run_id: str = "") -> None:
        super().__init__(session)
        self.started = started
        self.directory = RunDirectory(session.base / run_id) if run_id else None
        self.narration = Narration()
        self.pending: list[str] = []
        self.dirty = True
        self.all_read = False
        self.at_tail = True
        self.everything = False
        self.plan: Plan | None = None
        self.said = ""

    @property
    def state(self) -> RunState:
        return self.narration.state

    def body(self) -> Iterable[Widget]:
        yield Static(id="status")
        with Scroll(id="steps"):
            yield Static(id="lines")
        yield LineLog(id="log", max_lines=LOG_LINES, auto_scroll=False)
        with Scroll(id="end"):
            yield Static(id="final")
        yield Static(id="next")

    def on_mount(self) -> None:
        self.narration.width = self.room
        super().on_mount()
        self.query_one("#log").focus()
        self.set_interval(FLUSH_S, self._flush)
        self._follow()
        self._flush()

    def on_key(self, event: events.Key) -> None:
        """Scrolling up stays there; End follows again."""
        if event.key in ("up", "pageup", "home", "k", "g"):
            self.at_tail = False
        elif event.key in ("end", "G"):
            self.at_tail = True

    def on_mouse_scroll_up(self) -> None:
        self.at_tail = False

    def on_resize(self) -> None:
        super().on_resize()
        self.narration.width = self.room
        self.set_class(self.app.size.height < LOW, "-low")
        self.set_class(self.app.size.height < TINY, "-tiny")
        self.dirty = True

    def situation(self) -> Situation:
        alive = self._alive() and self.directory is not None
        steps = [target.current_step() for target in self.state.targets.values()]
        waits = any(step is not None and step.uses == "service.wait_ready" for step in steps)
        known = self.directory.run_id if self.directory is not None else ""
        ended = not alive and (self.all_read or self.state.finished is not None)
        unsettled = ended and (self.state.finished is None or any(self._unsettled(name) for name in self.state.targets))
        return replace(
            super().situation(),
            run=known,
            target=next(iter(self.state.targets), ""),
            alive=alive,
            waits=waits,
            asks=self.state.question is not None,
            open=unsettled,
            changed=bool(self._to_undo()),
        )

    def _to_undo(self) -> str:
        """The run whose changes stand: one that was gone on with may have made all of them before that."""
        targets = self.state.targets.values()
        if any(change.state != "undone" for target in targets for change in target.changes.values()):
            return self.state.run
        started = self.state.started
        return started.parent if started is not None and started.purpose == "resume" else ""

    def _unsettled(self, name: str) -> bool:
        return self.state.outcome(name).value in ("applied-unverified", "unknown", "rollback-failed")

    # -- following --------------------------------------------------------------------------------------------------

    def _follow(self) -> None:
        directory = self.directory
        if directory is not None:
            self.session.followed.add(directory.run_id)
            work(self, partial(self._read, directory), "follow")

    def _begin(self, run: str) -> None:
        self.directory = RunDirectory(self.session.base / run)
        self._follow()

    def _next_arm(self, run: str) -> None:
        """The next run of an experiment, when this one has been told to its end."""
        if not self.all_read or not self.at_tail:
            return
        self.narration = Narration()
        self.narration.width = self.room
        self.pending += ["", f"the experiment goes on: run {run}"]
        self.plan, self.all_read, self.dirty = None, False, True
        self._told, self._shown = (0, 0), ()
        self._begin(run)

    async def _read(self, directory: RunDirectory) -> None:
        """Only reads: this may be cancelled at any time and nothing is lost."""
        count = 0
        async for event in follow(directory.events_path, directory.alive, SystemClock()):
            self.take(event)
            count += 1
            if count % EVENTS_AT_ONCE == 0:
                await asyncio.sleep(0)  # a long log must not freeze the keys
        self.all_read = True
        self.dirty = True

    def take(self, event: Event) -> None:
        """Fold one event, and keep what the log shows of it; the steps have a place of their own."""
        said = [line.text for line in self.narration.tell(event)]
        if isinstance(event, LogLine) and not said:
            said = wrap(f"| {one_line(event.text)}", self.narration.width, rest="    ")
        if self.everything or not isinstance(event, StepFinished | StepProgress):
            self.pending.extend(said)
        self.dirty = True

    def _alive(self) -> bool:
        if self.directory is not None:
            return self.state.finished is None and self.directory.alive()
        return self.started is not None and self.started.exit_code is None

    # -- showing ----------------------------------------------------------------------------------------------------

    def _flush(self) -> None:
        """Ten times a second at most, and so many lines at a time: whatever comes in, a key is answered between two."""
        if self.started is not None:
            self.started.look()
            if self.directory is None and self.started.run_id:
                self._begin(self.started.run_id)
            elif self.directory is not None and self.started.run_id not in ("", self.directory.run_id):
                self._next_arm(self.started.run_id)
        del self.pending[:-LOG_LINES]  # the log would let go of them
        if not self.is_active:
            return  # drawn again under a question, it would be drawn twice; all of it is there when that is gone
        log = self.query_one("#log", LineLog)
        if self.pending:
            batch, self.pending = self.pending[:LINES_AT_ONCE], self.pending[LINES_AT_ONCE:]
            log.write_lines([self.session.safe(line) for line in batch])
        if self.at_tail and log.scroll_offset.y < log.max_scroll_y:
            # textual: a Log whose box got smaller no longer counts as being at its end.
            log.scroll_end(animate=False)
        now = stamp(self.session.clock.now())
        self._show_status(now)
        found = self._of_experiment()
        if self.dirty or self._alive() or found != self._found:
            self.dirty, self._found = False, found
            self._show_steps(now)
            self._show_end()

    _shown: tuple[object, ...] = ()
    _found: Sequence[str] = ()

    def _show_status(self, now: str) -> None:
        alive = self._alive()
        name = self.directory.run_id if self.directory else "not begun yet"
        started = self.state.started
        end = self.state.finished.ts if self.state.finished else now if alive else self.state.last_at
        elapsed = int(since(started.ts, end)) if started else 0
        word = self._word(alive=alive)
        question = self.state.question if alive else None
        shown = (name, word, elapsed, self.app.size, question)
        if shown == self._shown:
            return
        self._shown = shown
        what = f"{started.runbook} {', '.join(started.targets)}" if started else ""
        self.show_title(f"Run {what}", word)
        told = wrap(f"a answers: {question.text}", self.room, first=" ") if question is not None else []
        told += wrap(self.said, self.room, first=" ") if self.said else []
        arm = f"  {started.note}" if started is not None and started.note.startswith("experiment arm ") else ""
        first = f" {name}  elapsed {clock_text(elapsed)}{self._aside()}{arm}"
        self.put("#status", self.say("\n".join([first, *told])))
        self.show_keys()

    def _word(self, *, alive: bool) -> str:
        if self.directory is not None:
            # Its last event may still be on its way to us when its process has gone.
            return word_of(self.state, alive=alive or not self.all_read)
        return "STARTING" if alive else "DID NOT BEGIN"

    def _speed(self) -> float:
        """How much faster than life the clock of a simulated host is; its steps are measured with it."""
        known = {target.name: target.host.speed for target in self.session.inventory.targets()}
        return max((known.get(name, 1.0) for name in self.state.targets), default=1.0)

    def _aside(self) -> str:
        """Connection and lock, where they are worth a word."""
        said = [f"simulated, clock {self._speed():g}x"] if self._speed() != 1.0 else []
        for target in self.state.targets.values():
            if target.connection is not None and target.connection.state in ("lost", "reconnecting"):
                said.append(f"connection {target.connection.state}")
            if target.lock is not None and target.lock.state != "released" and self.state.finished is None:
                said.append(f"lock {target.lock.state}")
        return "".join(f"   {text}" for text in dict.fromkeys(said))

    def _show_steps(self, now: str) -> None:
        lines, present = step_lines(self.state, self.room, now, speed=self._speed())
        self.put("#lines", self.say("\n".join(lines) or "looking…"))
        if (len(lines), present) != self._told:
            self._told = (len(lines), present)
            # Only when the step changed: a person who scrolls the steps is left alone. After the new layout.
            self.call_after_refresh(self._to_step, present)

    _told: tuple[int, int] = (0, 0)

    def _to_step(self, present: int) -> None:
        box = self.query_one("#steps", Scroll)
        if present >= box.scroll_offset.y + box.size.height - 1 or present < box.scroll_offset.y:
            box.scroll_to(y=max(0, present - box.size.height + 3), animate=False)

    def _show_end(self) -> None:
        """What stands at the end of a run: outcome, exit code, record, commit, next commands."""
        said = self.end_lines()
        if said and not self.has_class("-ended"):
            self.query_one("#end").focus()  # so that arrows reach what does not fit
        if bool(said) != self.has_class("-ended"):
            self._told = (0, 0)
        self.set_class(bool(said), "-ended")
        final, following = split_next(said)
        self.put("#final", self.say("\n".join(final)))
        self.put("#next", self.say("\n".join(following)))

    def end_lines(self) -> list[str]:
        if self.state.finished is not None:
            return [*self._of_experiment(), *final_lines(self.state, self.room)]
        if self._alive() or not (self.all_read or self.directory is None):
            return []
        if self.directory is None:
            code = self.started.exit_code if self.started else None
            complaint = self.started.complaint() if self.started else ""
            return [f"the run did not begin: exit {code}", *complaint.splitlines()]
        run = self.state.run or self.directory.run_id
        gone = ["the process of this run is gone; what it left, as its log proves:"]
        return [*gone, *left_where(self.state, self.room), "next: console recover", f"      console resume {run}"]

    def _of_experiment(self) -> list[str]:
        """Above the end of its last arm what the experiment found, above that of any other that it goes on."""
        started = self.state.started
        if self.started is None or started is None or not started.note.startswith("experiment arm "):
            return []
        if self.started.table:
            return [*self.started.table, ""]
        if self.started.exit_code is not None:
            return [text for said in self.started.last_words() for text in wrap(one_line(said), self.room)]
        waits = "" if self.at_tail else "; End follows it"
        return [f"the experiment goes on{waits}"]

    # -- what can be done here --------------------------------------------------------------------------------------

    def action_stop(self) -> None:
        if self.plan is None:
            self.plan = self._read_plan()
        self.app.push_screen(StopScreen(self.session, self.state, self.plan), self._chosen)

    def _read_plan(self) -> Plan | None:
        try:
            plans = self.directory.read_plan().plans if self.directory else ()
        except StateError:
            return None
        return plans[0] if len(plans) == 1 else None

    def _chosen(self, choice: str | None) -> None:
        if choice is not None:
            work(self, partial(self._tell, choice), "tell", exclusive=False)

    async def _tell(self, choice: str) -> None:
        self.said = await tell_run(self.state.run, choice, self.session.environment)
        self._shown = ()

    def action_answer(self) -> None:
        question = self.state.question
        if question is None:
            return

        def chosen(answer: str | None) -> None:
            if answer is not None:
                work(self, partial(self._answer, question, answer), "tell", exclusive=False)

        self.app.push_screen(AnswerScreen(self.session, question), chosen)

    async def _answer(self, question: QuestionAsked, answer: str) -> None:
        self.said = await answer_run(self.state.run, question, answer, self.session.environment)
        self._shown = ()

    def action_more_time(self) -> None:
        work(self, self._give_time, "tell", exclusive=False)

    async def _give_time(self) -> None:
        self.tell(await give_time(self.state.run, MORE_MINUTES, self.session.environment))

    def action_follow(self) -> None:
        self.at_tail = not self.at_tail
        self._shown = ()

    def action_output(self) -> None:
        """Every event and log line of it, from the beginning; or only what matters."""
        self.everything = not self.everything
        self.tell("every line that was said" if self.everything else "what matters")
        self.narration = Narration()
        self.narration.width = self.room
        self.pending = []
        self.query_one("#log", LineLog).clear()
        self._follow()

    def action_review(self) -> None:
        self.console_app.ways.review(self.state.run)

    def action_diff(self) -> None:
        async def source(width: int) -> str:
            return "\n".join(diff_lines(self.state, width)) or "this run has planned no edit"

        self.app.push_screen(TextScreen(self.session, f"What {self.state.run} changes", source, self.same_command()))

    def action_go_on(self) -> None:
        self.app.push_screen(AgainScreen(self.session, "resume", self.state.run))

    def action_put_back(self) -> None:
        self.app.push_screen(AgainScreen(self.session, "rollback", self._to_undo()))

    def action_zoom(self) -> None:
        self.toggle_class("-zoomed")

    def same_command(self) -> str:
        run = self.directory.run_id if self.directory else ""
        return f"console attach {run}" if self._alive() else f"console history show {run}"

    def whole_text(self) -> str:
        lines, _ = step_lines(self.state, max(80, self.room), self.state.last_at, speed=self._speed())
        return "\n".join([*lines, "", *self.end_lines(), "", *self.query_one("#log", LineLog).lines])


def split_next(said: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """What can be scrolled, and the commands to go on, which are always seen."""
    start = next((index for index, line in enumerate(said) if line.startswith("next:")), len(said))
    return said[:start], said[start:]


def clock_text(seconds: int) -> str:
    """`0:07`, `12:05`, `1:02:03`."""
    hours, rest = divmod(seconds, 3600)
    minutes, left = divmod(rest, 60)
    return f"{hours}:{minutes:02d}:{left:02d}" if hours else f"{minutes}:{left:02d}"
