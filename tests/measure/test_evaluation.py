"""A score is the number that ends the last line; whatever else is said is why there is none."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from console.measure.evaluation import Evaluated, evaluate
from console.remote.session import Reader
from console.secrets import Redactor


class Asked:
    """What an evaluation needs of a reader: the way to an engine with a key."""

    target = SimpleNamespace(name="gpu1/k26")

    def __init__(self) -> None:
        self.redactor = Redactor()
        self.redactor.learn("a-key-of-twelve")

    async def engine_address(self) -> tuple[str, str]:
        return "http://127.0.0.1:4711", "a-key-of-twelve"


async def ask(command: str, timeout_s: float = 30.0) -> Evaluated:
    return await evaluate(cast(Reader, cast(Any, Asked())), command, "k26", timeout_s)


@pytest.mark.parametrize(
    ("printed", "score"),
    [
        ("0.83", 0.83),
        ("accuracy: 0.83", 0.83),
        ("pass@1 = 83.5 %", 83.5),
        ("noise 9\\nscore=1e-2\\n\\n", 0.01),
        ("-1", -1.0),
    ],
)
async def test_the_score(printed: str, score: float) -> None:
    assert (await ask(f"printf %b '{printed}'")).score == score


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("echo 0.9; exit 3", "the evaluation ended with 3: 0.9"),
        ("exit 3", "ended with 3: it said nothing"),
        ("echo 12 of them were right", "no score: 12 of them were right"),
        ("echo v2", "no score: v2"),
        ("true", "no score: it said nothing"),
        ('echo "$OPENAI_API_KEY"; exit 1', "ended with 1: ***"),
    ],
)
async def test_no_score_says_why(command: str, why: str) -> None:
    found = await ask(command)
    assert found.score is None
    assert why in found.said


async def test_a_late_one() -> None:
    assert (await ask("sleep 600", 0.2)).said == "the evaluation did not end within 0.2 s"


async def test_it_is_told_the_way() -> None:
    found = await ask('echo "$OPENAI_BASE_URL $CONSOLE_MODEL $CONSOLE_TARGET 1"')
    assert found == Evaluated(1.0, "http://127.0.0.1:4711/v1 k26 gpu1/k26 1")


async def test_what_it_says_besides_is_no_score_and_a_long_line_is_one() -> None:
    assert (await ask("echo 0.9; echo took 3600 >&2")).score == 0.9
    assert (await ask("echo took 3600 >&2")).score is None
    found = await ask("head -c 400 /dev/zero | tr '\\0' x; echo ' 0.7'")
    assert found.score == 0.7
    assert len(found.said) <= 200
    split = await ask("head -c 190 /dev/zero | tr '\\0' x; echo \"$OPENAI_API_KEY\"; exit 1")
    assert "a-key" not in split.said
