"""Everything a plan needs of one target: one script on its host, and what its engine says of itself."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Mapping, Sequence
from datetime import datetime
from typing import Any

from console.clock import stamp
from console.engines.base import Engine, Reply
from console.engines.marks import OURS
from console.facts import model_config
from console.facts.around import look_around
from console.facts.journal import JournalLine, last_start, parse_journal, parse_log
from console.facts.look import FACTS_TIMEOUT_S, look
from console.facts.memory import memory_of
from console.facts.parse import (
    pairs,
    parse_guard,
    parse_host,
    parse_ledger,
    parse_lock,
    parse_paths,
    parse_process,
    parse_software,
    parse_user_units,
)
from console.remote import ahead
from console.remote.files import parse_files
from console.remote.scripts import Output
from console.remote.session import Reader
from console.remote.sudo import PROBED, commands, decoded, encoded
from console.remote.systemd import parse_unit
from console.schema.facts import Facts, LogFile, Process, UnitFile, UnitState
from console.schema.hosts import Target
from console.schema.serving import Serving
from console.secrets import Redactor, is_secret_name
from console.settings.drop_in import NAMES, not_ours, own_folder
from console.settings.resolve import unit_of
from console.untrusted import decode, one_line

# Lines of a log file that are kept of this start: the first ones tell how it loaded, the last ones how it runs.
LOG_HEAD, LOG_TAIL = 600, 400
# A batch smaller than this says how long the GPU waited, not how fast it is.
TELLING_PREFILL_TOKENS = 512
ELSEWHERE = "another rank of the engine serves"


async def collect(reader: Reader, engine: Engine, *, patience_s: float = 0.0) -> Facts:
    """Read a target. Raises ConnectError; what could not be seen on the host is said in the facts.

    The other hosts of the same engine are read as well, where `reader` has them.
    """
    return await _together([_collect(each, engine, patience_s) for each in (reader, *reader.nodes)])


async def collect_again(reader: Reader, engine: Engine, before: Facts | None, *, patience_s: float = 0.0) -> Facts:
    """What may have changed: one quick script on each host, and nothing of what is served.

    Unit, files and process; nothing of the journal, the GPUs or the ledger. Of a process that is still the main one of
    the same start as `before` nothing is asked.
    """
    readers = (reader, *reader.nodes)
    known = [None] * len(readers) if before is None else [before, *before.nodes]
    looks = [_again(each, engine, there, patience_s) for each, there in zip(readers, known, strict=True)]
    return await _together(looks)


async def _together(looks: Sequence[Awaitable[Facts]]) -> Facts:
    facts, *nodes = await asyncio.gather(*looks) if len(looks) > 1 else [await looks[0]]
    return facts.model_copy(update={"nodes": tuple(nodes)}) if nodes else facts


async def _again(reader: Reader, engine: Engine, before: Facts | None, patience_s: float) -> Facts:
    what = "again"
    if before is not None and 0 < before.process.pid == before.unit.main_pid:
        what = f"again:{before.unit.invocation_id}:{before.unit.main_pid}"
    output = await look(reader, what=what, patience_s=patience_s)
    if _meets_sudo(reader, output):
        return await _again(reader, engine, before, patience_s)
    return _read(reader, engine, output, before)


async def _collect(reader: Reader, engine: Engine, patience_s: float) -> Facts:
    if (facts := await ahead.taken(reader)) is not None:
        return facts
    return await of_output(reader, engine, await look(reader, patience_s=patience_s), patience_s=patience_s)


async def of_output(reader: Reader, engine: Engine, output: Output, *, patience_s: float = 0.0) -> Facts:
    """The facts of one host whose first script has answered. Raises ConnectError."""
    if _meets_sudo(reader, output):
        return await _collect(reader, engine, patience_s)
    facts = _read(reader, engine, output)
    asked = model_config.question(engine, facts)
    (serving, reason), (around, beyond) = await asyncio.gather(
        ask_serving(reader, engine, facts.unit, facts.process, patience_s),
        look_around(reader, facts, then=asked.script, patience_s=patience_s),
    )
    silent = await reader.router_silent() if reader.target.service.router else ""
    host = facts.host
    if host.sudo == "limited":
        missing, for_new = await _missing(reader, facts, patience_s)
        host = host.model_copy(update={"sudo_missing": missing, "sudo_missing_for_new": for_new})
    return facts.model_copy(
        update={
            "serving": serving,
            "serving_reason": reason,
            "models": asked.read(beyond.sections),
            "around": around,
            "host": host,
            "router_silent": silent,
        }
    )


def _meets_sudo(reader: Reader, output: Output) -> bool:
    """Whether sudo asked for something that the next try of the same script will have."""
    return reader.use_sudo(pairs(output.sections.get("host", b"")).get("sudo", ""))


def _read(reader: Reader, engine: Engine, output: Output, before: Facts | None = None) -> Facts:
    """What the host said, as values; the redactor learns what in it is secret."""
    target, sections = reader.target, output.sections
    unit = parse_unit(decode(sections.get("unit", b"")), target.service.unit)
    same = before if "as_before" in sections else None
    process = same.process if same else parse_process(sections)
    files = parse_files(sections)
    learn(reader.redactor, unit, process, files)
    head = parse_journal(sections.get("journal_head", b""), reader.redactor, engine).lines
    tail = (
        parse_journal(sections["journal_tail"], reader.redactor, engine).lines if "journal_tail" in sections else head
    )
    log = same.log if same else log_of(sections)
    if log.path and not same:
        written = parse_log(sections.get("log", b""), reader.redactor, engine, unit.invocation_id)
        written = written[last_start(written) or 0 :]
        head, tail = (*written[:LOG_HEAD], *head), written[-LOG_TAIL:]
    host = parse_host(sections)
    host = host.model_copy(update={"skew_s": skew_s(host.now, output.asked, output.answered)})
    # A simulated host's journal keeps wall time; everything else of it is measured as if it ran at its own speed.
    speed = target.host.speed
    return Facts(
        target=target.name,
        read_at=stamp(reader.clock.now()),
        host=host,
        unit=unit,
        user_units=parse_user_units(sections.get("user_units", b"")),
        files=files,
        drop_in_folder=decode(sections.get("drop_in_folder", b"")).strip("\n"),
        drop_in_sharers=tuple(one_line(name) for name in decode(sections.get("drop_in_sharers", b"")).split()),
        process=process,
        serving_reason="it was not asked" if serves(target) else ELSEWHERE,
        paths=parse_paths(sections.get("paths", b"")),
        software=parse_software(sections.get("software", b"")),
        ledger=parse_ledger(sections.get("ledger", b"")),
        lock=parse_lock(sections.get("lock", b"")),
        guard=parse_guard(sections.get("guard", b""), host.uptime_s, sections.get("ledger", b""), files),
        load_times_s=load_times_s(head, speed),
        prefill_tok_s=prefill_tok_s([*head, *tail]),
        foreign_requests_60s=recent_requests(head, tail, host.now, speed),
        memory=memory_of(head),
        log=log,
        part=target.part,
    )


def serves(target: Target) -> bool:
    """Whether it is asked what is served: of an engine spread over hosts one rank answers, of a pair both parts."""
    return not target.rank or bool(target.part)


async def _missing(reader: Reader, facts: Facts, patience_s: float) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What a limited sudo would refuse in the middle of a run; apart from it what only a file to be made needs."""
    always = {encoded(words) for words in commands(reader.target, editable(facts), PROBED)}
    wanted = [encoded(words) for words in commands(reader.target, editable(facts), PROBED, new=makeable(facts))]
    output = await reader.look("look_sudo.sh", *wanted, timeout_s=FACTS_TIMEOUT_S, patience_s=patience_s)
    refused = output.text("refused_commands").split()
    missing = [each for each in refused if each in wanted]
    return (
        tuple(decoded(each) for each in missing if each in always),
        tuple(decoded(each) for each in missing if each not in always),
    )


