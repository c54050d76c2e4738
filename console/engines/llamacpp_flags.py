"""The options of llama.cpp's server that take no value, and how a name is read.

Its parser takes no `--flag=value` and no abbreviations; underscores in long names stand for hyphens. Read from
`common/arg.cpp` of builds 4700 (2025-02) to 11434 (2026-10).
"""

from __future__ import annotations

# Options that stand for themselves; every other one takes the word after it.
_TAKE_NOTHING = """
    --cache-idle-slots --cache-list --cache-prompt --check-tensors --completion-bash --cont-batching
    --context-shift --conversation --cors-credentials --cpu-moe --dflash --eagle3 --embedding --embeddings
    --escape --help --ignore-eos --jinja --kv-offload --kv-unified --list-devices --log-disable --log-jsonl
    --log-prefix --log-timestamps --log-verbose --lora-init-without-apply --metrics --mlock --mmap --mmproj-auto
    --mmproj-offload --models-autoload --mtp --no-cache-idle-slots --no-cache-prompt --no-cont-batching
    --no-context-shift --no-conversation --no-direct-io --no-escape --no-host --no-jinja --no-kv-offload
    --no-kv-unified --no-log-prefix --no-log-timestamps --no-mmap --no-mmproj --no-mmproj-auto
    --no-mmproj-offload --no-models-autoload --no-op-offload --no-perf --no-prefill-assistant --no-repack
    --no-slots --no-ui --no-warmup --no-webui --offline --op-offload --perf --prefill-assistant --props --repack
    --rerank --reranking --router --simple-io --slots --spec-draft-cpu-moe --special --swa-full --ui --verbose
    --verbose-prompt --version --warmup --webui -cb -cl -cmoe -cmoed -cnv -e -h -kvo -kvu -nkvo -no-cnv -no-kvu
    -nocb -nr -sp -v
"""
SWITCHES: frozenset[str] = frozenset(_TAKE_NOTHING.split())

# Other spellings of the long names that settings have, to the first of them.
ALIASES: dict[str, str] = {
    alias: names[0]
    for names in (
        ("--ctx-size", "-c"),
        ("--parallel", "-np"),
        ("--model", "-m"),
        ("--alias", "-a"),
        ("--n-gpu-layers", "--gpu-layers", "-ngl"),
        ("--batch-size", "-b"),
        ("--ubatch-size", "-ub"),
        ("--predict", "--n-predict", "-n"),
        ("--cache-type-k", "-ctk"),
        ("--cache-type-v", "-ctv"),
        ("--flash-attn", "-fa"),
        ("--spec-draft-model", "--model-draft", "-md"),
        ("--spec-draft-n-max", "--draft-max", "--draft", "--draft-n"),
        ("--hf-repo", "-hf", "-hfr"),
        ("--hf-token", "-hft"),
        ("--kv-unified", "-kvu"),
        ("--threads", "-t"),
    )
    for alias in names
}
KNOWN: frozenset[str] = frozenset(
    {name for name in (*ALIASES, *ALIASES.values(), *SWITCHES) if name.startswith("--")}
    | {"--host", "--port", "--api-key", "--api-key-file", "--models-dir", "--models-preset", "--models-max", "--jinja"}
)


def resolve(word: str) -> str | None:
    """The first name of the option `word` is; None where it is no option we know."""
    name = "--" + word[2:].replace("_", "-") if word.startswith("--") else word
    if name in ALIASES:
        return ALIASES[name]
    return name if name in KNOWN or name in SWITCHES else None
