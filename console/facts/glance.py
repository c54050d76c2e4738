"""A look that may be had every ten seconds: one script on the host, no sudo, and only what an engine tells for free."""

from __future__ import annotations

from console.clock import stamp
from console.engines.base import Engine
from console.facts.collect import ask_serving, learn
from console.facts.look import look
from console.facts.parse import parse_guard, parse_host, parse_lock, parse_process, with_load
from console.remote.files import parse_files
from console.remote.session import Reader
from console.remote.systemd import parse_unit
from console.schema.facts import Facts
from console.schema.hosts import Target
from console.untrusted import decode

# Of the host: asked for with sudo, or told by a whole look only.
KEPT = ("hostname", "kernel", "os", "systemd_version", "sudo", "free_bytes_unit_folder", "xid_lines", "xid_reason")
COST = "one exec a host, GET requests only, no sudo"


def unprivileged(target: Target) -> Target:
    """The target, looked at without sudo whatever the inventory allows."""
    return target.model_copy(update={"host": target.host.model_copy(update={"sudo": "never"})})


async def glance(reader: Reader, engine: Engine, before: Facts | None = None) -> Facts:
    """What moves: unit, files, process, GPUs, lock, guard, and what is served. Raises ConnectError.

    What needs root or the journal is of `before`, the last whole look, where the host was not booted since: ledger,
    Xid lines, load times, paths.
    """
    target = reader.target
    output = await look(reader, what="glance")
    sections = output.sections
    unit = parse_unit(decode(sections.get("unit", b"")), target.service.unit)
    process = parse_process(sections)
    files = parse_files(sections)
    learn(reader.redactor, unit, process, files)
    serving, reason = await ask_serving(reader, engine, unit, process)
    host = parse_host(sections)
    host = host.model_copy(update={"gpus": with_load(host.gpus, sections.get("gpu_load", b""))})
    if before is not None and before.host.boot_id == host.boot_id:
        host = host.model_copy(update={name: getattr(before.host, name) for name in KEPT})
    fresh = Facts(
        target=target.name,
        read_at=stamp(reader.clock.now()),
        host=host,
        unit=unit,
        files=files,
        process=process,
        serving=serving,
        serving_reason=reason,
        lock=parse_lock(sections.get("lock", b"")),
        guard=parse_guard(sections.get("guard", b""), host.uptime_s, b"", files),
    )
    if before is None:
        return fresh
    same = before.unit.invocation_id == unit.invocation_id
    return fresh.model_copy(
        update={
            "ledger": before.ledger,
            "paths": before.paths,
            "load_times_s": before.load_times_s if same else (),
            "prefill_tok_s": before.prefill_tok_s if same else None,
        }
    )