def editable(facts: Facts) -> list[str]:
    """The files a run may replace: those that decide the unit, where they really lie."""
    return list(dict.fromkeys(file.real_path for file in facts.files if not file.missing and not file.error))


def makeable(facts: Facts) -> list[str]:
    """The drop-in that a run may make where the unit's own files are a package's, or many units'."""
    if not not_ours(unit_of(facts)):
        return []
    return [f"{facts.drop_in_folder or own_folder(facts.unit.id)}/{name}" for name in NAMES]


def skew_s(now: str, asked: datetime, answered: datetime) -> float | None:
    """How far a host's clock is from ours, at least: what lies between question and answer is nobody's."""
    try:
        there = datetime.fromisoformat(now)
    except ValueError:
        return None
    if there.tzinfo is None:
        return None
    if there < asked:
        return round((there - asked).total_seconds(), 3)
    return round(max(0.0, (there - answered).total_seconds()), 3)


def log_of(sections: Mapping[str, bytes]) -> LogFile:
    """The file that the engine writes its log to, where it is not the journal."""
    path, _, _ = decode(sections.get("log_file", b"")).partition("\n")
    return LogFile(path=path, position=decode(sections.get("log_at", b"")).strip()) if path else LogFile()


async def ask_serving(
    reader: Reader, engine: Engine, unit: UnitState, process: Process, patience_s: float = 0.0
) -> tuple[Serving | None, str]:
    """What the engine says, or why it was not asked."""
    if not serves(reader.target):
        return None, ELSEWHERE
    if unit.active_state != "active":
        return None, f"the unit is {unit.active_state or 'not known'}"
    if process.foreign_pid:
        return None, process.reason
    if not process.pid and process.reason.startswith("nothing listens"):
        return None, process.reason
    replies: dict[str, Reply] = {}
    for request in engine.status_requests():
        if request.unless and replies.get(request.unless, Reply(0)).status == 200:
            continue
        reply = await reader.fetch(request, patience_s=patience_s)
        learn_reply(reader.redactor, reply)
        replies[request.path] = reply
        if reply.status == 0:
            break  # it answers nothing now; the next question would wait as long
    serving = engine.read_serving(replies)
    if any(reply.status == 200 for reply in replies.values()) or serving.refused:
        return serving, "the engine refused our key" if serving.refused else ""
    last = list(replies.values())[-1] if replies else Reply(0, error="the engine has nothing to ask")
    return None, one_line(last.error or f"HTTP {last.status}", 200)


