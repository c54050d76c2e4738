"""Why a start of an engine written in Python failed, as torch, Python, the host and systemd say it.

The certainties are those of `sglang_failures`. An engine's own rows stand before these: the first that matches wins.
"""

from __future__ import annotations

import re

from console.engines.logtable import Row

EXITED: tuple[Row, ...] = (
    Row(
        "failure",
        re.compile(
            r"A process of this unit has been killed by the OOM killer|Failed with result 'oom-kill'"
            r"|Out of memory: Killed process \d+"
        ),
        "systemd 252, Linux",
        "sglang.service: A process of this unit has been killed by the OOM killer.",
        cause="host-out-of-memory",
        certainty=90,
    ),
    Row(
        "failure",
        re.compile(r": Main process exited, code=(?P<code>killed|dumped|exited), status=(?!0/|15/TERM)(?P<status>\S+)"),
        "systemd 252; SGLang up to 0.5.18 ends itself with 9/KILL, also after a plain stop",
        "sglang.service: Main process exited, code=killed, status=9/KILL",
        cause="process-exited",
        certainty=5,
    ),
)

COMMON: tuple[Row, ...] = (
    Row(
        "failure",
        re.compile(
            r"^(?:[\w .-]+: )?error: "
            r"(?P<message>(?:unrecognized arguments|argument |the following arguments|ambiguous option).*)"
        ),
        "argparse",
        "launch_server.py: error: argument --context-length: invalid int value: '200k'",
        cause="bad-argument",
        certainty=95,
    ),
    Row(
        "failure",
        # Triton's autotuner writes `OutOfMemoryError: out of resource` for choices that it then skips: not this.
        re.compile(
            r"^(?:torch\.(?:cuda\.)?)?(?:OutOfMemoryError|RuntimeError|AcceleratorError): "
            r"(?:CUDA|HIP|XPU|NPU)(?: error:)? out of memory"
            r"(?:.*?Tried to allocate (?P<tried>[\d.]+ [KMG]iB))?(?:.*?GPU (?P<gpu>\d+) has)?"
        ),
        "torch 2",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 448.00 MiB. GPU 5 has a total capacity of "
        "95.59 GiB of which 210.19 MiB is free.",
        cause="out-of-memory",
        certainty=82,
    ),
    Row(
        "failure",
        re.compile(r"\[Errno 98\]|\bEADDRINUSE\b|[Aa]ddress already in use"),
        "uvicorn, torch",
        "ERROR:    [Errno 98] error while attempting to bind on address ('127.0.0.1', 30000): address already in use",
        cause="port-in-use",
        certainty=86,
    ),
    Row(
        "failure",
        re.compile(r"\[Errno 28\] No space left on device|^RuntimeError: .*No space left on device"),
        "Python",
        "OSError: [Errno 28] No space left on device: '/root/.cache/torch/kernels'",
        cause="disk-full",
        certainty=86,
    ),
    Row(
        "failure",
        re.compile(
            r"^\S*(?:Error|Exception): .*(?:is not a local folder and is not a valid model identifier"
            r"|Incorrect path_or_model_id|Can't load the configuration of|does not appear to have a file named"
            r"|Repo id must be in the form|Unrecognized model in |Cannot find any model weights)"
            r"|^\S*(?:RepositoryNotFoundError|LocalEntryNotFoundError): .*"
        ),
        "transformers, huggingface_hub",
        "OSError: Incorrect path_or_model_id: '/models/gone'. Please provide a path or a repo_id.",
        cause="model-not-found",
        certainty=84,
    ),
    Row(
        "failure",
        re.compile(
            r"CUDA driver version is insufficient|NVIDIA driver on your system is too old|No CUDA GPUs are available"
            r"|Driver/library version mismatch|no kernel image is available for execution"
        ),
        "torch, NVML",
        "RuntimeError: The NVIDIA driver on your system is too old (found version 12020).",
        cause="gpu-driver",
        certainty=86,
    ),
    Row(
        "failure",
        re.compile(r"ProcessGroupNCCL's watchdog got stuck for (?P<seconds>\d+) seconds"),
        "torch 2",
        "[rank1]:[E402 09:11:02.000000000 ProcessGroupNCCL.cpp:1484] [PG ID 0 PG GUID 0 Rank 1] ProcessGroupNCCL's "
        "watchdog got stuck for 600 seconds without making progress in monitoring enqueued collectives.",
        cause="nccl-hang",
        certainty=72,
    ),
    Row(
        "failure",
        re.compile(r"Watchdog caught collective operation timeout"),
        "torch 2",
        "[rank0]:[E402 09:11:02.000000000 ProcessGroupNCCL.cpp:632] [Rank 0] Watchdog caught collective operation "
        "timeout: WorkNCCL(SeqNum=4, OpType=ALLREDUCE)",
        cause="nccl-hang",
        certainty=72,
    ),
    Row(
        "failure",
        re.compile(r"\bNCCL error\b|\bnccl(?:UnhandledCuda|System|Remote|Internal)Error\b"),
        "torch 2; in the other ranks also a consequence of the first that died",
        "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:3356, unhandled cuda error",
        cause="nccl",
        certainty=70,
    ),
    Row(
        "failure",
        re.compile(r"probability tensor contains either `inf`, `nan` or element < 0"),
        "torch 2",
        "RuntimeError: probability tensor contains either `inf`, `nan` or element < 0",
        cause="nan-probabilities",
        certainty=76,
    ),
    Row(
        "failure",
        re.compile(r"\bCUDA error: (?P<message>.*)"),
        "torch 2",
        "torch.AcceleratorError: CUDA error: an illegal memory access was encountered",
        cause="gpu-error",
        certainty=74,
    ),
    Row(
        "failure",
        re.compile(r"^(?P<error>ImportError|ModuleNotFoundError): (?P<message>.*)"),
        "Python",
        "ModuleNotFoundError: No module named 'sgl_kernel'",
        cause="import-error",
        certainty=68,
    ),
    Row(
        "failure",
        re.compile(r"^FileNotFoundError: (?P<message>.*)"),
        "Python",
        "FileNotFoundError: [Errno 2] No such file or directory: '/models/m/model.safetensors.index.json'",
        cause="file-not-found",
        certainty=68,
    ),
    *EXITED,
    Row(
        "failure",
        re.compile(r"^(?P<error>(?:[A-Za-z_]\w*\.)*(?:[A-Z]\w*)?(?:Error|Exception))(?:: (?P<message>.*))?$"),
        "Python",
        "ValueError: Quantization method of the checkpoint (awq) does not match the argument (gptq).",
        cause="exception",
        certainty=50,
    ),
)
