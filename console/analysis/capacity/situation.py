"""What was seen of a target, as far as memory and limits go: the instance as it runs, its model and its draft."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from console.analysis.capacity.architecture import Architecture
from console.analysis.capacity.cache import Cell, cache_dtype, cell_of, eagle_share
from console.analysis.capacity.config import read_architecture
from console.analysis.capacity.limits import Limit, derived_limit, draft_is_a_model, override_is_set
from console.analysis.capacity.setup import Setup, overrides, setup_of
from console.engines.base import Engine
from console.schema.facts import Facts, MemoryLog, ModelConfig
from console.settings import resolve
from console.settings.flags import sought, value_in
from console.settings.log_path import log_path

# Drafts that SGLang sizes as more layers of the target, whatever their own heads are.
_LIKE_TARGET = frozenset({"EAGLE", "EAGLE3", "NEXTN"})


@dataclass(frozen=True)
class Situation:
    """An instance and what is known of its memory. `missing`: what could not be seen, in words."""

    setup: Setup
    architecture: Architecture
    draft: Architecture | None = None
    window: int | None = None  # as served now
    pool_tokens: int | None = None  # as served now
    reserved_tokens: int = 0
    gpu_gib: float | None = None
    gpus: int = 0
    gpus_free_gib: float | None = None  # of all together, as things are
    log: MemoryLog = field(default_factory=MemoryLog)
    weights_gib: float | None = None  # on one GPU
    draft_weights_gib: float | None = None  # on all GPUs together
    load_s: float | None = None
    missing: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    reported: Mapping[str, str] = field(default_factory=dict)

    def limit(self) -> Limit | None:
        """What the engine derives, where its own word is not known from a command line that leaves it open."""
        if self.window is not None and self.setup.window_text is None and self.setup.engine != "llamacpp":
            return Limit(self.window, "as the engine itself derives it: the command line gives no window")
        return self._not_beaten(derived_limit(self.architecture, self.setup.engine))

    def draft_limit(self) -> Limit | None:
        return self._not_beaten(derived_limit(self.draft, self.setup.engine)) if self.draft else None

    def _not_beaten(self, limit: Limit | None) -> Limit | None:
        """A limit that the running instance exceeds without an override was not derived as the engine does."""
        beaten = limit is not None and self.window is not None and self.window > limit.tokens
        if beaten and not override_is_set(self.setup.override, self.setup.engine, self.setup.version):
            return None
        return limit


def situation_of(facts: Facts, engine: Engine) -> Situation:
    """Out of facts. The running argv counts; where nothing runs, what the files say."""
    unit = resolve.unit_of(facts)
    on_disk = resolve.environment_on_disk(unit)
    words = list(facts.process.argv) or resolve.argv_on_disk(unit, on_disk) or []
    environment = facts.process.environment if facts.process.pid else on_disk
    serving = facts.serving
    version = serving.version if serving else None
    reported = dict(serving.settings) if serving else {}
    setup = setup_of(words, environment, engine, version=version, reported=reported)
    missing: list[str] = []
    architecture, draft = Architecture(unknown="no config.json was read"), None
    by_role = {model.role: model for model in facts.models}
    model = by_role.get("model")
    if model is None:
        missing.append("the model: the command line names none that could be read")
    elif model.error:
        missing.append(f"the model's config.json: {model.error}")
        architecture = Architecture(unknown=model.error)
    else:
        architecture = read_architecture(model.content, overrides(words))
    drafting = draft_is_a_model(setup.algorithm, setup.draft_path)
    if drafting:
        drawn = by_role.get("draft")
        if drawn is None or drawn.error:
            reason = drawn.error if drawn else "it was not looked for"
            missing.append(f"the draft's config.json: {reason}")
        else:
            draft = read_architecture(drawn.content)
    if architecture.unknown and model is not None and not model.error:
        missing.append(f"bytes of a token: {architecture.unknown}; only what the running pool shows is used")
    pool = _pool(facts, setup)
    if pool is None and not (serving is not None and serving.pool_follows_window):
        missing.append(f"the running pool: {facts.serving_reason or 'not reported'}")
    if not facts.memory.pools and serving is not None and (path := log_path(facts.files)):
        missing.append(f"the log of this start: it goes to {path}, not to the journal, so nothing calibrates the bytes")
    gpu_gib = min((gpu.memory_total_mib for gpu in facts.host.gpus), default=0) / 1024 or None
    if gpu_gib is None:
        missing.append(f"the GPUs' memory: {facts.host.gpu_reason or 'not seen'}")
    weights = facts.memory.weights_gib
    if weights is None and model is not None and model.weights_bytes:
        weights = model.weights_bytes / 1024**3 / max(setup.parallel.tensor * setup.parallel.pipeline, 1)
    return Situation(
        setup=setup,
        architecture=architecture,
        draft=draft,
        window=serving.context_length if serving else None,
        pool_tokens=pool,
        reserved_tokens=serving.reserved_tokens if serving else 0,
        gpu_gib=gpu_gib,
        gpus=len(facts.host.gpus),
        gpus_free_gib=sum(gpu.memory_total_mib - gpu.memory_used_mib for gpu in facts.host.gpus) / 1024 or None,
        log=facts.memory,
        weights_gib=weights,
        draft_weights_gib=_weights_gib(by_role.get("draft")),
        load_s=facts.load_times_s[0] if facts.load_times_s else None,
        missing=tuple(missing),
        words=tuple(words),
        environment=dict(environment),
        reported=reported,
    )


def _weights_gib(model: ModelConfig | None) -> float | None:
    return model.weights_bytes / 1024**3 if model is not None and model.weights_bytes else None


def _pool(facts: Facts, setup: Setup) -> int | None:
    """Tokens of the pool that runs. vLLM's metrics count the blocks of one rank, its log those of all of them."""
    told = facts.serving.pool_tokens if facts.serving else None
    logged = max((line.tokens for line in facts.memory.pools), default=0)
    if setup.engine == "vllm" and logged and facts.serving is not None:
        return logged if told is None or setup.parallel.decode_context > 1 else told
    return told


