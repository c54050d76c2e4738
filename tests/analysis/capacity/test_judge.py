"""From facts to a verdict, as an operator meets it: what runs, what is asked, and what is known of model and draft."""

from __future__ import annotations

from typing import Any

import pytest

from console.analysis.capacity.calibrate import calibrate
from console.analysis.capacity.judge import judge
from console.analysis.capacity.ladder import ladder
from console.analysis.capacity.report import reported
from console.analysis.capacity.setup import with_settings
from console.analysis.capacity.situation import Situation, situation_of
from console.engines.registry import engine_named
from console.errors import RefusedError
from console.schema.capacity import DecodeLaw, Judgement
from console.schema.facts import Facts, Gpu, MemoryLog, ModelConfig, PoolLine, Process
from tests.analysis.capacity.test_cache import MODELS
from tests.fakes import SGLANG, facts, host, serving

LAW = DecodeLaw(intercept_ms=26.3, slope_ms=0.0201, deepest_tokens=5253, accept_lengths=(2.9, 7.85), source="a sweep")
LINE = (
    *("python", "-m", "sglang.launch_server", "--model-path", "/models/k", "--tp-size", "8"),
    *("--context-length", "32768", "--mem-fraction-static", "0.85"),
)
DRAFTING = (*LINE, "--speculative-algorithm", "DFLASH", "--speculative-draft-model-path", "/models/d")
VARIABLE = "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"


def config(role: str, name: str) -> ModelConfig:
    content = (MODELS / name / "config.json").read_bytes()
    return ModelConfig.model_validate({"role": role, "named": f"/models/{role}", "content": content})


def seen(
    *models: ModelConfig,
    words: tuple[str, ...] = LINE,
    environment: dict[str, str] | None = None,
    pool: int | None = 101_134,
    log: MemoryLog | None = None,
    gpus: int = 8,
    version: str = "0.5.10.post1",
    **more: Any,
) -> Facts:
    size = 101_134 * 70_272 / 1024**3
    of_serving = serving(pool_tokens=pool, version=version, settings={}) if pool is not None else None
    cards = tuple(Gpu(index=n, name="GPU", memory_total_mib=97_894, memory_used_mib=0) for n in range(gpus))
    return facts(
        host=host(gpus=cards),
        process=Process(pid=41, argv=words, environment=environment or {}),
        serving=of_serving,
        models=models or (config("model", "kimi-k2.6"),),
        memory=log or MemoryLog(
            weights_gib=73.58, pools=(PoolLine(tokens=101_134, gib=round(size, 2)),), free_gib=12.44, max_running=48
        ),
        **more,
    )  # fmt: skip


def situation(facts: Facts) -> Situation:
    return situation_of(facts, SGLANG)


def ask(facts: Facts, engine: str = "sglang", **settings: str) -> Judgement:
    tables = engine_named(engine)
    what = situation_of(facts, tables)
    return judge(what, with_settings(what.words, tables, settings), what.environment, tables, law=LAW)


def test_a_window_that_starts_and_cannot_be_served() -> None:
    said = ask(seen(), context_length="200000")
    assert (said.verdict, said.largest_tokens) == ("starts but cannot serve", 101_128)
    assert said.lines[0] == "one request: 200,000 tokens x 70,272 B = 14.05 GB = 13.09 GiB on a GPU"
    assert "the largest served would be 101,128" in said.sentence


def test_a_larger_share_of_memory_serves_it() -> None:
    said = ask(seen(), context_length="200k", mem_fraction="0.92")
    assert (said.verdict, said.pool_tokens, said.full_requests) == ("serves", 203_386, 1.02)
    assert "mem_fraction 0.85 -> 0.92 of 95.6 GiB: +6.692 GiB" in said.lines
    assert said.assumed == ("weights and everything else stay as they are",)
    assert not said.missing


def test_an_8_bit_cache_holds_twice_as_many() -> None:
    said = ask(seen(), context_length="200000", kv_cache_dtype="fp8_e4m3")
    assert (said.verdict, said.pool_tokens) == ("serves", 202_268)


