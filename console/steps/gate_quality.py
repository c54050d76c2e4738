"""`gate.quality`: are long contexts still read, and are answers what they were before the change?"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from console.analysis.workload.retrieval import hidden, same_until
from console.measure.bench import Bench
from console.measure.evaluation import evaluate
from console.measure.limits import UnknownContextError, check_contexts, contexts_of
from console.measure.prompt import Source
from console.measure.prompts import text_of
from console.measure.structure import Kind, ask_for
from console.schema.events import FindingMade
from console.schema.hosts import Target
from console.schema.plan import OnAbort
from console.steps import measuring
from console.steps.base import Step, StepIO, StepResult

ANSWER_TOKENS = 16
PARITY_TOKENS = 64
EVALUATION_TIMEOUT_S = 3600.0
PARITY_CLASSES = ("short", "prose", "code", "analysis")


class GateQuality(Step):
    """One request at a time, greedy. Fails the run when quality is lost.

    What cannot be judged fails it, too, unless `inconclusive = "pass"`. `contexts`: prompt sizes at which a code word
    is hidden at each of `depths` and asked for; a share of `least` must be found. `parity = "record"` keeps answers to
    short prompts before a change, `parity = "compare"` asks the same after it and wants every word the same, which only
    a lossless change can give. `valid = ["tools", "json"]`: calls of tools and JSON objects must be what a program can
    read, a share of `least` of them. `command`: a suite of yours (coding, safety), run on this machine with the way to
    the engine in OPENAI_BASE_URL; the number that ends its last line must be `threshold` at least.
    """

    uses: ClassVar[str] = "gate.quality"
    looks: ClassVar[bool] = True
    on_abort: ClassVar[OnAbort] = "stops now"
    summary: ClassVar[str] = "is quality kept?"

    contexts: tuple[str, ...] = ("8k", "90%")
    depths: tuple[float, ...] = (0.1, 0.5, 0.9)
    least: float = Field(default=1.0, ge=0, le=1)
    parity: Literal["no", "record", "compare"] = "no"
    valid: tuple[Literal["tools", "json"], ...] = ()
    command: str = ""
    threshold: float | None = None
    inconclusive: Literal["fail", "pass"] = "fail"

    @field_validator("contexts", "valid", mode="before")
    @classmethod
    def _words(cls, value: Any) -> Any:
        return measuring.words(value)

    @field_validator("contexts")
    @classmethod
    def _are_contexts(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        check_contexts(value)
        return value

    @field_validator("depths")
    @classmethod
    def _are_depths(cls, value: tuple[float, ...]) -> tuple[float, ...]:
        if not value or not all(0 <= depth <= 1 for depth in value):
            raise ValueError("depths are shares of the text from 0 to 1, such as [0.1, 0.5, 0.9]")
        return value

    @model_validator(mode="after")
    def _asks_something(self) -> Self:
        if bool(self.command) != (self.threshold is not None):
            raise ValueError("command and threshold belong together: the score that it must reach")
        if not self.contexts and not self.command and not self.valid and self.parity == "no":
            raise ValueError("nothing is asked: give contexts, parity, valid or a command")
        return self

    def title(self, target: Target) -> str:
        if self.command and self.parity != "record":
            return f"are answers still right? asks here: {self.command}"
        return "keep answers to compare with" if self.parity == "record" else "are answers still right?"

    async def run(self, io: StepIO) -> StepResult:
        bench = await measuring.bench_of(io, on_live=True)
        if self.parity == "record":
            io.kept.update(await self._answers(bench))
            return StepResult("ok", f"{len(PARITY_CLASSES)} answers kept")
        if bench.limits.pool_tokens is not None:
            pool = bench.limits.pool_tokens
            io.emit(
                FindingMade(target=io.plan.target.name, name="pool_served", value=pool, unit="tokens", source="engine")
            )
        told = [await self._retrieval(io, bench)] if self.contexts else []
        if self.parity == "compare":
            told.append(await self._compare(io, bench))
        told += [await self._valid(io, bench, kind) for kind in self.valid]
        if self.command:
            told.append(await self._evaluated(io, bench))
        failed = [text for ok, text in told if ok is False]
        unsure = [text for ok, text in told if ok is None]
        if failed:
            return StepResult("failed", f"quality is lost: {'; '.join(failed)}")
        if unsure and self.inconclusive == "fail":
            return StepResult("failed", f"quality cannot be judged: {'; '.join(unsure)}")
        return StepResult("ok", "; ".join(text for _, text in told))

    async def _retrieval(self, io: StepIO, bench: Bench) -> tuple[bool | None, str]:
        chance = measuring.chance_of(io)
        try:
            sizes = contexts_of(self.contexts, bench.limits, ANSWER_TOKENS)
        except UnknownContextError as error:
            return None, str(error)
        lost: list[str] = []
        errors: list[str] = []
        asked = 0
        most = bench.limits.most(ANSWER_TOKENS)
        for size in sizes:
            text = await self._text(bench, min(size, most or size))
            for depth in self.depths:
                one = hidden(text, depth, chance)
                answer = (await bench.generate(one.prompt, ANSWER_TOKENS, ignore_eos=False)).read
                asked += 1
                where = f"{size:,} tokens at {depth:.0%}"
                if answer.error:
                    errors.append(f"{where}: {answer.error[:120]}")
                elif not one.found_in(answer.text):
                    lost.append(where)
                bench.say(phase="retrieval", done=asked, total=len(sizes) * len(self.depths))
        found = asked - len(lost) - len(errors)
        io.emit(
            FindingMade(
                target=io.plan.target.name,
                name="retrieval",
                value=round(found / asked, 4),
                n=asked,
                method="hidden_code",
                context_tokens=max(sizes),
                flags=tuple(f"lost at {where}" for where in lost) + tuple(errors),
            )
        )
        if found >= self.least * asked:
            return True, f"{found} of {asked} hidden codes found, up to {max(sizes):,} tokens"
        if lost:
            return False, f"{found} of {asked} hidden codes found, lost at {', '.join(lost)}"
        return None, f"{len(errors)} of {asked} requests failed: {errors[0]}"

    async def _valid(self, io: StepIO, bench: Bench, kind: Kind) -> tuple[bool | None, str]:
        found = await ask_for(bench, kind)
        io.emit(
            FindingMade(
                target=io.plan.target.name,
                name="valid_calls" if kind == "tools" else "valid_json",
                value=round(found.good / found.asked, 4),
                n=found.asked,
                method="parsed",
                flags=(*found.faults, *found.errors),
            )
        )
        what = "calls of tools" if kind == "tools" else "JSON objects"
        if found.good >= self.least * found.asked:
            return True, f"{found.good} of {found.asked} {what} can be read"
        if found.faults:
            return False, f"{found.good} of {found.asked} {what} can be read: {found.faults[0]}"
        return None, f"{len(found.errors)} of {found.asked} {what} were refused: {found.errors[0]}"

    async def _evaluated(self, io: StepIO, bench: Bench) -> tuple[bool | None, str]:
        assert self.threshold is not None
        bench.say(phase="your evaluation")
        timeout_s = io.step.timeout_s or EVALUATION_TIMEOUT_S
        found = await evaluate(bench.reader, self.command, bench.model, timeout_s)
        if found.score is None:
            return None, found.said
        io.emit(
            FindingMade(
                target=io.plan.target.name,
                name="evaluation",
                value=found.score,
                method="command",
                flags=(f"threshold {self.threshold:g}",),
            )
        )
        enough = found.score >= self.threshold
        return enough, f"your evaluation: {found.score:g}, {'at least' if enough else 'below'} {self.threshold:g}"

    async def _text(self, bench: Bench, size: int) -> str:
        """A text of nearly that many tokens by the engine's count, with room for what is hidden in it and asked."""
        text = text_of("analysis", size, nonce=bench.nonce)
        counted = await bench.tokens_of(text)
        tokens = len(counted) if counted else len(text) / 4
        return text[: int(len(text) * min(1.0, 0.97 * max(16, size - 64) / tokens))]

    async def _answers(self, bench: Bench) -> dict[str, str]:
        found = {}
        source = Source(bench)
        for text_class in PARITY_CLASSES:
            prompt = await source.prompt(text_class, 512, nonce="")
            found[f"parity:{text_class}"] = (await bench.generate(prompt.sent, PARITY_TOKENS)).read.text
        return found

    async def _compare(self, io: StepIO, bench: Bench) -> tuple[bool | None, str]:
        if not any(io.kept.get(f"parity:{one}") for one in PARITY_CLASSES):
            return None, "no answers from before the change to compare with"
        now = await self._answers(bench)
        parted = []
        for name, text in now.items():
            before = io.kept.get(name, "")
            if before != text:
                parted.append(f"{name.partition(':')[2]} after {same_until(before, text)} words")
        io.emit(
            FindingMade(
                target=io.plan.target.name,
                name="greedy_parity",
                value=round(1 - len(parted) / len(now), 4),
                n=len(now),
                method="word_by_word",
                flags=tuple(parted),
            )
        )
        if parted:
            return False, f"greedy answers differ: {', '.join(parted)}"
        return True, f"{len(now)} greedy answers are the same word by word"
