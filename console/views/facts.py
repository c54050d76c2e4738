"""Everything that was seen of a target, on one screen."""

from __future__ import annotations

from collections.abc import Sequence

from console.schema.facts import Facts, Gpu, LedgerEntry, UnitFile
from console.settings.levels import Levels
from console.views.answers import labelled
from console.views.cells import cells, pad
from console.views.figures import clock_s, day, number
from console.views.levels import levels_table

GIB = 1024**3


def facts_text(facts: Facts, levels: Sequence[Levels], width: int = 80, odd: Sequence[str] = ()) -> str:
    """Host, unit, process, engine, GPUs, lock, ledger and the four levels of `levels`, in lines of `width` cells.

    `odd`: what the unit does that nobody meant.
    """
    time = clock_s(facts.read_at)
    name = f"{facts.target}  {facts.unit.id}{'  simulated' if facts.host.simulated else ''}"
    said = [f"{pad(name, max(8, width - cells(time) - 2))}  {time}".rstrip()]
    for label, texts in (
        ("HOST", _host(facts)),
        ("UNIT", _unit(facts)),
        ("FILES", [_file(file) for file in facts.files]),
        ("ODD", list(odd)),
        ("PROCESS", _process(facts)),
        ("ENGINE", _engine(facts)),
        ("GPUS", _gpus(facts)),
        ("STARTS", _starts(facts)),
        ("LOCK", [_lock(facts)]),
        ("GUARD", _guard(facts)),
        ("LEDGER", _ledger(facts.ledger)),
    ):
        said += labelled(label, texts, width)
    if levels:
        said += ["", *levels_table(levels, width)]
    said += ["", f"next: console plan RUNBOOK {facts.target}"]
    return "\n".join(said)