def learn(redactor: Redactor, unit: UnitState, process: Process, files: Sequence[UnitFile]) -> None:
    """Teach the redactor every secret a host's command lines, environments and files hold."""
    redactor.learn_words(process.argv)
    redactor.learn_environment(process.environment)
    for command in unit.exec_start:
        redactor.learn_words(command.split())
    for file in files:
        for line in decode(file.content).replace("\\\n", " ").splitlines():
            bare = line.strip().removeprefix("export ").removeprefix("Environment=").rstrip("\\")
            words = [word.strip("\"'") for word in bare.split()]
            redactor.learn_words(words)
            name, equals, value = bare.strip("\"'").partition("=")
            if equals and is_secret_name(name.strip()):
                redactor.learn(value.strip().strip("\"'"))


def learn_reply(redactor: Redactor, reply: Reply) -> None:
    """An engine's own account holds its keys in clear."""
    try:
        body: Any = json.loads(reply.body)
    except (ValueError, RecursionError):
        return
    _learn_tree(redactor, body)


def _learn_tree(redactor: Redactor, value: Any) -> None:
    if isinstance(value, Mapping):
        for name, item in value.items():
            if isinstance(item, str) and is_secret_name(str(name)):
                redactor.learn(item)
            else:
                _learn_tree(redactor, item)
    elif isinstance(value, list):
        if all(isinstance(item, str) for item in value):
            redactor.learn_words(value)
        for item in value:
            _learn_tree(redactor, item)


def load_times_s(head: Sequence[JournalLine], speed: float = 1.0) -> tuple[float, ...]:
    """Start to ready, out of the first lines of this invocation; empty where they do not reach that far."""
    ready = next((line.at for line in head if line.read is not None and line.read.kind == "ready"), None)
    if ready is None or not head[0].at:
        return ()
    return (round((ready - head[0].at) * speed, 1),)


def prefill_tok_s(lines: Sequence[JournalLine]) -> float | None:
    """The best rate of a telling prefill batch: an engine's figure counts the idle time before the batch, too."""
    rates = []
    for line in lines:
        if line.read is None or line.read.kind != "prefill":
            continue
        tokens, rate = line.read.values.get("new_tokens"), line.read.values.get("input_throughput")
        if isinstance(tokens, int | float) and isinstance(rate, int | float) and tokens >= TELLING_PREFILL_TOKENS:
            rates.append(float(rate))
    return max(rates, default=None)


def recent_requests(
    head: Sequence[JournalLine], tail: Sequence[JournalLine], now: str, speed: float = 1.0
) -> int | None:
    """Generations that others asked of it in the minute before `now`, the host's own; None where it logs no requests.

    Those before it was ready are the engine's own: it warms itself up.
    """
    lines = [*head, *tail]
    access = [line for line in lines if line.read is not None and line.read.kind == "access"]
    if not access or not all(line.at for line in access):
        return None
    ready = max((line.at for line in lines if line.read is not None and line.read.kind == "ready"), default=0.0)
    try:
        until = datetime.fromisoformat(now).timestamp()
    except ValueError:
        until = max(line.at for line in lines)
    recent = {
        line.cursor
        for line in access
        if line.read is not None
        and line.read.values.get("method") == "POST"
        and line.read.values.get("query") != OURS
        and line.at > ready
        and (until - line.at) * speed <= 60
    }
    return len(recent)