def test_what_decoding_costs_there_is_told() -> None:
    said = ask(seen(), context_length="200000", mem_fraction="0.92").decode
    assert said is not None
    assert said.text == (
        "decode at 200,000 tokens: 4.05 s a step, 0.7 tok/s at acceptance 2.9, 1.9 tok/s at acceptance 7.85 "
        "(extrapolated 38-fold from 5,253 tokens)"
    )


def test_beyond_the_model() -> None:
    said = ask(seen(), context_length="300000")
    assert (said.verdict, said.variable) == ("beyond the model", VARIABLE)
    assert "262,144" in said.sentence


def test_a_variable_lets_it_through_and_is_told() -> None:
    said = ask(seen(environment={VARIABLE: "1"}), context_length="300000")
    assert said.verdict == "starts but cannot serve"
    assert f"beyond the model's 262,144, let through by {VARIABLE}" in said.warnings


def test_an_engine_that_derives_more_than_we_do_is_believed() -> None:
    words = tuple("200000" if word == "32768" else word for word in LINE)
    served = seen(config("model", "llama-3.1-8b"), words=words)
    beaten = served.model_copy(update={"serving": serving(context_length=200_000, pool_tokens=500_000, settings={})})
    said = ask(beaten, context_length="210000")
    assert said.verdict == "unknown", "config.json says 131,072, and 200,000 are served without an override"


def test_a_window_nobody_gave_is_the_engines_own_limit() -> None:
    words = tuple(word for word in LINE if word not in ("--context-length", "32768"))
    own = seen(words=words).model_copy(update={"serving": serving(context_length=65_536, pool_tokens=101_134)})
    assert ask(own, context_length="65537").verdict == "beyond the model"
    assert ask(own, context_length="65536").verdict == "serves"


@pytest.mark.parametrize("joined", [True, False])
def test_a_command_line_may_replace_keys_of_the_config(joined: bool) -> None:
    override = '{"max_position_embeddings": 400000}'
    flag = "--json-model-override-args"
    more = (f"{flag}={override}",) if joined else (flag, override)
    assert ask(seen(words=(*LINE, *more)), context_length="300000").verdict == "starts but cannot serve"
    assert ask(seen(words=(*LINE, flag, "{odd")), context_length="300000").verdict == "beyond the model"


def test_beyond_the_draft() -> None:
    models = (config("model", "kimi-k2.6"), config("draft", "kimi-k2.6-dflash"))
    said = ask(seen(*models, words=DRAFTING, version="0.5.14"), context_length="200000", mem_fraction="0.92")
    assert (said.verdict, said.variable) == ("beyond the draft", VARIABLE)
    assert "131,072" in said.sentence
    assert VARIABLE in said.sentence
    through = ask(seen(*models, words=DRAFTING, environment={VARIABLE: "1"}), context_length="131073")
    assert any("acceptance may fall" in text for text in through.warnings)
    assert ask(seen(*models, words=DRAFTING), context_length="100000").verdict == "serves"


def test_a_draft_whose_limit_is_not_known_is_not_promised() -> None:
    gone = ModelConfig(role="draft", named="/models/d", error="no folder on the host holds /models/d")
    said = ask(seen(config("model", "kimi-k2.6"), gone, words=DRAFTING), context_length="100000")
    assert said.verdict == "unknown"
    assert "the draft's config.json: no folder on the host holds /models/d" in said.missing
    other = ask(seen(), context_length="100000", speculative_algorithm="EAGLE3", draft_model_path="/models/new")
    assert other.verdict == "unknown"
    assert ask(seen(), context_length="100000", speculative_algorithm="NGRAM").verdict == "serves"


def test_the_draft_takes_its_part_of_every_token() -> None:
    models = (config("model", "kimi-k2.6"), config("draft", "kimi-k2.6-dflash"))
    assert ask(seen(*models, words=DRAFTING), context_length="100000").cell_bytes == 70_272 + 3_072
    eagle = tuple("EAGLE3" if word == "DFLASH" else word for word in DRAFTING)
    assert ask(seen(*models, words=eagle), context_length="9").cell_bytes == 70_272 * 67 / 61
    whole = MemoryLog(pools=(PoolLine(tokens=101_134, gib=round(101_134 * 8_784 / 1024**3, 2)),))
    split = ask(seen(*models, words=(*DRAFTING, "--dcp-size", "8"), log=whole, version="0.5.18"), context_length="9")
    assert split.cell_bytes == 8_784 + 3_072, "the draft's cache is not split"


