"""A start of the engine: minutes on a real host, told line by line as the engine tells it."""

from __future__ import annotations

import argparse
import json
import os
import signal
from pathlib import Path
from typing import NoReturn

from .faults import Fault
from .memory import Limits, Memory, plan_memory
from .options import Options
from .sim_clock import SimClock, log, log_raw

# share of the whole load each part takes
INIT, WEIGHTS, POOL, GRAPHS = 0.08, 0.66, 0.02, 0.24
OVERWRITE = "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"
TRACEBACK = "Traceback (most recent call last):\n"
GRAPH_BATCHES = (48, 40, 32, 24, 16, 12, 8, 4, 2, 1)


class StartFailedError(Exception):
    """The engine will not serve; what it says of that is on stderr already."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Gpus:
    """What `nvidia-smi` would show of this process, kept in a file for the lab's stand-in."""

    def __init__(self, path: str, count: int) -> None:
        self.path = Path(path) if path else None
        self.count = count

    def use(self, gib: float) -> None:
        if self.path is None:
            return
        draft = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        draft.write_text(json.dumps({"pid": os.getpid(), "gpus": self.count, "used_mib": round(gib * 1024)}))
        draft.replace(self.path)


def effective_context(options: Options, arguments: argparse.Namespace) -> int:
    """The context served: the flag, else the model's own. A flag past the model's own is a StartFailedError."""
    derived = options.derived_context
    folder = Path(arguments.model_path)
    if folder.is_absolute():
        try:
            config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        except OSError:
            fail_in_main(f"OSError: {folder} does not appear to have a file named config.json.")
        derived = int(config.get("text_config", config).get("max_position_embeddings", derived))
    asked = arguments.context_length
    if asked is None or asked <= derived:
        return asked or derived
    told = (
        f"Warning: User-specified context_length ({asked}) is greater than the derived context_length ({derived}). "
        "This may lead to incorrect model outputs or CUDA errors. Note that the derived context_length may differ from "
        "max_position_embeddings in the model's config."
    )
    if os.environ.get(OVERWRITE, "").lower() not in ("1", "true"):
        fail_in_main(f"ValueError: {told} To allow overriding this maximum, set the env var {OVERWRITE}=1")
    log(told)
    return int(asked)


def fail_in_main(error: str) -> NoReturn:
    log_raw(f'{TRACEBACK}  File "launch_server.py", line 29, in <module>\n    run_server(server_args)\n{error}\n')
    raise StartFailedError(1)


def fail_in_scheduler(error: str) -> NoReturn:
    """A rank died: the main process kills its whole tree, itself too, so systemd sees status=9/KILL."""
    log(
        f'Scheduler hit an exception: {TRACEBACK}  File "scheduler.py", line 3140, in run_scheduler_process\n{error}\n',
        " TP0",
    )
    log("Received sigquit from a child process. It usually means the child failed.")
    raise StartFailedError(-signal.SIGKILL)


def describe(arguments: argparse.Namespace) -> str:
    """The line with all arguments; secrets stand in it in clear, as in the engine's own."""
    return "server_args=ServerArgs(" + ", ".join(f"{name}={value!r}" for name, value in vars(arguments).items()) + ")"


