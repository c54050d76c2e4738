"""Every long flag of SGLang's server, by the releases that know it, and what an abbreviation of one means.

argparse accepts a prefix of a flag where it is unambiguous, and which prefixes are depends on the release: a unit that
runs was accepted by its release, so a prefix stands for what it means in the releases that accept it.
Read from the argument declarations of the releases named here (`server_args.py`, from 0.5.20 on `arg_groups/fields`).
"""

from __future__ import annotations

from functools import cache

RELEASES = ("0.4.6", "0.5.5", "0.5.10", "0.5.14", "0.5.20", "0.5.23")

# (first release, last release) → flags; a flag of the newest release is taken to live on.
_TABLE: dict[tuple[str, str], str] = {
    ("0.4.6", "0.4.6"): """
        --enable-deepep-moe --enable-ep-moe --enable-flashinfer-mla --enable-flashmla --max-micro-batch-size
        --n-share-experts-fusion --pdlb-url
    """,
    ("0.4.6", "0.5.10"): """
        --debug-tensor-dump-inject --ds-channel-config-path --ds-heavy-channel-num --ds-heavy-channel-type
        --ds-heavy-token-num --ds-sparse-decode-threshold --enable-double-sparsity --enable-nan-detection
    """,
    ("0.4.6", "0.5.14"): """
        --collect-tokens-histogram --cuda-graph-bs --cuda-graph-max-bs --enable-expert-distribution-metrics
        --stream-output --torchao-config
    """,
    ("0.4.6", "0.5.23"): """
        --allow-auto-truncate --api-key --attention-backend --base-gpu-id --bucket-e2e-request-latency
        --bucket-inter-token-latency --bucket-time-to-first-token --chat-template --chunked-prefill-size
        --completion-template --constrained-json-whitespace-pattern --context-length --cpu-offload-gb
        --data-parallel-size --debug-tensor-dump-input-file --debug-tensor-dump-output-folder
        --decode-log-interval --deepep-config --deepep-mode --delete-ckpt-after-loading --device
        --disable-chunked-prefix-cache --disable-cuda-graph --disable-cuda-graph-padding
        --disable-custom-all-reduce --disable-fast-image-processor --disable-outlines-disk-cache
        --disable-overlap-schedule --disable-radix-cache --disaggregation-bootstrap-port
        --disaggregation-ib-device --disaggregation-mode --disaggregation-transfer-backend --dist-init-addr
        --dist-timeout --download-dir --dp-size --dtype --enable-cache-report --enable-custom-logit-processor
        --enable-dp-attention --enable-dp-lm-head --enable-eplb --enable-hierarchical-cache
        --enable-memory-saver --enable-metrics --enable-mixed-chunk --enable-multimodal --enable-nccl-nvls
        --enable-p2p-check --enable-request-time-stats-logging --enable-tokenizer-batch-encode
        --enable-torch-compile --ep-dispatch-algorithm --ep-num-redundant-experts --ep-size
        --eplb-rebalance-num-iterations --expert-distribution-recorder-buffer-size
        --expert-distribution-recorder-mode --expert-parallel-size --file-storage-path
        --flashinfer-mla-disable-ragged --gpu-id-step --grammar-backend --hicache-ratio --hicache-size
        --hicache-write-policy --host --init-expert-location --is-embedding --json-model-override-args
        --kv-cache-dtype --kv-events-config --load-balance-method --load-format --log-level --log-level-http
        --log-requests --log-requests-level --lora-backend --lora-paths --max-loras-per-batch
        --max-prefill-tokens --max-running-requests --max-total-tokens --mem-fraction-static
        --mm-attention-backend --model-path --moe-dense-tp-size --nccl-init-addr --nnodes --node-rank
        --num-continuous-decode-steps --page-size --pipeline-parallel-size --port --pp-size
        --preferred-sampling-params --quantization --quantization-param-path --random-seed --reasoning-parser
        --revision --sampling-backend --schedule-conservativeness --schedule-policy --served-model-name
        --show-time-cost --skip-tokenizer-init --speculative-accept-threshold-acc
        --speculative-accept-threshold-single --speculative-algorithm --speculative-draft-model-path
        --speculative-eagle-topk --speculative-num-draft-tokens --speculative-num-steps --speculative-token-map
        --stream-interval --tensor-parallel-size --tokenizer-mode --tokenizer-path --tool-call-parser
        --torch-compile-max-bs --tp-size --triton-attention-num-kv-splits --triton-attention-reduce-in-fp32
        --trust-remote-code --warmups --watchdog-timeout
    """,
    ("0.5.5", "0.5.5"): """
        --disaggregation-decode-dp --disaggregation-decode-tp --disaggregation-prefill-pp --load-watch-interval
        --mm-max-concurrent-calls --mm-per-request-timeout --speculative-ngram-branch-length
        --speculative-ngram-max-match-window-size --speculative-ngram-min-match-window-size
    """,
    ("0.5.5", "0.5.10"): """
        --enable-piecewise-cuda-graph --hybrid-kvcache-ratio --multi-item-scoring-delimiter
    """,
    ("0.5.5", "0.5.14"): """
        --nsa-decode-backend --nsa-prefill-backend --piecewise-cuda-graph-compiler
        --piecewise-cuda-graph-max-tokens --piecewise-cuda-graph-tokens --prefill-round-robin-balance
    """,
    ("0.5.5", "0.5.20"): """
        --keep-mm-feature-on-device
    """,
    ("0.5.5", "0.5.23"): """
        --abort-on-priority-when-disabled --checkpoint-engine-wait-weights-before-ready --config
        --constrained-json-disable-any-whitespace --crash-dump-folder --custom-weight-loader
        --debug-tensor-dump-layers --decode-attention-backend --decrypted-config-file
        --decrypted-draft-config-file --disable-flashinfer-cutlass-moe-fp4-allgather --disable-hybrid-swa-memory
        --disable-shared-experts-fusion --disable-tokenizer-batch-decode
        --disaggregation-decode-enable-offload-kvcache --disaggregation-decode-polling-interval
        --dynamic-batch-tokenizer-batch-size --dynamic-batch-tokenizer-batch-timeout --elastic-ep-backend
        --enable-attn-tp-input-scattered --enable-broadcast-mm-inputs-process --enable-cudagraph-gc
        --enable-deterministic-inference --enable-draft-weights-cpu-backup --enable-dynamic-batch-tokenizer
        --enable-flashinfer-allreduce-fusion --enable-fp32-lm-head --enable-layerwise-nvtx-marker
        --enable-lmcache --enable-lora --enable-metrics-for-all-schedulers --enable-mscclpp --enable-pdmux
        --enable-priority-scheduling --enable-profile-cuda-graph --enable-return-hidden-states
        --enable-single-batch-overlap --enable-symm-mem --enable-torch-symm-mem --enable-trace
        --enable-two-batch-overlap --enable-weights-cpu-backup --ep --eplb-algorithm
        --eplb-min-rebalancing-utilization-threshold --eplb-rebalance-layers-per-chunk --export-metrics-to-file
        --export-metrics-to-file-dir --flashinfer-mxfp4-moe-precision --gc-warning-threshold-secs
        --generation-tokens-buckets --grpc-mode --hicache-io-backend --hicache-mem-layout
        --hicache-storage-backend --hicache-storage-backend-extra-config --hicache-storage-prefetch-policy
        --kt-cpuinfer --kt-max-deferred-experts-per-token --kt-method --kt-num-gpu-experts --kt-threadpool-count
        --kt-weight-path --lora-eviction-policy --lora-target-modules --mamba-full-memory-ratio
        --mamba-ssm-dtype --max-loaded-loras --max-lora-chunk-size --max-lora-rank --max-mamba-cache-size
        --max-queued-requests --model --model-impl --model-loader-extra-config
        --modelopt-checkpoint-restore-path --modelopt-checkpoint-save-path --modelopt-export-path
        --modelopt-quant --moe-a2a-backend --moe-runner-backend --mooncake-ib-device --nccl-port
        --num-reserved-decode-tokens --numa-node --offload-group-size --offload-mode --offload-num-in-group
        --offload-prefetch-step --otlp-traces-endpoint --pdmux-config-path --pp-max-micro-batch-size
        --prefill-attention-backend --priority-scheduling-preemption-threshold --prompt-tokens-buckets
        --quantize-and-serve --radix-eviction-policy --remote-instance-weight-loader-seed-instance-ip
        --remote-instance-weight-loader-seed-instance-service-port
        --remote-instance-weight-loader-send-weights-group-ports --rl-on-policy-target --sampling-defaults
        --schedule-low-priority-values-first --scheduler-recv-interval --skip-server-warmup --sleep-on-idle
        --sm-group-num --speculative-attention-mode --speculative-draft-load-format --speculative-draft-model
        --speculative-draft-model-revision --speculative-moe-runner-backend --speculative-ngram-capacity
        --speculative-ngram-match-type --speculative-ngram-max-bfs-breadth --speculative-ngram-min-bfs-breadth
        --swa-full-tokens-ratio --tbo-token-distribution-threshold --tokenizer-metrics-allowed-custom-labels
        --tokenizer-metrics-custom-labels-header --tokenizer-worker-num --tool-server
        --triton-attention-split-tile-size --weight-loader-disable-mmap --weight-version
    """,
    ("0.5.10", "0.5.10"): """
        --custom-sigquit-handler
    """,
    ("0.5.10", "0.5.14"): """
        --disable-piecewise-cuda-graph --enable-nsa-prefill-context-parallel --enable-prefill-context-parallel
        --enforce-piecewise-cuda-graph --mamba-scheduler-strategy --nsa-prefill-cp-mode --prefill-cp-mode
    """,
    ("0.5.10", "0.5.23"): """
        --admin-api-key --attention-context-parallel-size --attn-cp-size --default-priority-value
        --disable-flashinfer-autotune --disable-priority-preemption --dllm-algorithm --dllm-algorithm-config
        --enable-adaptive-dispatch-to-encoder --enable-aiter-allreduce-fusion --enable-dynamic-chunking
        --enable-elastic-expert-backup --enable-fused-moe-sum-all-reduce --enable-fused-qk-norm-rope
        --enable-hisparse --enable-lora-overlap-loading --enable-mfu-metrics --enable-mm-global-cache
        --enable-multi-layer-eagle --enable-precise-embedding-interpolation --enable-prefill-delayer
        --enable-prefix-mm-cache --enable-return-routed-experts --enable-ssl-refresh --enable-streaming-session
        --enable-torch-compile-debug-mode --encoder-only --encoder-transfer-backend --encoder-urls
        --enforce-disable-flashinfer-allreduce-fusion --engine-info-bootstrap-port --experts-shared-outer-loras
        --extra-metric-labels --fastapi-root-path --forward-hooks --fp4-gemm-backend --fp8-gemm-backend
        --gc-threshold --hf-chat-template-name --hisparse-config --incremental-streaming-output --language-only
        --limit-mm-data-per-request --linear-attn-backend --linear-attn-decode-backend
        --linear-attn-prefill-backend --log-requests-format --log-requests-target --mamba-backend
        --mamba-track-interval --mm-enable-dp-encoder --mm-process-config --model-checksum --modelexpress-config
        --moe-data-parallel-size --moe-dp-size --no-experts-shared-outer-loras --pp-async-batch-depth
        --pre-warm-nccl --prefill-delayer-forward-passes-buckets --prefill-delayer-max-delay-passes
        --prefill-delayer-token-usage-low-watermark --prefill-delayer-wait-seconds-buckets
        --prefill-max-requests --remote-instance-weight-loader-backend
        --remote-instance-weight-loader-start-seed-via-transfer-engine --rl-quant-profile
        --soft-watchdog-timeout --speculative-draft-attention-backend --speculative-draft-model-quantization
        --speculative-moe-a2a-backend --speculative-ngram-max-trie-depth --ssl-ca-certs --ssl-certfile
        --ssl-keyfile --ssl-keyfile-password --stream-response-default-include-usage --use-ray
        --uvicorn-access-log-exclude-prefixes
    """,
    ("0.5.14", "0.5.14"): """
        --dsa-prefill-cp-mode --enable-breakable-cuda-graph --enable-deepep-waterfill
        --enable-dsa-prefill-context-parallel --optimistic-prefill-retries
        --speculative-dflash-draft-window-size
    """,
    ("0.5.14", "0.5.20"): """
        --cuda-graph-tc-compiler --elastic-ep-rejoin --speculative-skip-dp-mlp-sync
    """,
    ("0.5.14", "0.5.23"): """
        --asr-max-buffer-seconds --asr-max-concurrent-sessions --batch-notify-size --cp-strategy
        --cuda-graph-backend-decode --cuda-graph-backend-prefill --cuda-graph-bs-decode --cuda-graph-bs-prefill
        --cuda-graph-config --cuda-graph-max-bs-decode --cuda-graph-max-bs-prefill --debug-cuda-graph
        --deepep-dispatcher-output-dtype --detokenizer-worker-num --disable-attn-tp-gather
        --disable-decode-cuda-graph --disable-prefill-cuda-graph --disaggregation-decode-enable-radix-cache
        --disaggregation-decode-extra-slots --dsa-decode-backend --dsa-prefill-backend --dsa-topk-backend
        --enable-deepseek-v4-fp4-indexer --enable-dp-attention-local-control-broadcast
        --enable-forward-pass-metrics --enable-http2 --enable-int8-mamba-checkpoint --enable-mis
        --enable-prefill-cp --enable-quant-communications --enable-return-indexer-topk --enable-strict-thinking
        --encoder-bootstrap-port --encoder-register-urls --enforce-shared-experts-fusion
        --flashinfer-allreduce-fusion-backend --forward-pass-metrics-ipc-name --forward-pass-metrics-worker-id
        --grpc-http-sidecar-port --hierarchical-sparse-attention-extra-config --int8-mamba-ckpt-size --kv-canary
        --kv-canary-real-data --kv-canary-sweep-interval --lmcache-config-file --load-snapshot-publish-interval
        --lora-drain-wait-threshold --lora-strict-loading --lora-use-virtual-experts
        --mamba-radix-cache-strategy --model-config-parser --msprobe-dump-config --no-lora-strict-loading
        --prefill-delayer-max-delay-ms --prefill-delayer-queue-min-ratio --prefill-only-disable-kv-cache
        --radix-cache-backend --speculative-adaptive --speculative-adaptive-config
        --speculative-dflash-block-size --speculative-draft-window-size
        --speculative-ngram-external-corpus-max-tokens --speculative-ngram-external-corpus-path
        --speculative-ngram-external-sam-budget --speculative-use-rejection-sampling --strip-thinking-cache
        --tokenizer-backend --trace-modules --weight-loader-drop-cache-after-load
        --weight-loader-prefetch-checkpoints --weight-loader-prefetch-num-threads
    """,
    ("0.5.20", "0.5.23"): """
        --allowed-media-domains --bf16-gemm-backend --c128-page-size --dcp-comm-backend --dcp-replicate-q-proj
        --dcp-size --decode-context-parallel-size --decoupled-spec-bind-endpoint
        --decoupled-spec-connect-endpoints --decoupled-spec-rank --decoupled-spec-role --deepep-v2-mode
        --default-chat-template-kwargs --disaggregation-decode-retraction-backup --dllm-fdfo
        --dsa-paged-mqa-logits-backend --dsv4-attn-backend --dsv4-prefill-backend --dwdp-size
        --elastic-ep-initial-size --elastic-ep-join-mode --elastic-ep-join-rank-offset
        --elastic-ep-scale-timeout --enable-cp-decode-attn-tp --enable-dense-mlp-attn-tp
        --enable-dsa-cache-layer-split --enable-flexkv --enable-layernorm-sp --enable-lean-attention
        --enable-linear-replayssm --enable-linear-replayssm-spec --enable-mamba-cache-stochastic-rounding
        --enable-page-major-kv-layout --enable-response-store --enable-scattered-sconv
        --enable-session-radix-cache --enable-shared-experts-attn-tp --enable-tf32-matmul
        --enable-tp-lm-head-all-to-all --enable-unified-cache-external-linker --enable-unified-memory
        --enable-w4a4-mxfp4-megamoe --enable-waterfill --expert-balancedness-report-mode
        --flashinfer-a2a-dispatch-type --flashinfer-autotune-skip-ops --flexkv-config-file --fuseep-mode
        --gated-launch-port --grpc-port --hicache-host-memory-mode --hicache-storage-prefetch-retry-max-attempts
        --hicache-storage-prefetch-retry-poll-interval --http2-initial-connection-window-size
        --http2-max-concurrent-streams --image-processor-backend --language-model-only
        --linear-attn-verify-backend --linear-replayssm-cache-len --load-publish-endpoint
        --mamba-cache-philox-rounds --mamba-max-states-per-path --max-ep-size --media-url-max-file-size-mb
        --min-free-slots-delay --mlx-enable-sampling --mm-feature-transport --mm-global-cache-backend
        --mm-io-worker-num --mm-preprocess-cache-size-mb --mm-processor-worker-num --no-dcp-replicate-q-proj
        --no-dllm-fdfo --no-enable-tp-lm-head-all-to-all --no-ple-offload-embedding
        --optimistic-prefill-attempts --ple-offload-backend --ple-offload-dir --ple-offload-embedding
        --prefill-decode-interval --radix-eviction-policy-config --retraction-policy --return-hidden-states-mode
        --return-input-ids --return-output-ids --sampling-mask-max-tokens --sidecar --sidecar-args
        --smg-grpc-mode --smg-http-sidecar-port --spec-trace-dir --speculative-domino-candidate-pool-size
        --speculative-draft-kv-cache-dtype --speculative-dsa-topk-backend
        --speculative-dspark-align-verify-tokens-to-graph-tier --speculative-dspark-block-size
        --speculative-dspark-confidence-sts-path --speculative-dspark-sps-table-path --startup-weight-load-mode
        --trust-mm-content-hashes --unified-cache-external-linker-backend --uno-lora-path --weight-cache-mode
        --weight-cache-socket --weight-cache-timeout
    """,
    ("0.5.23", "0.5.23"): """
        --attention-data-parallel-size --attn-dp-size --boundary-reduction --constrained-json-max-whitespace-cnt
        --context-bucket --cuda-graph-max-seq-len-prefill --cuda-graph-prefill-max-context
        --disable-aiter-allreduce-fusion-in-decode --disable-aiter-allreduce-fusion-in-prefill
        --disaggregation-decode-allocation-policy --disaggregation-decode-host-receive-threshold
        --disaggregation-enable-kv-checksum --dsa-triton-union --enable-amd-monokernel
        --enable-decoder-swa-bounded-replay --enable-dsa-fused-indexer --enable-encoder-swa-bounded-replay
        --enable-hicache --enable-http-worker-reuseport --enable-kv-cache-sharding --enable-linker-mla-dedup
        --enable-megamoe-for-layernorm-sp --enable-nvidia-megakernel --enable-paged-experts
        --enable-pd-role-switch --enable-return-aux-hidden-states --enable-watermark
        --grpc-response-timeout-secs --hicache-host-memory-fraction --monokernel-backend
        --no-enable-decoder-swa-bounded-replay --no-enable-dsa-fused-indexer --no-enable-fused-qk-norm-rope
        --no-enable-tf32-matmul --no-mm-enable-dp-encoder --no-speculative-enable-w4a4-mxfp4-megamoe
        --otlp-service-name --paged-experts-num-resident --prefill-decode-interval-min-bs
        --prefill-kv-cache-dequant-dtype --qsa-indexer-dtype --return-aux-hidden-state-layer-ids
        --shared-experts-tp-size --speculative-draft-sink-size --speculative-enable-w4a4-mxfp4-megamoe
        --speculative-use-block-verification --swa-prefix-tails --trust-request-chat-template
        --unified-cache-external-linker-config --watermark-config
    """,
}

