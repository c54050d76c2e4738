"""A run that asks is answered from its screen: the answer typed in full, a yes by the host's name."""

from __future__ import annotations

import pytest

from console.runs.control import Abort, Answer, Extend, Reply
from console.runs.socket import ControlSocket
from console.schema.events import QuestionAsked
from console.tui import quiet
from console.tui.answer import AnswerScreen, answer_lines, typed_answers
from console.tui.run import RunScreen
from tests.tui import made_up
from tests.tui.conftest import Opens, watch
from tests.views import story

CONFIRM = QuestionAsked(
    target=story.TARGET,
    question="confirm",
    text="Restart it? 2 requests in flight.",
    choices=("yes", "no"),
    default="no",
)
STOPPED = QuestionAsked(
    target=story.TARGET,
    question="after-abort",
    text="1 file changed, not loaded",
    choices=("leave", "rollback", "wait"),
    default="leave",
    prices={"rollback": "about 2 min without service"},
)


def test_a_yes_to_a_change_is_the_hosts_name() -> None:
    assert typed_answers(CONFIRM) == {"node7": "yes", "no": "no"}
    assert typed_answers(STOPPED) == {"leave": "leave", "rollback": "rollback", "wait": "wait"}


def test_each_answer_has_its_price_in_eighty_columns() -> None:
    said = answer_lines(STOPPED)
    assert max(map(len, said)) <= 74
    assert any("rollback" in line and "about 2 min without service" in line for line in said)
    assert any("leave" in line and "also when nobody answers" in line for line in said)


@pytest.mark.parametrize(
    ("typed", "sent"), [("node7", "yes"), ("no", "no"), ("yes", None), ("", None), ("y", None), ("escape", None)]
)
async def test_what_is_typed_in_full_is_sent_and_nothing_else(
    open_app: Opens, monkeypatch: pytest.MonkeyPatch, typed: str, sent: str | None
) -> None:
    monkeypatch.setattr(quiet, "QUIET_S", 0.05)
    app = open_app()
    events = story.numbered([*story.up_to_restart()[:8], (9.0, CONFIRM)])
    directory = made_up.write_run(app.session.base, events, owned=True)
    heard: list[Abort | Answer | Extend] = []

    def hear(message: Abort | Answer | Extend) -> Reply:
        heard.append(message)
        return Reply(ok=True)

    socket = ControlSocket(made_up.RUN, app.session.environment, hear)
    await socket.start()
    async with app.run_test(size=(80, 24)) as pilot:
        await app.push_screen(RunScreen(app.session, run_id=made_up.RUN))
        await watch(app, pilot, "ASKS: a ANSWERS")
        await pilot.press("W", "a")
        question = app.screen
        assert isinstance(question, AnswerScreen)
        while not question.armed:
            await pilot.pause(0.02)
        await pilot.press(*(["escape"] if typed == "escape" else [*typed, "enter"]))
        await pilot.pause()
        if sent:
            await watch(app, pilot, f"answered: {sent}")
    assert heard == ([Answer(question="confirm", answer=sent, by="tui")] if sent else [])
    await socket.close()
    directory.release()


LOGIN = QuestionAsked(
    target=story.TARGET, question="login", text="node7 asks at login: Verification code:", unseen=True
)


async def test_what_a_host_asks_a_run_at_login_is_typed_unseen_and_kept_nowhere(
    open_app: Opens, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quiet, "QUIET_S", 0.05)
    app = open_app()
    events = story.numbered([*story.up_to_restart()[:8], (9.0, LOGIN)])
    directory = made_up.write_run(app.session.base, events, owned=True)
    heard: list[Abort | Answer | Extend] = []

    def hear(message: Abort | Answer | Extend) -> Reply:
        heard.append(message)
        return Reply(ok=True)

    socket = ControlSocket(made_up.RUN, app.session.environment, hear)
    await socket.start()
    app.session.unlock()
    async with app.run_test(size=(80, 24)) as pilot:
        app.push_screen(RunScreen(app.session, run_id=made_up.RUN))
        await watch(app, pilot, "a answers: node7 asks at login: Verification code:")
        await pilot.press("a")
        await watch(app, pilot, "Type the answer")
        await pilot.pause(0.2)
        await pilot.press(*"834127")
        assert "834127" not in made_up.screen_text(app)
        await pilot.press("enter")
        await watch(app, pilot, "answered: what was asked")
    assert heard == [Answer(question="login", answer="834127", by="tui")]
    assert "834127" not in app.session.safe("834127")
    await socket.close()
    directory.release()
