"""Writing the files of a lab's folder: keys, commands, units, model, inventory."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

import asyncssh

from .layout import LabService, Layout, Shape
from .sweep import bin_folder

SIMULATOR = Path(__file__).parent / "simulator"
MANNERS = Path(__file__).parent / "manners"
COMMANDS = ("systemctl", "journalctl", "systemd-analyze", "nvidia-smi", "logger")


def build(folder: Path, shape: Shape) -> list[LabService]:
    """Write everything but known_hosts and hosts.toml, which need the SSH port."""
    layout = Layout(folder)
    if (layout.state / "services.json").exists():  # an earlier lab; what it committed stays
        for path in (layout.units, layout.state, layout.model, layout.run, bin_folder(folder), folder / "home"):
            shutil.rmtree(path, ignore_errors=True)
        for path in (layout.hosts_toml, layout.known_hosts, layout.identity):
            path.unlink(missing_ok=True)
    for path in (
        layout.units,
        layout.state,
        layout.model,
        layout.ledger,
        layout.locks,
        bin_folder(folder),
        folder / "home",
    ):
        path.mkdir(parents=True, exist_ok=True)
    write_keys(layout)
    write_commands(layout)
    write_model(layout.model)
    services = []
    for name, port in zip(shape.services, free_ports(len(shape.services)), strict=True):
        services.append(write_unit(layout, shape, name, port))
    (layout.state / "services.json").write_text(
        json.dumps([[service.name, service.unit, service.port] for service in services]), encoding="utf-8"
    )
    return services


def write_keys(layout: Layout) -> None:
    host_key = asyncssh.generate_private_key("ssh-ed25519", comment="lab host")
    host_key.write_private_key(layout.state / "host_key")
    host_key.write_public_key(layout.state / "host_key.pub")
    client_key = asyncssh.generate_private_key("ssh-ed25519", comment="lab")
    client_key.write_private_key(layout.identity)
    client_key.write_public_key(layout.state / "client_keys")
    layout.identity.chmod(0o600)


def write_commands(layout: Layout) -> None:
    """Stand-ins first on PATH. The base interpreter starts faster than that of a virtual environment."""
    texts = Path(__file__).parent / "stand_ins"
    python = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    for source, target in (("client.txt", "lab-client"), ("sudo.txt", "sudo"), ("systemd_run.txt", "systemd-run")):
        text = (texts / source).read_text(encoding="utf-8")
        text = text.replace("PYTHON", str(python), 1).replace("STATE_FOLDER", str(layout.state))
        path = bin_folder(layout.folder) / target
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
    for name in COMMANDS:
        (bin_folder(layout.folder) / name).symlink_to("lab-client")


def write_model(folder: Path) -> None:
    """What a console reads of Kimi K2.6's config.json: the numbers stand in `text_config`."""
    text = {
        "model_type": "deepseek_v3",
        "architectures": ["DeepseekV3ForCausalLM"],
        "max_position_embeddings": 262144,
        "num_hidden_layers": 61,
        "hidden_size": 7168,
        "num_attention_heads": 64,
        "num_key_value_heads": 64,
        "kv_lora_rank": 512,
        "q_lora_rank": 1536,
        "qk_rope_head_dim": 64,
        "qk_nope_head_dim": 128,
        "v_head_dim": 128,
        "n_routed_experts": 384,
        "num_experts_per_tok": 8,
        "first_k_dense_replace": 1,
        "num_nextn_predict_layers": 0,
        "vocab_size": 163840,
        "rope_theta": 50000.0,
        "rope_scaling": {
            "type": "yarn",
            "factor": 64.0,
            "original_max_position_embeddings": 4096,
            "beta_fast": 32.0,
            "beta_slow": 1.0,
            "mscale": 1.0,
            "mscale_all_dim": 1.0,
        },
        "quantization_config": {
            "quant_method": "compressed-tensors",
            "format": "pack-quantized",
            "kv_cache_scheme": None,
            "config_groups": {"group_0": {"weights": {"num_bits": 4, "group_size": 32, "type": "int"}}},
        },
    }
    config = {
        "model_type": "kimi_k25",
        "architectures": ["KimiK25ForConditionalGeneration"],
        "torch_dtype": "bfloat16",
        "text_config": text,
    }
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")