def test_a_spelling_that_the_release_does_not_know() -> None:
    assert ask(seen(version="0.5.9"), context_length="200k").verdict == "will not start"
    assert ask(seen(version="0.5.9"), context_length="200000").verdict == "starts but cannot serve"


def test_too_little_left_for_the_graphs() -> None:
    said = ask(seen(), context_length="200000", mem_fraction="0.99")
    assert said.verdict == "will not start"
    assert "too little for pool, graphs and table of requests" in said.sentence


def test_many_requests_make_the_table_grow() -> None:
    many = (*LINE, "--max-running-requests", "4096")
    grown = next(line for line in ask(seen(words=many), context_length="200000").lines if "left on a GPU" in line)
    assert "takes +2.55" in grown


def test_vllm_refuses_to_start_with_a_small_pool() -> None:
    words = ("vllm", "serve", "/models/k", "--max-model-len", "32768", "--tensor-parallel-size", "8")
    said = ask(seen(words=words, version="0.33.0"), "vllm", context_length="200000")
    assert said.verdict == "will not start"


def test_vllm_has_a_share_of_its_own_where_none_is_given() -> None:
    words = ("vllm", "serve", "/models/k", "--max-model-len", "32768", "--tensor-parallel-size", "8")
    for version, share in (("0.19.1", 0.90), ("0.33.0", 0.92)):
        lines = ask(seen(words=words, version=version), "vllm", context_length="99999", mem_fraction="0.95").lines
        assert f"mem_fraction {share:g} -> 0.95 of 95.6 GiB: {(0.95 - share) * 97_894 / 1024:+.3f} GiB" in lines
    between = ask(seen(words=words, version="0.25.0"), "vllm", context_length="99999", mem_fraction="0.95")
    assert between.verdict == "unknown"


def test_without_a_config_only_the_running_pool_counts() -> None:
    missing = ModelConfig(role="model", named="/models/k", error="/models/k holds no config.json")
    said = ask(seen(missing), context_length="200000")
    assert said.verdict == "starts but cannot serve", "a pool that is too small needs no model to be seen"
    assert "the model's config.json: /models/k holds no config.json" in said.missing
    assert ask(seen(missing), context_length="100000").verdict == "unknown", "its limit is not known"
    raised = ask(seen(missing), context_length="200000", mem_fraction="0.92")
    assert (raised.verdict, raised.pool_tokens) == ("serves", 203_346) or raised.verdict == "unknown"


def test_an_architecture_that_is_not_known_is_calibrated_alone() -> None:
    said = calibrate(situation(seen(config("model", "state-space"))))
    assert (said.agrees, said.cell is not None) == (None, True)
    assert "not computed" in said.lines[-1]
    raised = ask(seen(config("model", "state-space")), context_length="200000", kv_cache_dtype="fp8_e4m3")
    assert raised.verdict == "unknown"
    assert any("state-space layers" in text for text in raised.missing)


def test_a_running_pool_calibrates_the_bytes() -> None:
    said = calibrate(situation(seen()))
    assert said.agrees is True
    assert said.lines[-1].endswith("calibrated")


@pytest.mark.parametrize(
    ("each", "why"),
    [
        (35_136, "the cache is kept as fp8_e4m3, not as bfloat16"),
        (8_784, "the cache is split over all 8 ranks, it is not kept whole on each"),
        (1152 * 62, "62 layers keep a cache, not 61"),
        (50_000, "neither type, ranks nor layers of the cache explain it"),
    ],
)
def test_an_assumption_that_is_off_is_named(each: int, why: str) -> None:
    tokens = 2_454_421
    log = MemoryLog(pools=(PoolLine(tokens=tokens, gib=round(tokens * each / 1024**3, 2)),), free_gib=12.0)
    said = calibrate(situation(seen(pool=tokens, log=log)))
    assert said.agrees is False
    assert why in said.lines[-1]
    assert said.cell is not None
    assert said.cell.target == pytest.approx(each, rel=0.01)