def planned_setup(situation: Situation, words: Sequence[str], environment: Mapping[str, str], engine: Engine) -> Setup:
    """The setup of another command line on the same host.

    What neither line gives stays as the engine reports it; what only the running one gives is gone.
    """
    reported = {
        name: value
        for name, value in situation.reported.items()
        if name != "context_length" and not _given(name, situation.words, engine)
    }
    return setup_of(words, environment, engine, version=situation.setup.version, reported=reported)


def _given(setting: str, words: Sequence[str], engine: Engine) -> bool:
    return setting in engine.spellings and value_in(words, engine, sought(engine, setting=setting)) is not None


def cell(setup: Setup, architecture: Architecture, draft: Architecture | None) -> Cell | None:
    """A token's bytes on one GPU, the draft's included; None where the model's are not known."""
    target = cell_of(
        architecture,
        setup.parallel,
        cache_dtype(setup.cache_dtype, architecture),
        value_dtype=setup.value_cache_dtype,
        window_share=setup.window_share,
    )
    if target is None or not draft_is_a_model(setup.algorithm, setup.draft_path):
        return target
    return target.with_draft(draft_bytes(setup, architecture, draft, target))


def draft_bytes(setup: Setup, architecture: Architecture, draft: Architecture | None, target: Cell) -> float:
    """The draft's cache a token. SGLang counts an EAGLE draft as that many layers more of the target."""
    if (setup.engine == "sglang" and setup.algorithm.upper() in _LIKE_TARGET) or draft is None:
        layers = draft.layer_count if draft and draft.layer_count else 1
        return eagle_share(target, architecture.caching_layers, layers)
    asked = setup.draft_cache_dtype or (setup.cache_dtype if setup.cache_dtype != "auto" else "")
    whole = type(setup.parallel)(setup.parallel.tensor, 1, setup.parallel.attention_data, 1)
    own = cell_of(draft, whole, cache_dtype(asked, draft))
    return own.growing + own.windowed if own else eagle_share(target, architecture.caching_layers, 1)
