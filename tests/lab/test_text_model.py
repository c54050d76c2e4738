"""Tokens, replies and classes of text of the simulated model."""

from __future__ import annotations

import random

from console.lab.simulator.options import Options
from console.lab.simulator.text_model import Reply, accept_length, tokenize


def test_a_reply_has_as_many_tokens_as_were_generated() -> None:
    reply = Reply(tokenize("why is it slow"))
    assert list(tokenize(reply.text(0, 200))) == reply.tokens(0, 200)


def test_the_same_prompt_gets_the_same_reply() -> None:
    assert Reply(tokenize("hello there")).text(0, 50) == Reply(tokenize("hello there")).text(0, 50)
    assert Reply(tokenize("hello there")).text(0, 50) != Reply(tokenize("good bye")).text(0, 50)


def test_a_short_prompt_is_its_own_class() -> None:
    assert accept_length(Options(), 63, ["a"] * 63) == 4.75
    assert accept_length(Options(), 64, ["a"] * 64) == 7.85


def test_only_the_last_words_decide_whether_a_text_repeats_itself() -> None:
    chance = random.Random(1)
    prose = [f"w{chance.randrange(5000)}" for _ in range(1000)]
    log = ["GET", "/health", "200"] * 200
    assert accept_length(Options(), 2000, prose) == 2.9
    assert accept_length(Options(), 2000, prose + log) == 7.85
    assert accept_length(Options(), 2000, log + prose) == 2.9


def test_every_figure_is_an_option() -> None:
    assert accept_length(Options(accept_short=3.0), 5, []) == 3.0