def _host(facts: Facts) -> list[str]:
    host = facts.host
    days, hours = divmod(int(host.uptime_s) // 3600, 24)
    up = f"up {days} d {hours} h" if days else f"up {hours} h {int(host.uptime_s) % 3600 // 60:02d} min"
    systemd = f"systemd {host.systemd_version}" if host.systemd_version else ""
    first = [host.hostname, host.os, host.kernel, systemd, up, f"boot {host.boot_id[:8]}" if host.boot_id else ""]
    said = [", ".join(text for text in first if text)]
    said.append(f"{host.login_user or 'unknown user'}, sudo: {host.sudo}")
    free = host.free_bytes_unit_folder
    if free is not None:
        said[-1] += f", {free / GIB:.1f} GiB free for unit files"
    said += [f"Xid: {line}" for line in host.xid_lines[-3:]]
    said += [f"Xid lines cannot be seen: {host.xid_reason}"] if host.xid_reason else []
    if host.driver_mismatch:
        said.append(f"DRIVER: kernel {host.kernel_driver}, libraries {host.library_driver}: nothing will start again")
    return said


def _unit(facts: Facts) -> list[str]:
    unit = facts.unit
    state = f"{unit.active_state or 'unknown'} ({unit.sub_state or '-'}), {unit.unit_file_state or 'no install state'}"
    restarts = f", restarted by systemd {unit.n_restarts}×" if unit.n_restarts else ""
    said = [f"{state}{restarts}, invocation {unit.invocation_id[:8] or 'none'}"]
    if unit.load_state not in ("loaded", ""):
        said.append(f"load state: {unit.load_state}")
    if unit.need_daemon_reload:
        said.append("files changed since systemd read them: needs a daemon-reload")
    if unit.job:
        said.append(f"job in the queue: {unit.job}")
    return said


def _file(file: UnitFile) -> str:
    note = "missing" if file.missing else file.error or f"{file.size} bytes, sha256 {file.sha256[:8]}"
    link = f" -> {file.real_path}" if file.real_path not in ("", file.path) else ""
    return f"{file.path}{link} ({file.kind}, {note})"


def _process(facts: Facts) -> list[str]:
    process, unit = facts.process, facts.unit
    said = []
    if process.pid:
        own = (
            "" if process.pid == unit.main_pid or not unit.main_pid else f", main process of the unit: {unit.main_pid}"
        )
        said.append(f"pid {process.pid} owns the port, {len(process.argv)} words{own}")
    else:
        said.append(f"n/a: {process.reason or 'none'}")
    if process.foreign_pid:
        said.append(f"the port is held by process {process.foreign_pid}, which is not of this unit")
    return said


def _engine(facts: Facts) -> list[str]:
    serving = facts.serving
    if serving is None:
        return [f"n/a: {facts.serving_reason or 'it did not answer'}"]
    if serving.refused:
        return ["it refused our key (401 or 403)"]
    said = [", ".join(text for text in (serving.model or "", serving.version or "") if text) or "it answers"]
    figures = (
        ("context", serving.context_length),
        ("pool", serving.pool_tokens),
        ("largest request", serving.largest_request_tokens),
    )
    seen = [f"{name} {number(value)}" for name, value in figures if value is not None]
    said += [", ".join(seen) + " tokens"] if seen else []
    running = "n/a" if serving.running_requests is None else str(serving.running_requests)
    queued = "n/a" if serving.queued_requests is None else str(serving.queued_requests)
    foreign = facts.foreign_requests_60s
    others = "cannot be seen" if foreign is None else str(foreign)
    return [*said, f"requests: {running} running, {queued} queued; not ours in the last minute: {others}"]


def _gpus(facts: Facts) -> list[str]:
    if not facts.host.gpus:
        return [f"n/a: {facts.host.gpu_reason or 'none'}"]
    alike: dict[tuple[str, int], list[Gpu]] = {}
    for gpu in facts.host.gpus:
        alike.setdefault((gpu.name, gpu.memory_total_mib), []).append(gpu)
    return [_gpus_alike(gpus) for gpus in alike.values()]


def _gpus_alike(gpus: Sequence[Gpu]) -> str:
    """`2 x NAME, 81,559 MiB each; used: 0: 71,234, 1: 71,230`."""
    first = gpus[0]
    used = {gpu.memory_used_mib for gpu in gpus}
    each = ", ".join(f"{gpu.index}: {gpu.memory_used_mib:,}" for gpu in gpus)
    in_use = f"{first.memory_used_mib:,} each" if len(used) == 1 else each
    return f"{len(gpus)} x {first.name}, {first.memory_total_mib:,} MiB; used: {in_use}"


def _starts(facts: Facts) -> list[str]:
    if not facts.load_times_s:
        return ["no earlier start in the journal"]
    return [", ".join(f"{seconds:.0f} s" for seconds in facts.load_times_s[:8]) + " from start to ready, newest first"]


def _lock(facts: Facts) -> str:
    lock = facts.lock
    if not lock.held:
        return "free"
    return f"held by run {lock.run} of {lock.operator} from {lock.from_host} since {day(lock.since)}"


def _guard(facts: Facts) -> list[str]:
    guard = facts.guard
    if not guard.run:
        return []
    due = "" if guard.fires_in_s is None else f", it looks in {guard.fires_in_s:.0f} s"
    return [f"armed by run {guard.run}{due}"]


def _ledger(entries: Sequence[LedgerEntry]) -> list[str]:
    if not entries:
        return ["empty"]
    standing = {"open": "", "undoing": " (being put back)", "guard": " (put back by the guard)"}
    waiting = [
        f"OPEN{standing[entry.state]} {entry.run} {day(entry.at)} {entry.operator}: {entry.summary or entry.reason}"
        for entry in entries
        if entry.open
    ]
    closed = [entry for entry in entries if not entry.open]
    newest = [f"{entry.state} {entry.run} {day(entry.at)} {entry.operator}: {entry.summary}" for entry in closed[:3]]
    more = [f"and {len(closed) - 3} earlier ones"] if len(closed) > 3 else []
    return [*waiting, *newest, *more]