def command_words(layout: Layout, shape: Shape, port: int) -> list[str]:
    """The command of a service in the manner of its engine, as an operator would write it."""
    if shape.engine == "vllm":
        return [
            f"{sys.executable} -S {MANNERS} vllm serve {layout.model}",
            "--served-model-name kimi-k2.6",
            f"--host 127.0.0.1 --port {port}",
            f"--max-model-len {shape.context_length}",
            "--gpu-memory-utilization 0.9",
            "--tool-call-parser kimi_k2 --enable-auto-tool-choice",
        ]
    if shape.engine == "llamacpp":
        (layout.model / "model.gguf").write_bytes(b"GGUF")
        return [
            f"{sys.executable} -S {MANNERS} llamacpp -m {layout.model}/model.gguf",
            f"--host 127.0.0.1 --port {port}",
            f"-c {shape.context_length}",
            "-np 1 --metrics",
        ]
    return [
        f"{sys.executable} -S {SIMULATOR}",
        f"--model-path {layout.model}",
        "--served-model-name kimi-k2.6",
        f"--host 127.0.0.1 --port {port}",
        "--tp-size 8",
        f"--context-length {shape.context_length}",
        f"--mem-fraction-static {shape.mem_fraction}",
        "--kv-cache-dtype auto",
        # Needs no draft model, so that weights and pool are the target's alone.
        "--speculative-algorithm NGRAM --speculative-num-draft-tokens 8",
        "--tool-call-parser kimi_k2 --reasoning-parser kimi_k2",
        "--enable-metrics --enable-cache-report",
    ]


def write_unit(layout: Layout, shape: Shape, name: str, port: int) -> LabService:
    unit = f"{shape.engine}-{name}.service"
    options = {
        "speed": shape.speed,
        "load_s": shape.load_s,
        "fault_file": str(layout.fault_file),
        "gpu_file": str(layout.state / f"gpu-{name}.json"),
        **shape.options,
    }
    options_file = layout.state / f"simulator-{name}.json"
    options_file.write_text(json.dumps(options, indent=2) + "\n", encoding="utf-8")
    words = command_words(layout, shape, port)
    if shape.api_key is not None:
        words.append(f"--api-key {shape.api_key}")
    words += shape.arguments
    lines = [
        "[Unit]",
        "Description=Kimi K2.6 on a simulated engine",
        "After=network-online.target",
        "StartLimitIntervalSec=600",
        "StartLimitBurst=20",
        "",
        "[Service]",
        "Type=simple",
        f'Environment="SIM_OPTIONS_FILE={options_file}"',
        "ExecStart=" + " \\\n    ".join(words),
        "Restart=on-failure",
        "RestartSec=1",
        "KillMode=mixed",
        "TimeoutStopSec=60",
        *shape.unit_lines,
        "",
        "[Install]",
        "WantedBy=multi-user.target",
    ]
    path = layout.units / unit
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    wants = layout.units / "multi-user.target.wants"
    wants.mkdir(exist_ok=True)
    (wants / unit).symlink_to(f"../{unit}")
    return LabService(name, unit, path, port)


def write_access(layout: Layout, shape: Shape, services: Sequence[LabService], ssh_port: int, user: str) -> None:
    """known_hosts, and the inventory that makes the lab a target."""
    public = (layout.state / "host_key.pub").read_text(encoding="utf-8").split()
    layout.known_hosts.write_text(f"[127.0.0.1]:{ssh_port} {public[0]} {public[1]}\n", encoding="utf-8")
    lines = [
        "schema = 1",
        "",
        "[results]",
        f"path = {text(layout.results)}",
        'push = "never"',
        "",
        f"[hosts.{shape.name}]",
        'address = "127.0.0.1"',
        f"port = {ssh_port}",
        f"user = {text(user)}",
        f"identity = {text(layout.identity)}",
        f"known_hosts = {text(layout.known_hosts)}",
        f"state_folder = {text(layout.ledger)}",
        f"runtime_folder = {text(layout.locks)}",
        f"speed = {float(shape.speed)}",
    ]
    for service in services:
        lines += [
            "",
            f"[hosts.{shape.name}.services.{service.name}]",
            f"unit = {text(service.unit)}",
            f"engine = {text(shape.engine)}",
            f"url = {text(service.url)}",
        ]
        if shape.api_key_env is not None:
            lines.append(f"api_key_env = {text(shape.api_key_env)}")
    draft = layout.folder / "hosts.toml.new"
    draft.write_text("\n".join(lines) + "\n", encoding="utf-8")
    draft.replace(layout.hosts_toml)


def text(value: str | Path) -> str:
    """A TOML string; JSON's escapes are among TOML's."""
    return json.dumps(str(value), ensure_ascii=False)


def free_ports(count: int) -> list[int]:
    """Ports nobody listens on; all are held until the last is found, so that no two are the same."""
    listeners = []
    try:
        for _ in range(count):
            listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            listeners.append(listener)
            listener.bind(("127.0.0.1", 0))
        return [listener.getsockname()[1] for listener in listeners]
    finally:
        for listener in listeners:
            listener.close()


def environment() -> dict[str, str]:
    """For the daemon: it must find this package wherever it lies."""
    root = str(Path(__file__).resolve().parents[2])
    others = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{others}" if others else root}
