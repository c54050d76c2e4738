"""What the trailers of a commit tell: the same values a record has, written to lines and read back from them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from console.errors import StateError
from console.results.words import ARROW, pair, pairs, quoted, split, unname, unword, word

if TYPE_CHECKING:  # reading a history needs no pydantic, and is as quick as git
    from console.schema.events import FindingMade
    from console.schema.record import ObservedSetting

T = TypeVar("T")
_NUMBER = re.compile(r"([+-]?\d+(?:\.\d+)?)([A-Za-z%][A-Za-z0-9/%_.*^-]*)?")
_UNIT = re.compile(r"[A-Za-z%][A-Za-z0-9/%_.*^-]*")
_INTERVAL = re.compile(r"\[([^,\]]+),([^,\]]+)\]")
_KEYS = ("confidence", "interval", "n", "context_tokens", "text_class", "method", "source", "unit")


@dataclass(frozen=True)
class ChangeTold:
    """A setting as a trailer tells it; None is absent."""

    setting: str
    before: str | None
    after: str | None

    @property
    def sentence(self) -> str:
        return f"{word(self.setting)} {word(self.before)} {ARROW} {word(self.after)}"


@dataclass(frozen=True)
class ObservedTold(ChangeTold):
    """A difference that was found, not made: `how` says by whom, between two times."""

    how: str = ""
    since: str = ""
    until: str = ""

    @property
    def line(self) -> str:
        return " ".join([self.sentence, *(pair(key, value) for key, value in self.named.items() if value)])

    @property
    def named(self) -> dict[str, str]:
        return {"how": self.how, "after": self.since, "before": self.until}


@dataclass(frozen=True)
class FindingTold:
    """A measured fact as a trailer tells it: figures to four digits, as text."""

    name: str
    value: str
    unit: str = ""
    low: str = ""
    high: str = ""
    confidence: str = ""
    interval: str = ""
    n: str = ""
    context_tokens: str = ""
    text_class: str = ""
    method: str = ""
    source: str = ""
    figures: tuple[tuple[str, str], ...] = ()
    flags: tuple[str, ...] = ()
    number: bool = True

    @property
    def line(self) -> str:
        joined = bool(self.number and (not self.unit or _UNIT.fullmatch(self.unit)))
        value = self.value if self.number else _text(self.value)
        more = [f"[{self.low},{self.high}]"] if self.low and self.high else []
        named = {key: getattr(self, key) for key in _KEYS}
        if joined:
            named["unit"] = ""
        more += [pair(key, text) for key, text in named.items() if text]
        more += [pair(name, text) for name, text in self.figures]
        more += [_flag(flag) for flag in self.flags]
        # A fit has no value of its own, only figures: then what comes next must not look like one.
        bare = not self.value and bool(more) and _is_pair(more[0])
        values = [] if bare else [f"{value}{self.unit}" if joined else value]
        return " ".join([word(self.name), *values, *more])

    @property
    def amount(self) -> float | None:
        """The value as a number; None where it is words."""
        return float(self.value) if self.number else None

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes two findings comparable: name, context and text class."""
        return self.name, self.context_tokens, self.text_class


def finding_told(finding: FindingMade) -> FindingTold:
    """A finding as its trailer tells it."""
    from console.results.figures import figure, main_figures  # decimal: reading a history does without

    value = figure(finding.value)
    number = bool(not isinstance(finding.value, str) and _NUMBER.fullmatch(value))
    told = finding.low is not None and finding.high is not None
    share = finding.confidence
    if share is not None and share <= 1:
        share *= 100
    unit = "" if finding.unit == "tokens" or finding.name.endswith(f"_{finding.unit}") else finding.unit
    return FindingTold(
        name=finding.name,
        value=value,
        unit=unit,
        low=figure(finding.low) if told and finding.low is not None else "",
        high=figure(finding.high) if told and finding.high is not None else "",
        confidence="" if share is None else f"{figure(share)}%",
        interval=finding.interval if finding.interval != "confidence" else "",
        n="" if finding.n is None else str(finding.n),
        context_tokens="" if finding.context_tokens is None else str(finding.context_tokens),
        text_class=finding.text_class,
        method=finding.method,
        source=finding.source,
        figures=tuple(main_figures(finding.figures)),
        flags=tuple(flag for flag in finding.flags if flag),
        number=number,
    )


def read_finding(text: str) -> FindingTold:
    """The finding of a trailer. Raises StateError where it is none of ours."""
    words = split(text)
    if not words:
        raise StateError(f"{text!r} is not a finding")
    name, *rest = words
    value, number = "", None
    if rest and not _is_pair(rest[0]):
        value, *rest = rest
        number = _NUMBER.fullmatch(value)
    given: dict[str, str] = {"unit": (number[2] or "") if number else ""}
    figures, flags = [], []
    for one in rest:
        if interval := _INTERVAL.fullmatch(one):
            given["low"], given["high"] = interval[1], interval[2]
            continue
        ((key, said),) = pairs([one])
        if key in _KEYS:
            given[key] = said
        elif key:
            figures.append((key, said))
        else:
            flags.append(said)
    return FindingTold(
        name=unname(name),
        value=number[1] if number else unname(value),
        figures=tuple(figures),
        flags=tuple(flags),
        number=number is not None,
        **given,
    )


