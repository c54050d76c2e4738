"""The commit message of a record: a subject, prose a person would write, and trailers that are an audit by themselves.

Format of the trailers: `git interpret-trailers`; one a line, `Finding` values are `name figure key=value …` with units.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

from console.errors import InternalError
from console.results.figures import figure, main_figures, span
from console.results.stack import trailers as stack_trailers
from console.results.told import ChangeTold, finding_told, observed_told, read_change
from console.results.words import quoted, word
from console.schema.events import ConclusionMade, LevelsRead
from console.schema.outcome import Outcome
from console.schema.record import Record, RecordSetting
from console.untrusted import one_line

WIDTH = 72
# The flag of a finding that must not stand in a subject.
NO_HEADLINE = "no headline"
VALUE_CHARACTERS = 400
STRUCTURED = frozenset({"Change", "Observed", "Setting", "Finding"})  # their words are cut one by one
# Kinds of conclusion, in the order and with the lead they have in prose.
_SAID_OF = (
    ("ruled_out", "Ruled out"),
    ("cause", "Explained by"),
    ("lever", "Would help"),
    ("noted", "Noted"),
    ("assumed", "Assumed"),
    ("missing", "Not known"),
)
_TRAILER = re.compile(r"([A-Z][A-Za-z]*(?:-[A-Za-z]+)*): (\S.*)")


def compose(record: Record) -> str:
    """The whole message of a masked record. Raises InternalError when its trailers would not read back as written."""
    written = list(trailers(record))
    paragraphs = [
        subject(record),
        *(_wrapped(text) for text in prose(record)),
        "\n".join(f"{k}: {v}" for k, v in written),
    ]
    text = "\n\n".join(paragraphs) + "\n"  # without the last newline git's %(trailers) does not see them
    if parse(text) != written:
        raise InternalError(f"the trailers of run {record.run} do not read back as written")
    return text


def parse(text: str) -> list[tuple[str, str]]:
    """The trailers of a message: its last paragraph, where every line of it is one."""
    last = text.rstrip("\n").rpartition("\n\n")[2].split("\n")
    found = [_TRAILER.fullmatch(line) for line in last]
    return [(match[1], match[2]) for match in found if match] if all(found) else []


def subject(record: Record) -> str:
    """`host/service: what, outcome`; of a diagnosis its headline, which says how it ended."""
    if record.outcome is Outcome.MEASURED and not record.settings:
        for finding in record.findings:
            if finding.name == "diagnosis":
                return f"{record.target}: diagnose {one_line(str(finding.value), 160)}"
    return f"{record.target}: {_what(record)}, {record.outcome.value}"


def _what(record: Record) -> str:
    back = f"rollback of {record.parent}: " if record.purpose == "rollback" and record.parent else ""
    asked = record.settings
    differing = [setting for setting in asked if not setting.already]
    if record.observed:
        found, others = record.observed[0], len(record.observed) - 1
        seen = f"{_short(found.before)} -> {_short(found.after)}{f' (+{others})' if others else ''}"
        return f"found {one_line(found.setting, 60)} {seen} {one_line(found.how, 30)}".rstrip()
    if record.purpose == "adopt":
        return f"adopted with {len(record.stack_before.settings) if record.stack_before else 0} settings"
    if not asked:
        return back + (_headline(record) or one_line(record.runbook, 60))
    first = (differing or list(asked))[0]
    count = len(differing or asked)
    more = f" (+{count - 1})" if count > 1 else ""
    name, before, after = first.setting, _short(first.before), _short(first.after)
    match record.outcome:
        case Outcome.NO_CHANGE if not differing:
            return f"{back}{name} already {after}{more}"
        case Outcome.ROLLED_BACK:
            return f"{back}{name} back to {before} from {after}{more}"
        case Outcome.FAILED_UNCHANGED | Outcome.ABORTED_UNCHANGED | Outcome.NO_CHANGE:
            return f"{back}{name} still {before}, not {after}{more}"
        case _:
            return f"{back}{name} {before} -> {after}{more}"


def _headline(record: Record) -> str:
    """The runbook and its first finding, for runs that only measured."""
    if record.outcome is not Outcome.MEASURED or not record.findings:
        return ""
    # A rate on text that repeats itself, or past its own end, is not what anybody's users see.
    shown = [finding for finding in record.findings if NO_HEADLINE not in finding.flags]
    if not shown:
        return ""
    first = shown[0]
    figures = "".join(f" {name} {value}" for name, value in main_figures(first.figures)) if not first.value else ""
    value = f" {figure(first.value)}{_unit(first.name, first.unit)}" if first.value != "" else ""
    text = f" on {first.text_class} text" if first.text_class else ""
    at = f" at {first.context_tokens} tokens" if first.context_tokens is not None else ""
    return one_line(f"{record.runbook} {first.name}{value}{figures}{text}{at}", 140)


def _short(value: str | None) -> str:
    return "absent" if value is None else one_line(value, 60) or '""'


def prose(record: Record) -> Iterator[str]:
    """Paragraphs: what was done, why it is believed to serve or what went wrong, what it cost, what explains it."""
    yield " ".join(_done(record))
    yield from (_sentence(one.text) for one in record.conclusions if one.kind == "verdict")
    if believed := list(_believed(record)):
        yield " ".join(believed)
    if record.note:
        yield f"Note: {_sentence(record.note)}"
    for kind, lead in _SAID_OF:
        texts = [one_line(one.text, 200) for one in ranked(record, kind)]
        if texts:
            yield f"{lead}: {'; '.join(texts)}."
    if record.warnings:
        yield f"Warned of: {'; '.join(one_line(text, 200).rstrip('.') for text in record.warnings)}."


def _done(record: Record) -> Iterator[str]:
    if record.purpose in ("adopt", "observe"):
        yield f"{record.unit} was looked at, and nothing was changed."
        for one in record.observed:
            since = f" between {one.since} and {one.until}" if one.since else ""
            yield (
                f"{one_line(one.setting)} was recorded as {_short(one.before)} and is {_short(one.after)}:"
                f" {one_line(one.how) or 'changed'}{since}."
            )
        return
    made = [setting for setting in record.settings if setting.made]
    restarted = any(change.kind == "restart" and change.state in ("made", "undone") for change in record.changes)
    commands = [change for change in record.changes if change.kind == "command" and change.state in ("made", "undone")]
    if made:
        paths = list(dict.fromkeys(setting.path for setting in made if setting.path))
        where = f" in {_and([one_line(path) for path in paths])}" if paths else ""
        then = f", and {record.unit} was restarted" if restarted else ""
        yield f"{_and([_was(setting) for setting in made])}{where}{then}."
    elif restarted:
        yield f"{record.unit} was restarted; no file was changed."
    elif record.settings and all(setting.already for setting in record.settings):
        yield f"{_and([f'{s.setting} is already {_short(s.after)}' for s in record.settings])}; nothing was written."
    elif record.purpose == "resume" and record.settings and record.parent:
        meant = _and([_meant(setting) for setting in record.settings])
        yield f"Run {record.parent} was gone on with: {meant}; no more was written."
    elif not commands:
        yield f"Nothing was changed on {record.target}."
    if commands:
        names = _and([one_line(command.summary or command.id, 80) for command in commands])
        yield f"Commands that change the host were run: {names}."
    if record.outcome is Outcome.ROLLED_BACK:
        yield "The old state was put back and is proven to serve."
    elif (made or record.purpose == "resume") and record.capacity and record.capacity.decode:
        yield f"Expected there: {one_line(record.capacity.decode.text, 300)}."
    if record.outcome is Outcome.ROLLBACK_FAILED:
        yield "Putting the old state back was begun and is not proven: look at the host."
    if unknown := [change for change in record.changes if change.state == "unknown"]:
        names = _and([one_line(change.summary or change.kind, 80) for change in unknown])
        yield f"It is not known whether this happened: {names}."


def _meant(setting: RecordSetting) -> str:
    return f"{setting.setting} from {_short(setting.before)} to {_short(setting.after)}"


def _was(setting: RecordSetting) -> str:
    if setting.before is None:
        return f"{setting.setting} was added as {_short(setting.after)}"
    if setting.after is None:
        return f"{setting.setting} was taken away (it was {_short(setting.before)})"
    return f"{setting.setting} was changed from {_short(setting.before)} to {_short(setting.after)}"


def _believed(record: Record) -> Iterator[str]:
    match record.outcome:
        case Outcome.VERIFIED | Outcome.VERIFIED_INCOMPLETE:
            yield from _proof(record)
            if record.outcome is Outcome.VERIFIED_INCOMPLETE:
                yield f"A later step did not go well: {_sentence(record.message)}"
        case Outcome.APPLIED_UNVERIFIED:
            yield (
                "A process runs it, but that it serves is not proven."
                if record.live
                else "It is on disk only and takes effect at the next restart."
            )
            if record.message:
                yield f"What ended the run: {_sentence(record.message)}"
        case Outcome.NO_CHANGE | Outcome.MEASURED:
            pass
        case _:
            if record.message:
                yield f"What ended the run: {_sentence(record.message)}"


def _agreed(level: LevelsRead) -> str:
    """What is served; of a window that slots share also what one request gets of it."""
    given, served = level.running or level.disk or "", level.serving or ""
    if level.setting == "context_length" and given.isdigit() and served.isdigit() and int(served) < int(given):
        return f"{given}, shared by its slots: a request gets {served}"
    return _short(level.serving or given)


def _proof(record: Record) -> Iterator[str]:
    findings = {finding.name: finding for finding in record.findings}
    agreeing = [level for level in record.levels if level.agree]
    if agreeing and len(agreeing) == len(record.levels):
        said = _and([f"{level.named} {_agreed(level)}" for level in agreeing])
        yield f"It is believed to serve because what is on disk, loaded, running and serving agrees ({said})."
    if prompt := findings.get("prompt_tokens"):
        took = findings.get("probe_time")
        yield (
            f"A request of {figure(prompt.value)} prompt tokens was answered"
            f"{f' in {figure(took.value)} {took.unit}' if took else ''}."
        )
    if pool := findings.get("pool_tokens"):
        predicted = pool.figures.get("predicted")
        off = f", {_off(pool.value, predicted)} the predicted {figure(predicted)}" if predicted else ""
        yield f"The KV pool holds {figure(pool.value)} tokens{off}."
    restart = [step for step in record.steps if step.uses in ("service.restart", "service.wait_ready")]
    restarted = any(change.kind == "restart" and change.state in ("made", "undone") for change in record.changes)
    waited = sum(step.duration_s for step in restart if not step.id.startswith("undo-"))
    if restarted and waited:
        yield f"From the restart to ready took {span(waited)}."


def _off(value: float | int | str, predicted: float) -> str:
    """`exactly`, or by how much a figure is beside what was predicted."""
    share = float(value) / predicted - 1 if isinstance(value, int | float) else 0.0
    return "exactly" if abs(share) < 5e-5 else f"{share:+.2%} beside"


def _sentence(text: str) -> str:
    flat = one_line(text, 400)
    return flat if flat.endswith((".", "!", "?", "…")) else f"{flat}."


def _and(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else ""


def _wrapped(text: str) -> str:
    """One paragraph; a line of `---` would end the message for `git am` and `git interpret-trailers`."""
    flat = re.sub(r"-{3,}", "–", one_line(text))
    return textwrap.fill(flat, WIDTH, break_long_words=False, break_on_hyphens=False)


def trailers(record: Record) -> Iterator[tuple[str, str]]:
    """Every trailer in its order, values on one line and never empty."""
    for name, value in _all(record):
        text = one_line(value, 0 if name in STRUCTURED else VALUE_CHARACTERS)
        if text:
            yield name, text


def _all(record: Record) -> Iterator[tuple[str, str]]:
    yield "Run-Id", record.run
    yield "Parent", record.parent
    yield "Target", record.target
    digest = f" sha256:{record.runbook_sha256}" if record.runbook_sha256 else ""
    yield "Runbook", f"{record.runbook}{digest}"
    yield "Unit", record.unit
    yield from (("Change", text) for text in _changes(record))
    yield from (("Observed", observed_told(one).line) for one in record.observed)
    if record.purpose == "adopt" and record.stack_before is not None:
        yield from (("Setting", f"{word(n)} {word(v)}") for n, v in record.stack_before.settings.items())
    yield "Outcome", record.outcome.value
    yield "Finished", record.finished_at
    yield "Outage", "" if record.outage_s is None else f"{record.outage_s:.0f}s"
    yield "Reason", record.reason
    yield "Ticket", record.ticket
    yield "Operator", record.operator
    yield "Taken-Over-From", record.taken_over_from
    yield (
        "Operator-Auth",
        ", ".join(
            part for part in (record.operator_auth, f"from {record.from_host}" if record.from_host else "") if part
        ),
    )
    yield from (("Finding", finding_told(finding).line) for finding in record.findings)
    for kind, name in (("ruled_out", "Ruled-out"), ("cause", "Cause"), ("lever", "Lever")):
        for rank, one in enumerate(ranked(record, kind), start=1):
            number = f"{rank} " if kind == "lever" else ""
            gain = f" = {figure(one.gain)}x" if one.gain is not None else ""
            evidence = f" ({one.evidence})" if one.evidence else ""
            yield name, f"{number}{one.text}{gain}{evidence}"
    yield from stack_trailers(record)
    if record.simulated:
        yield "Simulated", "yes"


def ranked(record: Record, kind: str) -> list[ConclusionMade]:
    """The conclusions of a kind; levers with the largest gain first."""
    found = [one for one in record.conclusions if one.kind == kind]
    return sorted(found, key=lambda one: -(one.gain or 0.0)) if kind == "lever" else found


def _changes(record: Record) -> Iterator[str]:
    """What stood on the host at some time of the run: settings, commands, or else the restart."""
    made = [ChangeTold(s.setting, s.before, s.after).sentence for s in record.settings if s.made]
    commands = [
        f"command {_plain(c.summary or c.id)}"
        for c in record.changes
        if c.kind == "command" and c.state in ("made", "undone")
    ]
    yield from (*made, *commands)
    if not made and not commands:
        yield from (
            f"restart {record.unit}" for c in record.changes if c.kind == "restart" and c.state in ("made", "undone")
        )


def _plain(text: str) -> str:
    """What a command was for, so that it does not read like a setting."""
    flat = one_line(text, VALUE_CHARACTERS)
    return quoted(flat) if read_change(f"command {flat}") else flat


def _unit(name: str, unit: str) -> str:
    """The unit, where the name does not already say it."""
    return "" if unit == "tokens" or name.endswith(f"_{unit}") else unit
