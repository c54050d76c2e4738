"""Calls of tools and JSON objects asked of an engine, one question after the other: how many can a program read?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from console.analysis.workload.validity import JSON_QUESTIONS, TOOL_QUESTIONS, TOOLS, call_fault, object_fault
from console.engines.chat import Turn, chat_request, read_chat
from console.measure.bench import Bench

Kind = Literal["tools", "json"]
# Room for a model that thinks before it calls.
ANSWER_TOKENS = 1024


@dataclass(frozen=True)
class Asked:
    """What came of the questions of one kind. `faults` and `errors` say of which question, and what."""

    kind: Kind
    asked: int
    faults: tuple[str, ...]
    errors: tuple[str, ...]

    @property
    def good(self) -> int:
        return self.asked - len(self.faults) - len(self.errors)


async def ask_for(bench: Bench, kind: Kind) -> Asked:
    """Raises ConnectError when the host is gone; what the engine refuses is an error of that question."""
    questions: list[tuple[str, Sequence[str]]] = (
        [(one, ()) for one in TOOL_QUESTIONS] if kind == "tools" else [(text, keys) for text, keys in JSON_QUESTIONS]
    )
    tools: Sequence[Mapping[str, Any]] = TOOLS if kind == "tools" else ()
    faults: list[str] = []
    errors: list[str] = []
    for number, (question, keys) in enumerate(questions, 1):
        request = chat_request(bench.model, question, ANSWER_TOKENS, tools=tools, as_json=kind == "json")
        turn = read_chat(await bench.reader.fetch(request))
        if turn.error:
            errors.append(f"{kind} {number}: {turn.error[:120]}")
        elif fault := fault_of(turn, kind, keys):
            faults.append(f"{kind} {number}: {fault}")
        bench.say(phase=kind, done=number, total=len(questions))
    return Asked(kind, len(questions), tuple(faults), tuple(errors))


def fault_of(turn: Turn, kind: Kind, keys: Sequence[str]) -> str:
    if turn.cut:
        return f"cut off after {ANSWER_TOKENS} tokens"
    if kind == "tools":
        return call_fault([(one.name, one.arguments) for one in turn.calls])
    return object_fault(turn.text, keys)
