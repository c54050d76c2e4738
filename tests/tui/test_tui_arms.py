"""An experiment on the screen: one arm after the other, and what it found at the end."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from console.schema.events import Event, RunStarted
from console.tui.app import ConsoleApp
from console.tui.run import RunScreen
from console.tui.start import Started
from tests.tui import made_up
from tests.tui.conftest import Opens, watch
from tests.views import story

SECOND = made_up.RUN[:-1] + ("0" if made_up.RUN[-1] != "0" else "1")
TABLE = ["arm      runs  tok/s", "kept: wider. no candidate is left"]


class Experiment:
    """A process that goes on until it is told to end, and what it writes."""

    def __init__(self, app: ConsoleApp) -> None:
        self.app = app
        self.process = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        self.events, self.complaints = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115
        self.started = Started(self.process, self.events, self.complaints)

    def arm(self, name: str, run: str) -> None:
        """A whole run of an arm, in its directory and in what the process says."""
        events = [of_arm(event, name) for event in story.verified()]
        directory = made_up.write_run(self.app.session.base, events, run=run)
        self.say(directory.events_path.read_bytes())

    def say(self, text: bytes) -> None:
        self.events.write(text)
        self.events.flush()

    def end(self) -> None:
        self.process.communicate()


def of_arm(event: Event, name: str) -> Event:
    if not isinstance(event, RunStarted):
        return event
    return event.model_copy(update={"note": f"experiment arm {name}", "parent": "01EXPERIMENT"})


@pytest.fixture
def experiment(open_app: Opens) -> Iterator[Experiment]:
    made = Experiment(open_app())
    yield made
    made.end()
    made.started.close()


async def test_it_is_followed_from_arm_to_arm_to_its_table(experiment: Experiment) -> None:
    app = experiment.app
    async with app.run_test(size=(100, 40)) as pilot:
        app.push_screen(RunScreen(app.session, started=experiment.started))
        experiment.arm("base", made_up.RUN)
        shown = await watch(app, pilot, "the experiment goes on")
        assert "experiment arm base" in shown
        experiment.arm("wider", SECOND)
        shown = await watch(app, pilot, "experiment arm wider")
        assert SECOND in shown
        experiment.say(json.dumps({"experiment": "01EXPERIMENT", "table": TABLE}).encode() + b"\n")
        experiment.end()
        shown = await watch(app, pilot, "kept: wider")
        assert "the experiment goes on" not in shown


async def test_who_reads_the_log_of_an_arm_is_left_there_until_end(experiment: Experiment) -> None:
    app = experiment.app
    async with app.run_test(size=(100, 40)) as pilot:
        app.push_screen(RunScreen(app.session, started=experiment.started))
        experiment.arm("base", made_up.RUN)
        await watch(app, pilot, "the experiment goes on")
        await pilot.press("up")
        experiment.arm("wider", SECOND)
        await pilot.pause(0.5)
        shown = await watch(app, pilot, "the experiment goes on; End follows it")
        assert "experiment arm base" in shown
        await pilot.press("end")
        await watch(app, pilot, "experiment arm wider")


async def test_why_it_went_no_further_stands_above_its_last_arm(experiment: Experiment) -> None:
    app = experiment.app
    async with app.run_test(size=(100, 40)) as pilot:
        app.push_screen(RunScreen(app.session, started=experiment.started))
        experiment.arm("base", made_up.RUN)
        experiment.complaints.write(b"base for wider against base, run 1\n" * 400)
        experiment.complaints.write(b"console: run of base ended with 5\n  next: console runs --open\n")
        experiment.complaints.flush()
        experiment.end()
        shown = await watch(app, pilot, "run of base ended with 5")
        assert "next: console runs --open" in shown
        assert "against base" not in shown


def test_of_an_ordinary_run_nothing_more_is_read(tmp_path: Path) -> None:
    events, complaints = (tmp_path / "events").open("wb+"), (tmp_path / "complaints").open("wb+")
    with subprocess.Popen(["true"]) as process, events, complaints:
        started = Started(process, events, complaints)
        for run in (made_up.RUN, SECOND):
            events.write(json.dumps(story.verified()[0].line() | {"run": run}).encode() + b"\n")
            events.flush()
            started.look()
        assert started.run_id == made_up.RUN