def read_change(text: str) -> ChangeTold | None:
    """`setting before -> after`; None for a command or a restart, which are no settings."""
    words = split(text)
    if len(words) != 4 or words[2] != ARROW:
        return None
    return ChangeTold(unname(words[0]), unword(words[1]), unword(words[3]))


def read_observed(text: str) -> ObservedTold | None:
    """`setting before -> after how=… after=… before=…`."""
    words = split(text)
    if len(words) < 4 or words[2] != ARROW:
        return None
    named = dict(pairs(words[4:]))
    return ObservedTold(
        unname(words[0]),
        unword(words[1]),
        unword(words[3]),
        named.get("how", ""),
        named.get("after", ""),
        named.get("before", ""),
    )


def observed_told(observed: ObservedSetting) -> ObservedTold:
    return ObservedTold(observed.setting, observed.before, observed.after, observed.how, observed.since, observed.until)


def _is_pair(text: str) -> bool:
    return "=" in text and not text.startswith('"')


def _text(value: str) -> str:
    """Words instead of a number; quoted where they could be read as one, or as a pair."""
    return quoted(value) if _NUMBER.match(value) or _INTERVAL.match(value) or "=" in value else word(value)


def _flag(flag: str) -> str:
    return quoted(flag) if "=" in flag or _INTERVAL.fullmatch(flag) else word(flag)


@dataclass(frozen=True)
class Told:
    """Everything a commit's trailers tell of one target's run, in the words of the trailers."""

    run: str
    target: str
    outcome: str
    runbook: str = ""
    runbook_sha256: str = ""
    parent: str = ""
    unit: str = ""
    changes: tuple[str, ...] = ()
    observed: tuple[ObservedTold, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    finished: str = ""
    outage_s: str = ""
    reason: str = ""
    ticket: str = ""
    operator: str = ""
    operator_auth: str = ""
    finding_lines: tuple[str, ...] = ()
    ruled_out: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()
    levers: tuple[str, ...] = ()
    stack: tuple[tuple[str, str], ...] = ()
    simulated: bool = False

    @property
    def changed(self) -> tuple[ChangeTold, ...]:
        """The settings among its changes."""
        return tuple(_readable(read_change, self.changes))

    @cached_property
    def findings(self) -> tuple[FindingTold, ...]:
        """Its findings; read when first asked for, since most questions are not about them."""
        return tuple(_findings(self.finding_lines))


STACK = ("Engine", "Model", "Precision", "Parallelism", "Speculation", "Scheduler", "Hardware", "Router")


def read_trailers(pairs_: Iterable[tuple[str, str]]) -> Told:
    """What the trailers of one message tell; lines that are not as we write them are passed over."""
    values: dict[str, list[str]] = {}
    for key, value in pairs_:
        values.setdefault(key.lower(), []).append(value)

    def one(key: str) -> str:
        return values.get(key, [""])[0]

    runbook, _, digest = one("runbook").partition(" sha256:")
    return Told(
        run=one("run-id"),
        target=one("target"),
        outcome=one("outcome"),
        runbook=runbook,
        runbook_sha256=digest,
        parent=one("parent"),
        unit=one("unit"),
        changes=tuple(values.get("change", ())),
        observed=tuple(_readable(read_observed, values.get("observed", ()))),
        settings=tuple(_settings(values.get("setting", ()))),
        finished=one("finished"),
        outage_s=one("outage").removesuffix("s"),
        reason=one("reason"),
        ticket=one("ticket"),
        operator=one("operator"),
        operator_auth=one("operator-auth"),
        finding_lines=tuple(values.get("finding", ())),
        ruled_out=tuple(values.get("ruled-out", ())),
        causes=tuple(values.get("cause", ())),
        levers=tuple(values.get("lever", ())),
        stack=tuple((key, one(key.lower())) for key in STACK if one(key.lower())),
        simulated=one("simulated") == "yes",
    )


def _readable(read: Callable[[str], T | None], lines: Iterable[str]) -> Iterator[T]:
    for line in lines:
        with suppress(StateError):
            if (told := read(line)) is not None:
                yield told


def _findings(lines: Iterable[str]) -> Iterator[FindingTold]:
    for line in lines:
        with suppress(StateError):
            yield read_finding(line)


def _settings(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        words = split(line)
        with suppress(StateError):
            if len(words) == 2:
                yield unname(words[0]), words[1]