async def load(
    options: Options, clock: SimClock, arguments: argparse.Namespace, fault: Fault, gpus: Gpus
) -> tuple[Memory, Limits]:
    """Everything up to the moment the port is bound. Raises StartFailedError."""
    log(describe(arguments))
    context = effective_context(options, arguments)
    if fault.hits("crash-loop", context):
        await clock.sleep(options.crash_s)
        fail_in_scheduler("RuntimeError: CUDA error: an illegal memory access was encountered")
    load_s = options.load_s * (options.slow_factor if fault.hits("slow-load", context) else 1.0)
    ranks = range(max(int(arguments.tp_size), 1))
    for rank in ranks:
        log("Init torch distributed begin.", f" TP{rank}")
    gpus.use(0.6)
    await clock.sleep(load_s * INIT)
    log(f"Init torch distributed ends. elapsed={load_s * INIT:.2f} s, mem usage=0.61 GB", " TP0")
    for rank in ranks:
        log(f"Load weight begin. avail mem={options.gpu_gib - 0.61:.2f} GB", f" TP{rank}")
    await load_shards(options, clock, load_s * WEIGHTS, gpus, halt_at=0.4 if fault.hits("hang", context) else None)
    for rank in ranks:
        log(
            f"Load weight end. elapsed={load_s * WEIGHTS:.2f} s, type=KimiK25ForConditionalGeneration, "
            f"avail mem={options.gpu_gib - 0.61 - options.weights_gib:.2f} GB, mem usage={options.weights_gib:.2f} GB.",
            f" TP{rank}",
        )
    if fault.hits("oom", context):
        await clock.sleep(load_s * POOL)
        fail_in_scheduler(
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.95 GiB. GPU 0 has a total capacity of "
            f"{options.gpu_gib:.2f} GiB of which 1.12 GiB is free. Including non-PyTorch memory, this process has "
            f"{options.gpu_gib - 1.12:.2f} GiB memory in use."
        )
    share = options.pool_share if fault.hits("pool-shrinks", context) else 1.0
    memory = plan_memory(
        options, arguments.mem_fraction_static, arguments.kv_cache_dtype, arguments.max_total_tokens, share
    )
    if memory.pool_tokens <= 0:
        fail_in_scheduler(
            "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. "
            f"Current value: mem_fraction_static={arguments.mem_fraction_static}"
        )
    await clock.sleep(load_s * POOL)
    used = options.static_gib + memory.pool_gib
    for rank in ranks:
        log(f"KV Cache is allocated. #tokens: {memory.pool_tokens}, KV size: {memory.pool_gib:.2f} GB", f" TP{rank}")
    log(f"Memory pool end. avail mem={memory.free_gib:.2f} GB", " TP0")
    gpus.use(used)
    await capture_graphs(options, clock, load_s * GRAPHS, memory, arguments.mem_fraction_static)
    gpus.use(used + options.graph_gib)
    max_running = arguments.max_running_requests or 2048
    log(
        f"max_total_num_tokens={memory.pool_tokens}, chunked_prefill_size={arguments.chunked_prefill_size}, "
        f"max_prefill_tokens={arguments.max_prefill_tokens}, max_running_requests={max_running}, "
        f"context_len={context}, "
        f"available_gpu_mem={memory.free_gib - options.graph_gib:.2f} GB",
        " TP0",
    )
    return memory, Limits(context, memory.pool_tokens)


async def load_shards(options: Options, clock: SimClock, seconds: float, gpus: Gpus, halt_at: float | None) -> None:
    """The progress bar of the weights; it stops for ever at the share `halt_at`."""
    each = seconds / options.shards
    end = "\n" if options.shard_newlines else "\r"
    for done in range(options.shards + 1):
        if halt_at is not None and done >= halt_at * options.shards:
            await clock.sleep(1e9)
        if done:
            await clock.sleep(each)
        left = (options.shards - done) * each
        rate = f"{each:.2f}s/it" if done else "?it/s"
        eta = duration(left) if done else "?"
        bar = f"Multi-thread loading shards: {100 * done // options.shards:3d}% Completed | {done}/{options.shards}"
        log_raw(f"{end if done else ''}{bar} [{duration(done * each)}<{eta}, {rate}]")
        gpus.use(0.6 + options.weights_gib * done / options.shards)
    log_raw("\n")


async def capture_graphs(
    options: Options, clock: SimClock, seconds: float, memory: Memory, mem_fraction: float
) -> None:
    log(f"Capture cuda graph begin. This can take up to several minutes. avail mem={memory.free_gib:.2f} GB", " TP0")
    log(f"Capture cuda graph bs {sorted(GRAPH_BATCHES)}", " TP0")
    count = len(GRAPH_BATCHES)
    for done, batch in enumerate((*GRAPH_BATCHES, GRAPH_BATCHES[-1])):
        free = memory.free_gib - options.graph_gib * done / count
        bar = f"Capturing batches (bs={batch} avail_mem={free:.2f} GB): {100 * done // count:3d}%|{'█' * done:<10}|"
        left = duration(seconds * (1 - done / count)) if done else "?"
        log_raw(f"\r{bar} {done}/{count} [{duration(seconds * done / count)}<{left}, {seconds / count:.2f}s/it]")
        if free < options.graph_gib / 2:
            log_raw("\n")
            fail_in_scheduler(
                "Exception: Capture cuda graph failed: CUDA out of memory. Tried to allocate 512.00 MiB.\n"
                "Possible solutions:\n"
                f"1. set --mem-fraction-static to a smaller value (e.g., 0.8 or 0.7), it is {mem_fraction}\n"
                "2. set --cuda-graph-max-bs to a smaller value (e.g., 16)"
            )
        if done < count:
            await clock.sleep(seconds / count)
    log_raw("\n")
    log(
        f"Capture cuda graph end. Time elapsed: {seconds:.2f} s. mem usage={options.graph_gib:.2f} GB. "
        f"avail mem={memory.free_gib - options.graph_gib:.2f} GB.",
        " TP0",
    )


def duration(seconds: float) -> str:
    return f"{int(seconds) // 60:02d}:{int(seconds) % 60:02d}"
