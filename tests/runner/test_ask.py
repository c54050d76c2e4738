"""One question at a time, to the terminal and to whoever is attached; nobody's silence mutates."""

from __future__ import annotations

import asyncio

from console.runner.ask import Ask, Desk, Nobody, Question
from console.schema.events import QuestionAnswered, QuestionAsked
from tests.fakes import Told

CONFIRM = Question("confirm", "node7/chat", "Restart it?", ("yes", "no"), "no", {"yes": "about 6 min"})
AFTER = Question("after-abort", "node7/chat", "stopped", ("leave", "rollback", "wait"), "leave")


class Person:
    """A front that answers when it is told to."""

    def __init__(self) -> None:
        self.asked: asyncio.Queue[str] = asyncio.Queue()
        self.cancelled: list[str] = []
        self.says: asyncio.Future[tuple[str, str]] = asyncio.get_running_loop().create_future()

    async def ask(self, question: Question) -> tuple[str, str]:
        self.asked.put_nowait(question.id)
        try:
            return await asyncio.shield(self.says)
        except asyncio.CancelledError:
            self.cancelled.append(question.id)
            raise


class Says:
    def __init__(self, answer: str) -> None:
        self.answer = answer

    async def ask(self, question: Question) -> tuple[str, str]:
        return self.answer, "terminal"


def desk(front: Ask) -> tuple[Desk, Told]:
    told = Told()
    return Desk(front, told), told


async def test_the_fronts_answer_counts_and_is_on_record() -> None:
    here, told = desk(Says("yes"))
    assert await here.put(CONFIRM) == "yes"
    (asked,) = told.of(QuestionAsked)
    assert (asked.question, asked.choices, asked.default, asked.prices) == (
        "confirm",
        ("yes", "no"),
        "no",
        {"yes": "about 6 min"},
    )
    (answered,) = told.of(QuestionAnswered)
    assert (answered.question, answered.answer, answered.by) == ("confirm", "yes", "terminal")


async def test_without_anybody_the_default_is_the_answer() -> None:
    here, told = desk(Nobody())
    assert await here.put(CONFIRM) == "no"
    assert told.of(QuestionAnswered)[0].by == "nobody: no terminal"


async def test_something_that_is_no_choice_is_the_default() -> None:
    for word in ("", "YES", "y", "maybe"):
        assert await desk(Says(word))[0].put(CONFIRM) == "no"


async def test_an_answer_from_outside_comes_first_and_the_terminal_is_let_go() -> None:
    person = Person()
    here, told = desk(person)
    putting = asyncio.ensure_future(here.put(CONFIRM))
    await person.asked.get()
    assert here.answer("confirm", "yes", "lee on desk2") == ""
    assert await putting == "yes"
    await asyncio.sleep(0)
    assert person.cancelled == ["confirm"]
    assert told.of(QuestionAnswered)[0].by == "lee on desk2"


async def test_a_wrong_answer_from_outside_says_what_is_wrong_and_asks_on() -> None:
    person = Person()
    here, _ = desk(person)
    assert here.answer("confirm", "yes", "lee") == "nothing is asked"
    putting = asyncio.ensure_future(here.put(CONFIRM))
    await person.asked.get()
    assert here.answer("confirm", "maybe", "lee") == "answers: yes, no"
    assert here.answer("after-abort", "yes", "lee") == "'after-abort' is not what is asked: 'confirm' is"
    assert not putting.done()
    person.says.set_result(("no", "terminal"))
    assert await putting == "no"
    assert here.answer("confirm", "yes", "lee") == "nothing is asked"


async def test_the_second_of_two_answers_from_outside_is_told_so() -> None:
    person = Person()
    here, _ = desk(person)
    putting = asyncio.ensure_future(here.put(CONFIRM))
    await person.asked.get()
    assert here.answer("", "yes", "lee") == ""
    assert here.answer("", "no", "kim") == "nothing is asked"
    assert await putting == "yes"


async def test_one_question_at_a_time() -> None:
    person = Person()
    here, told = desk(person)
    first = asyncio.ensure_future(here.put(CONFIRM))
    await person.asked.get()
    second = asyncio.ensure_future(here.put(AFTER))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert [event.question for event in told.of(QuestionAsked)] == ["confirm"]
    assert here.answer("after-abort", "rollback", "lee") != ""
    assert here.answer("confirm", "no", "lee") == ""
    assert await first == "no"
    await person.asked.get()
    assert here.answer("after-abort", "rollback", "lee") == ""
    assert await second == "rollback"
    kinds = [type(event) for event in told.events]
    assert kinds == [QuestionAsked, QuestionAnswered] * 2


async def test_a_question_that_is_taken_back_asks_nobody_any_more() -> None:
    person = Person()
    here, told = desk(person)
    putting = asyncio.ensure_future(here.put(CONFIRM))
    await person.asked.get()
    putting.cancel()
    await asyncio.wait({putting})
    await asyncio.sleep(0)
    assert person.cancelled == ["confirm"]
    assert here.answer("confirm", "yes", "lee") == "nothing is asked"
    assert not told.of(QuestionAnswered)
    assert await desk(Says("yes"))[0].put(CONFIRM) == "yes"


LOGIN = Question("login", "node7/chat", "node7 asks at login: Code:", (), "", unseen=True)


async def test_what_is_asked_of_those_attached_only_is_answered_in_their_own_words() -> None:
    here, told = desk(Says("of the terminal"))
    asking = asyncio.create_task(here.put_outside(LOGIN, 60.0))
    await asyncio.sleep(0)
    (asked,) = told.of(QuestionAsked)
    assert (asked.choices, asked.unseen) == ((), True)
    assert here.answer("login", "123456", "tui") == ""
    assert await asking == "123456"
    (answered,) = told.of(QuestionAnswered)
    assert (answered.answer, answered.by) == ("given", "tui")
    assert not any("123456" in repr(event) for event in told.events)


async def test_who_is_not_there_in_time_has_answered_nothing() -> None:
    here, told = desk(Nobody())
    assert await here.put_outside(LOGIN, 0.0) is None
    (answered,) = told.of(QuestionAnswered)
    assert answered.answer == "none"
    assert here.answer("login", "123456", "tui") == "nothing is asked"


async def test_at_the_end_of_a_run_nobody_is_waited_for() -> None:
    here, told = desk(Nobody())
    asking = asyncio.create_task(here.put_outside(LOGIN, 60.0))
    await asyncio.sleep(0)
    here.close()
    await asyncio.wait([asking])
    assert asking.cancelled()
    assert not told.of(QuestionAnswered)
