"""vLLM's long flags, and what an abbreviation or another spelling of one means.

Its parser is argparse with underscores allowed for hyphens (`--max_model_len`) and JSON options opened by dots
(`--speculative-config.method`). Read from the releases 0.6 to 0.33; a flag that is not here is left alone, verbatim.
"""

from __future__ import annotations

from functools import cache

_NAMES = """
    --additional-config --aggregate-engine-logging --all2all-backend --allow-credentials --allowed-headers
    --allowed-local-media-path --allowed-media-domains --allowed-methods --allowed-origins --api-key
    --api-server-count --async-scheduling --attention-backend --block-size --calculate-kv-scales --chat-template
    --chat-template-content-format --code-revision --collect-detailed-traces --compilation-config --config
    --config-format --convert --cp-kv-cache-interleave-size --cpu-offload-gb --cuda-graph-sizes
    --cudagraph-capture-sizes --data-parallel-address --data-parallel-backend --data-parallel-hybrid-lb
    --data-parallel-rank --data-parallel-rpc-port --data-parallel-size --data-parallel-size-local
    --data-parallel-start-rank --dcp-kv-cache-interleave-size --decode-context-parallel-size
    --default-chat-template-kwargs --disable-access-log-for-endpoints --disable-async-output-proc
    --disable-cascade-attn --disable-chunked-mm-input --disable-custom-all-reduce --disable-fastapi-docs
    --disable-frontend-multiprocessing --disable-hybrid-kv-cache-manager --disable-log-requests
    --disable-log-stats --disable-mm-preprocessor-cache --disable-sliding-window --disable-uvicorn-access-log
    --distributed-executor-backend --download-dir --dtype --enable-auto-tool-choice --enable-chunked-prefill
    --enable-dbo --enable-dp-attention --enable-eplb --enable-expert-parallel --enable-force-include-usage
    --enable-log-outputs --enable-log-requests --enable-lora --enable-multimodal-encoder-data-parallel
    --enable-prefix-caching --enable-prompt-embeds --enable-prompt-tokens-details --enable-request-id-headers
    --enable-server-load-tracking --enable-sleep-mode --enable-ssl-refresh --enable-tokenizer-info-endpoint
    --enforce-eager --eplb-config --exclude-tools-when-tool-choice-none --fully-sharded-loras
    --generation-config --gpu-memory-utilization --guided-decoding-backend --headless --hf-config-path
    --hf-overrides --hf-token --host --ignore-patterns --io-processor-plugin --kv-cache-dtype
    --kv-cache-memory-bytes --kv-cache-metrics --kv-events-config --kv-offloading-backend --kv-offloading-size
    --kv-sharing-fast-prefill --kv-transfer-config --language-model-only --limit-mm-per-prompt --load-format
    --log-config-file --logits-processors --logprobs-mode --long-prefill-token-threshold --lora-dtype
    --lora-modules --master-addr --master-port --max-cpu-loras --max-cudagraph-capture-size --max-log-len
    --max-logprobs --max-long-partial-prefills --max-lora-rank --max-loras --max-model-len
    --max-num-batched-tokens --max-num-partial-prefills --max-num-seqs --max-parallel-loading-workers
    --max-seq-len-to-capture --media-io-kwargs --middleware --mm-encoder-attn-backend --mm-encoder-tp-mode
    --mm-processor-cache-gb --mm-processor-cache-type --mm-processor-kwargs --model --model-impl
    --model-loader-extra-config --moe-backend --multi-step-stream-outputs --nnodes --node-rank
    --num-gpu-blocks-override --num-lookahead-slots --num-redundant-experts --num-scheduler-steps
    --optimization-level --otlp-traces-endpoint --override-generation-config --override-neuron-config
    --pipeline-parallel-size --pooler-config --port --preemption-mode --prefill-context-parallel-size
    --prefix-caching-hash-algo --profiler-config --pt-load-map-location --quantization --quantization-param-path
    --ray-workers-use-nsight --reasoning-config --reasoning-parser --reasoning-parser-plugin --response-role
    --return-tokens-as-token-ids --revision --root-path --rope-scaling --rope-theta --runner
    --safetensors-load-strategy --scheduler-cls --scheduler-reserve-full-isl --scheduling-policy --seed
    --served-model-name --show-hidden-metrics-for-version --shutdown-timeout --skip-mm-profiling
    --skip-tokenizer-init --speculative-config --speculative-model --ssl-ca-certs --ssl-cert-reqs --ssl-certfile
    --ssl-ciphers --ssl-keyfile --stream-interval --structured-outputs-config --swap-space --task
    --tensor-parallel-size --tokenizer --tokenizer-mode --tokenizer-revision --tokens-only --tool-call-parser
    --tool-parser-plugin --tool-server --trust-remote-code --trust-request-chat-template --ubatch-size --uds
    --use-tqdm-on-load --uvicorn-log-level --video-pruning-rate --weight-transfer-config --worker-cls
    --worker-extension-cls
"""
FLAGS: frozenset[str] = frozenset(_NAMES.split())

# One dash and several letters: whole names, not letters in a row.
SHORT = {
    "-tp": "--tensor-parallel-size",
    "-pp": "--pipeline-parallel-size",
    "-dp": "--data-parallel-size",
    "-dcp": "--decode-context-parallel-size",
    "-pcp": "--prefill-context-parallel-size",
    "-sc": "--speculative-config",
    "-q": "--quantization",
    "-O": "--optimization-level",
}


@cache
def resolve(word: str) -> str | None:
    """The full flag that `word` (`--max_model_len`, `--max-model`, `-tp`) means; None where it is ambiguous or none."""
    name = word.partition("=")[0]
    if name in SHORT:
        return SHORT[name]
    if not name.startswith("--"):
        return None
    name = "--" + name[2:].replace("_", "-")
    if name in FLAGS:
        return name
    if len(name) < 5 or "." in name:
        return None
    begun = [flag for flag in FLAGS if flag.startswith(name)]
    return begun[0] if len(begun) == 1 else None