def test_heads_that_are_not_split_are_named() -> None:
    log = MemoryLog(pools=(PoolLine(tokens=40_000, gib=round(40_000 * 360_448 / 1024**3, 2)),))
    words = (*LINE[:6], "4", *LINE[7:])
    said = calibrate(situation(seen(config("model", "mistral-large"), words=words, pool=40_000, log=log)))
    assert "every rank keeps the whole cache, it is not split over TP4" in said.lines[-1]


def test_nothing_runs_and_the_weights_are_an_upper_bound() -> None:
    stopped = seen(pool=None, serving_reason="the unit is failed")
    said = ask(stopped, context_length="200000")
    assert said.verdict == "starts but cannot serve"
    assert "at most" in said.sentence
    assert "the running pool: the unit is failed" in said.missing
    assert ask(stopped, context_length="100000").verdict == "unknown"


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"tensor_parallel": "16"}, "weights move to 16 GPUs, the host has 8"),
        ({"kv_cache_dtype": "odd_type"}, "the type of the cache is not known"),
    ],
)
def test_what_cannot_be_predicted_says_why(settings: dict[str, str], part: str) -> None:
    said = ask(seen(), context_length="200000", **settings)
    assert said.verdict == "unknown"
    assert part in said.sentence


def test_no_gpus_no_share() -> None:
    said = ask(seen(gpus=0), context_length="200000", mem_fraction="0.92")
    assert said.verdict == "unknown"
    assert "the GPU's memory is not seen" in said.sentence


def test_a_cap_stays_a_cap() -> None:
    capped = (*LINE, "--max-total-tokens", "50000")
    said = ask(seen(words=capped, pool=50_000), context_length="60000", mem_fraction="0.92")
    assert (said.verdict, said.pool_tokens) == ("starts but cannot serve", 50_000)
    lifted = ask(seen(words=capped, pool=50_000), context_length="60000", max_total_tokens="90000")
    assert lifted.verdict == "unknown"
    assert ask(seen(), context_length="60000", max_total_tokens="50000").pool_tokens == 50_000


def test_close_to_the_edge_is_a_warning() -> None:
    said = ask(seen(), context_length="100900")
    assert said.verdict == "serves"
    assert any("either side" in text for text in said.warnings)


def test_the_ladder() -> None:
    rungs = {rung.name: rung for rung in ladder(situation(seen()), SGLANG)}
    now = rungs["as it runs"]
    assert (now.pool_tokens, now.window_tokens, now.full_requests) == (101_134, 101_134, 1.0)
    share = rungs["a larger memory share"]
    assert (share.sets, share.pool_tokens, share.lossy) == ("mem_fraction=0.92", 203_386, False)
    assert "it came with 0.5.15" in rungs["the context split over ranks"].note
    assert "moves no pool by itself" in rungs["fewer running requests"].note
    small = rungs["an 8-bit cache"]
    assert (small.pool_tokens, small.lossy) == (202_268, True)
    both = rungs["an 8-bit cache and a larger share"]
    assert (both.window_tokens, both.full_requests) == (262_144, 1.55)
    newer = {rung.name: rung for rung in ladder(situation(seen(version="0.5.18")), SGLANG)}
    assert newer["the context split over ranks"].pool_tokens == 809_072


def test_a_setting_the_engine_does_not_have() -> None:
    with pytest.raises(RefusedError, match="did you mean 'mem_fraction'"):
        reported(seen(), SGLANG, {"memfraction": "0.92"})


def test_a_report_without_a_window_has_the_ladder() -> None:
    told = reported(seen(), SGLANG, {}, law=LAW)
    assert (told.model_limit_tokens, told.pool_tokens, told.calibrated) == (262_144, 101_134, True)
    assert told.judgement is None
    assert len(told.rungs) == 6


def test_a_setting_without_a_flag_cannot_be_put_on_a_command_line() -> None:
    with pytest.raises(RefusedError, match="ollama has no flag for context_length"):
        with_settings(("ollama", "serve"), engine_named("ollama"), {"context_length": "32768"})