# Flags that store the same value; the first is the name without abbreviation in most releases.
ALIASES: tuple[tuple[str, ...], ...] = (
    ("--attn-cp-size", "--attention-context-parallel-size"),
    ("--attn-dp-size", "--attention-data-parallel-size"),
    ("--cuda-graph-prefill-max-context", "--context-bucket"),
    ("--dcp-size", "--decode-context-parallel-size"),
    ("--dist-init-addr", "--nccl-init-addr"),
    ("--dp-size", "--data-parallel-size"),
    ("--enable-hierarchical-cache", "--enable-hicache"),
    ("--ep-size", "--expert-parallel-size", "--ep"),
    ("--hisparse-config", "--hierarchical-sparse-attention-extra-config"),
    ("--model-path", "--model"),
    ("--moe-dp-size", "--moe-data-parallel-size"),
    ("--pp-size", "--pipeline-parallel-size"),
    ("--smg-http-sidecar-port", "--grpc-http-sidecar-port"),
    ("--speculative-draft-model-path", "--speculative-draft-model"),
    ("--tp-size", "--tensor-parallel-size"),
)
_SAME = {flag: group[0] for group in ALIASES for flag in group}

BY_RELEASE: dict[str, frozenset[str]] = {
    release: frozenset(
        flag
        for (first, last), text in _TABLE.items()
        if RELEASES.index(first) <= index <= RELEASES.index(last)
        for flag in text.split()
    )
    for index, release in enumerate(RELEASES)
}
FLAGS: frozenset[str] = frozenset().union(*BY_RELEASE.values())


@cache
def resolve(word: str) -> str | None:
    """The full flag that `word` (`--context-len`, `--tp`, `--port=1`) means; None where it is ambiguous or no flag.

    An exact flag of any release beats every prefix. Aliases of one flag are no ambiguity.
    """
    name = word.partition("=")[0]
    if name in FLAGS:
        return name
    if len(name) < 3 or not name.startswith("--"):
        return None
    meanings: dict[str, str] = {}  # what it stores → the flag
    for flags in BY_RELEASE.values():
        matching = sorted(flag for flag in flags if flag.startswith(name))
        stores = {_SAME.get(flag, flag) for flag in matching}
        if len(stores) == 1:
            meanings.setdefault(stores.pop(), matching[0])
    return meanings.popitem()[1] if len(meanings) == 1 else None
