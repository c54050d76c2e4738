"""llama.cpp: the cache follows the window, slots share it, and memory that is free decides."""

from __future__ import annotations

from typing import Any

from console.analysis.capacity.calibrate import calibrate
from console.analysis.capacity.judge import judge
from console.analysis.capacity.ladder import ladder
from console.analysis.capacity.setup import with_settings
from console.analysis.capacity.situation import situation_of
from console.engines.registry import engine_named
from console.facts.journal import JournalLine
from console.facts.memory import memory_of
from console.schema.capacity import Judgement
from console.schema.facts import Facts, Gpu, ModelConfig, Process
from console.schema.serving import Serving
from tests.analysis.capacity.gguf_bytes import PLAIN, SLIDING, header
from tests.fakes import facts, host

ENGINE = engine_named("llamacpp")
LINE = ("/opt/llama-server", "-m", "/srv/m.gguf", "-c", "16384")
CACHE = (
    "llama_kv_cache: size = 2048.00 MiB ( 16384 cells,  32 layers,  1/1 seqs), K (f16): 1024.00 MiB, V (f16): 1024 MiB"
)


def seen(
    *more: str,
    free_gib: int = 8,
    served: int = 16384,
    slots: int = 1,
    environment: dict[str, str] | None = None,
    model: dict[str, object] | None = None,
    log: str = CACHE,
    **changed: Any,
) -> Facts:
    cards = tuple(
        Gpu(index=n, name="GPU", memory_total_mib=24_576, memory_used_mib=24_576 - free_gib * 1024 // 2)
        for n in range(2)
    )
    said = Serving(model="m", context_length=served, pool_follows_window=True, slots=slots, settings={})
    config = ModelConfig(role="model", named="/srv/m.gguf", path="/srv/m.gguf", content=header(model or PLAIN))
    lines = [JournalLine(text, 0.0, "", "", ENGINE.read_log(text)) for text in log.splitlines()]
    return facts(
        host=host(gpus=cards),
        process=Process(pid=9, argv=(*LINE, *more), environment=environment or {}),
        serving=said,
        models=(config,),
        memory=memory_of(lines),
        **changed,
    )


def ask(facts: Facts, **settings: str) -> Judgement:
    what = situation_of(facts, ENGINE)
    return judge(what, with_settings(what.words, ENGINE, settings), what.environment, ENGINE)


def test_memory_that_is_free_holds_what_the_cache_grows_by() -> None:
    said = ask(seen(), context_length="65536")
    assert (said.verdict, said.pool_tokens, said.largest_tokens) == ("serves", 65536, 65535)
    assert "+6.00 GiB more than now, 8.00 GiB are free on 2 GPUs" in said.lines
    tight = ask(seen(free_gib=4), context_length="65536")
    assert tight.verdict == "will not start"
    assert "the cache grows by 6.00 GiB, only 4.00 GiB are free" in tight.sentence
    assert ask(seen(free_gib=4), context_length="8192").verdict == "serves", "a smaller one always fits"


def test_a_slot_is_cut_to_what_the_model_was_made_for() -> None:
    said = ask(seen(free_gib=40), context_length="100000")
    assert said.verdict == "starts but cannot serve"
    assert "cut to the 65,536 tokens" in said.sentence
    assert said.largest_tokens == 65535


def test_slots_share_the_window() -> None:
    shared = seen("-np", "4", served=4096, slots=4)
    said = ask(shared, context_length="32768")
    assert said.verdict == "starts but cannot serve"
    assert "4 slots share the window, a request gets 8,192 of it" in said.sentence
    assert ask(seen("-np", "4", "--kv-unified", slots=4), context_length="32768").verdict == "serves"
    assert ask(seen(slots=4), context_length="32768").verdict == "serves", "its own choice of slots is unified"


def test_a_window_of_0_is_the_models_own() -> None:
    said = ask(seen(free_gib=40), context_length="0")
    assert (said.verdict, said.window_tokens) == ("serves", 65536)


def test_a_cache_in_the_hosts_memory_is_not_seen() -> None:
    said = ask(seen("-ngl", "0"), context_length="65536")
    assert said.verdict == "unknown"
    assert "the host's free memory" in said.sentence
    assert "the cache of 65,536 tokens takes 8.00 GiB" in said.lines[1]


def test_the_window_may_be_a_variable_of_its_own() -> None:
    words = [word for word in LINE if word not in ("-c", "16384")]
    alone = seen(environment={"LLAMA_ARG_CTX_SIZE": "16384"}).model_copy(
        update={"process": Process(pid=9, argv=tuple(words), environment={"LLAMA_ARG_CTX_SIZE": "16384"})}
    )
    assert situation_of(alone, ENGINE).setup.window == 16384


def test_the_log_calibrates_it() -> None:
    said = calibrate(situation_of(seen(), ENGINE))
    assert said.agrees is True
    small = CACHE.replace("2048.00 MiB (", "1088.00 MiB (")
    assert calibrate(situation_of(seen("-ctk", "q8_0", "-ctv", "q8_0", log=small), ENGINE)).agrees is True
    off = calibrate(situation_of(seen(log=CACHE.replace("2048.00 MiB (", "1088.00 MiB (")), ENGINE))
    assert off.agrees is False
    assert "the cache is kept as q8_0, not as f16" in off.lines[-1]


def test_layers_with_a_window_hardly_grow() -> None:
    few = CACHE.replace("2048.00", "41.00").replace("16384 cells", "1024 cells")
    log = CACHE.replace("2048.00", "64.00") + "\n" + few
    small = seen(model=SLIDING, log=log)
    assert calibrate(situation_of(small, ENGINE)).agrees is True
    said = ask(small, context_length="32768")
    assert said.verdict == "serves"
    assert any("+0.06 GiB more than now" in line for line in said.lines)


def test_the_ladder_names_no_share_of_memory() -> None:
    rungs = {rung.name: rung for rung in ladder(situation_of(seen(), ENGINE), ENGINE)}
    assert "a larger memory share" not in rungs
    assert rungs["as it runs"].window_tokens == 16384
    assert rungs["an 8-bit cache"].note.startswith("--cache-type-k q8_0 --cache-type-v q8_0")
