"""On what a run was made: the stack of its record, out of its facts, and the trailers that tell it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from console.engines.base import Engine
from console.engines.registry import engine_named
from console.errors import UsageError
from console.schema.record import Accelerator, Record, Stack
from console.settings.flags import sought, value_in

PRECISION = ("dtype", "quantization", "kv_cache_dtype", "draft_kv_cache_dtype")
PARALLELISM = {
    "tensor_parallel": "tp",
    "data_parallel": "dp",
    "pipeline_parallel": "pp",
    "expert_parallel": "ep",
    "decode_context_parallel": "dcp",
    "nodes": "nodes",
}
SPECULATION = ("speculative_algorithm", "draft_model_path", "draft_steps", "draft_top_k", "draft_tokens")
SCHEDULER = (
    "max_running_requests", "chunked_prefill_size", "max_prefill_tokens", "mem_fraction", "max_total_tokens",
    "page_size", "disable_prefix_cache",
)  # fmt: skip
_IMAGE = re.compile(r"\S+@sha256:[0-9a-f]{64}|[a-z0-9.-]+(?::\d+)?(?:/[a-z0-9._-]+)+:[A-Za-z0-9._-]+")


def stack_of(engine: str, facts: Mapping[str, Any]) -> Stack | None:
    """The stack that a target's facts show; None where there are none."""
    if not facts:
        return None
    host, process, unit = (_table(facts.get(name)) for name in ("host", "process", "unit"))
    serving = _table(facts.get("serving"))
    argv = _words(process.get("argv"))
    loaded = _words(unit.get("exec_start"))
    words = argv or (loaded[0].split() if loaded else [])
    given = settings_in(engine, words)
    told = {name: str(value) for name, value in _table(serving.get("settings")).items() if value not in (None, "")}
    known = told | given
    models = facts.get("models")
    configs = [_table(each) for each in models] if isinstance(models, list | tuple) else []
    config = next((each for each in configs if each.get("role") == "model"), {})
    stack = Stack(
        engine=engine,
        version=str(serving.get("version") or ""),
        image=next((word for word in words if _IMAGE.fullmatch(word)), ""),
        model=str(serving.get("model") or given.get("served_model_name") or given.get("model_path") or ""),
        model_path=given.get("model_path", ""),
        model_revision=str(config.get("sha256") or known.get("revision") or ""),
        precision=_some(PRECISION, known),
        parallelism={short: known[name] for name, short in PARALLELISM.items() if known.get(name)},
        speculation=_some(SPECULATION, known),
        scheduler=_some(SCHEDULER, known),
        settings=given,
        environment={str(name): str(value) for name, value in _table(process.get("environment")).items()},
        argv=tuple(words),
        accelerators=tuple(_accelerators(host)),
        kernel=str(host.get("kernel") or ""),
        pool_tokens=serving.get("pool_tokens") if isinstance(serving.get("pool_tokens"), int) else None,
    )
    return stack.model_copy(update={"id": _digest(stack)})


def settings_in(engine: str, words: Sequence[str]) -> dict[str, str]:
    """Every setting that a command line gives, by its engine-neutral name, with the text in force."""
    try:
        spoken: Engine = engine_named(engine)
    except UsageError:
        return {}
    values = {name: value_in(words, spoken, sought(spoken, setting=name)) for name in spoken.spellings}
    return {name: value for name, value in values.items() if value is not None}


def trailers(record: Record) -> Iterator[tuple[str, str]]:
    """`Engine`, `Model`, `Precision` and so on; what is not known is left out."""
    stack = record.stack_after or record.stack_before
    if stack is None:
        stack = stack_of(record.engine, record.facts_after or record.facts_before) or Stack(engine=record.engine)
    yield "Engine", " ".join(part for part in (record.engine, stack.version) if part)
    revision = f" revision={stack.model_revision[:12]}" if stack.model_revision else ""
    yield "Model", f"{stack.model}{revision}" if stack.model else ""
    yield "Precision", _pairs(stack.precision)
    yield "Parallelism", _pairs(stack.parallelism)
    yield "Speculation", _pairs(stack.speculation)
    yield "Scheduler", _pairs(stack.scheduler)
    driver = next((one.driver for one in stack.accelerators if one.driver), "")
    kinds = [f"{one.count} x {one.model} {one.memory_mib}MiB" for one in stack.accelerators]
    clock = min((one.clock_mhz for one in stack.accelerators if one.clock_mhz is not None), default=None)
    yield (
        "Hardware",
        ", ".join(kinds) + (f" driver={driver}" if driver else "") + (f" clock={clock}MHz" if clock else ""),
    )
    yield "Router", record.router


def _accelerators(host: Mapping[str, Any]) -> Iterator[Accelerator]:
    """One for each kind of GPU, in the order the host lists them."""
    kinds: dict[tuple[str, int, str], list[int | None]] = {}
    gpus = host.get("gpus")
    for gpu in map(_table, gpus if isinstance(gpus, list | tuple) else ()):
        memory = gpu.get("memory_total_mib")
        kind = (str(gpu.get("name", "")), memory if isinstance(memory, int) else 0, str(gpu.get("driver") or ""))
        clock = gpu.get("clock_mhz")
        kinds.setdefault(kind, []).append(clock if isinstance(clock, int) else None)
    for (name, memory_mib, driver), clocks in kinds.items():
        slowest = min((clock for clock in clocks if clock is not None), default=None)
        yield Accelerator(model=name, count=len(clocks), memory_mib=memory_mib, driver=driver, clock_mhz=slowest)


def _digest(stack: Stack) -> str:
    """Twelve digits over what decides a figure; where the words stand does not, and a clock is another each time."""
    body = stack.model_dump(mode="json", exclude={"id", "argv", "pool_tokens"})
    for one in body["accelerators"]:
        one["clock_mhz"] = None
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:12]


def _some(names: Sequence[str], known: Mapping[str, str]) -> dict[str, str]:
    return {name: known[name] for name in names if known.get(name)}


def _pairs(values: Mapping[str, str]) -> str:
    return " ".join(f"{name}={value}" for name, value in values.items())


def _words(value: Any) -> list[str]:
    return [str(word) for word in value] if isinstance(value, list | tuple) else []


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
