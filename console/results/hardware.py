"""On what a run was made: engine, model, parallelism and GPUs, as trailers, from the facts of its record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from console.schema.record import Record

_PRECISION = ("dtype", "quantization", "kv_cache_dtype")
_PARALLEL = {
    "tensor_parallel": "tp",
    "data_parallel": "dp",
    "pipeline_parallel": "pp",
    "expert_parallel": "ep",
    "nodes": "nodes",
}
_SCHEDULER = ("max_running_requests", "chunked_prefill_size", "mem_fraction")


def trailers(record: Record) -> Iterator[tuple[str, str]]:
    """`Engine`, `Model`, `Precision`, `Parallelism`, `Hardware`, `Scheduler`; what is not known is left out."""
    facts = record.facts_after or record.facts_before
    serving = _table(facts.get("serving")) or _table(record.facts_before.get("serving"))
    settings = _table(serving.get("settings"))
    yield "Engine", " ".join(str(part) for part in (record.engine, serving.get("version")) if part)
    yield "Model", str(serving.get("model") or "")
    yield "Precision", _pairs({name: name for name in _PRECISION}, settings)
    yield "Parallelism", _pairs(_PARALLEL, settings)
    yield "Hardware", _gpus(_table(facts.get("host")))
    yield "Scheduler", _pairs({name: name for name in _SCHEDULER}, settings)


def _gpus(host: Mapping[str, Any]) -> str:
    """`8 x NAME 97894MiB driver=…`, one part for each kind of GPU."""
    counts: dict[tuple[str, str], int] = {}
    gpus = host.get("gpus")
    driver = ""
    for gpu in gpus if isinstance(gpus, list | tuple) else ():
        table = _table(gpu)
        kind = (str(table.get("name", "")), str(table.get("memory_total_mib", "")))
        counts[kind] = counts.get(kind, 0) + 1
        driver = str(table.get("driver") or driver)
    kinds = [f"{count} x {name} {memory}MiB" for (name, memory), count in counts.items()]
    return ", ".join(kinds) + (f" driver={driver}" if driver else "")


def _pairs(names: Mapping[str, str], settings: Mapping[str, Any]) -> str:
    return " ".join(
        f"{shown}={settings[name]}" for name, shown in names.items() if settings.get(name) not in (None, "")
    )


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
