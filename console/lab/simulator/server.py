"""The process: read arguments, load, bind, warm up, serve, drain."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import socket
import subprocess
import sys
from array import array
from collections.abc import Coroutine
from typing import Any

from . import router
from .api import Api
from .arguments import parse_server_args
from .engine import STOPPING, UP, Engine
from .faults import read_fault
from .http_wire import MAX_HEAD, Server
from .loading import Gpus, StartFailedError, load
from .memory import Limits, plan_memory
from .options import Options, read_options
from .scheduler import Job
from .sim_clock import SimClock, log

INHERITED = "SIM_LISTEN_FD"  # set for the process that keeps the port when its parent ends
STALE_POLL_S = 0.2


class Process:
    """One start of the simulator, from its arguments to its end."""

    def __init__(self, options: Options, arguments: argparse.Namespace) -> None:
        self.options = options
        self.arguments = arguments
        self.clock = SimClock(options.speed)
        self.gpus = Gpus(options.gpu_file, max(arguments.tp_size, 1))
        self.engine: Engine | None = None
        self.listener: socket.socket | None = None
        self.http: Server | None = None
        self.ended = asyncio.Event()
        self.tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> int:
        inherited = os.environ.get(INHERITED)
        if inherited is not None:
            return await self.stay(socket.socket(fileno=int(inherited)))
        memory, limits = await load(
            self.options, self.clock, self.arguments, read_fault(self.options.fault_file), self.gpus
        )
        self.engine = Engine(self.options, self.clock, self.arguments, memory, limits)
        log(f"INFO:     Started server process [{os.getpid()}]")
        log("INFO:     Waiting for application startup.")
        log("INFO:     Application startup complete.")
        host, port = self.arguments.host, self.arguments.port
        try:
            self.listener = bind(host, port)
        except OSError as error:
            where = f"error while attempting to bind on address ('{host}', {port})"  # uvicorn's own words
            log(f"ERROR:    [Errno {error.errno}] {where}: {os.strerror(error.errno or 0).lower()}")
            return 1
        await self.serve(self.listener)
        log(f"INFO:     Uvicorn running on http://{host}:{port} (Press CTRL+C to quit)")
        await self.warm_up()
        await self.ended.wait()
        return 0

    async def serve(self, listener: socket.socket) -> None:
        assert self.engine is not None
        api = Api(self.engine)
        await api.transfer.listen(self.arguments.host)
        self.http = Server(api)
        await asyncio.start_server(self.http.connection, sock=listener, limit=MAX_HEAD)
        self.start(self.engine.scheduler.run())

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.add(task)
        # A scheduler that dies silently would leave every client waiting.
        task.add_done_callback(lambda done: self.ended.set() if done.cancelled() or done.exception() else None)

    async def warm_up(self) -> None:
        assert self.engine is not None
        if not self.arguments.skip_server_warmup:
            log('INFO:     127.0.0.1:0 - "GET /model_info HTTP/1.1" 200 OK')
            job = self.engine.submit(
                array("I", [10, 11, 12, 13, 14, 15]), [10], max_new=8, ignore_eos=True, warm_up=True
            )
            await finished(job)
            log('INFO:     127.0.0.1:0 - "POST /generate HTTP/1.1" 200 OK')
        # Installed with the first request, not before: while loading, SIGTERM ends the process at once.
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self.terminate)
        self.engine.state = UP
        log("The server is fired up and ready to roll!")

    def terminate(self) -> None:
        assert self.engine is not None
        if self.engine.state == STOPPING:
            return
        self.engine.state = STOPPING
        log("SIGTERM received. signum=None frame=None. Draining requests and shutting down...")
        if read_fault(self.options.fault_file).name == "stale-port" and self.listener is not None:
            leave_behind(self.listener)
            end_with(-signal.SIGKILL)
        self.start(self.drain())

    async def drain(self) -> None:
        """No time limit; at the end 0.5.10 kills itself, so that systemd counts a plain stop as failed."""
        assert self.engine is not None
        while True:
            await self.clock.sleep(self.options.drain_poll_s / 2)
            scheduler = self.engine.scheduler
            left = [job.rid for job in (*scheduler.running, *scheduler.waiting)]
            told = f"Remaining number of requests {len(left)}. Remaining requests remaining_rids={left}."
            log(f"Gracefully exiting... {told}")
            if not left:
                # The last words of an answer are still on their way when its request is done; nobody waits for ever.
                for _ in range(200):
                    if self.http is None or not self.http.answering:
                        break
                    await asyncio.sleep(0.01)
                end_with(-signal.SIGKILL)
            await self.clock.sleep(self.options.drain_poll_s / 2)

    async def stay(self, listener: socket.socket) -> int:
        """Answer on a port that outlived its service, with the old arguments, while the fault lasts."""
        memory = plan_memory(
            self.options,
            self.arguments.mem_fraction_static,
            self.arguments.kv_cache_dtype,
            self.arguments.max_total_tokens,
        )
        context = self.arguments.context_length or self.options.derived_context
        self.engine = Engine(self.options, self.clock, self.arguments, memory, Limits(context, memory.pool_tokens))
        self.engine.state = UP
        await self.serve(listener)
        while read_fault(self.options.fault_file).name == "stale-port":  # noqa: ASYNC110 - a file has no event
            await asyncio.sleep(STALE_POLL_S)
        return 0


async def finished(job: Job) -> None:
    while job.finished_at is None:
        await job.changed.wait()
        job.changed.clear()


def bind(host: str, port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(2048)
    except OSError:
        listener.close()
        raise
    return listener


def leave_behind(listener: socket.socket) -> None:
    """Hand the open port to a process in a session of its own, which a restart of the service does not reach."""
    listener.set_inheritable(True)
    environ = {**os.environ, INHERITED: str(listener.fileno())}
    subprocess.Popen(
        [sys.executable, *sys.orig_argv[1:]], env=environ, pass_fds=[listener.fileno()], start_new_session=True
    )


def end_with(status: int) -> None:
    """End the process now; a negative status is a signal, sent to ourselves."""
    sys.stderr.flush()
    if status < 0:
        os.kill(os.getpid(), -status)
    os._exit(status)


async def start(options: Options, arguments: argparse.Namespace) -> int:
    return await Process(options, arguments).run()


def main() -> None:
    if sys.argv[1:2] == ["router"]:
        router.main(sys.argv[2:])
        return
    try:
        options, rest = read_options(sys.argv[1:], os.environ)
    except (OSError, ValueError) as error:
        sys.stderr.write(f"simulator: {error}\n")
        sys.exit(2)
    arguments = parse_server_args(rest)
    try:
        status = asyncio.run(start(options, arguments))
    except StartFailedError as error:
        status = error.status
    except KeyboardInterrupt:
        status = -signal.SIGINT
    end_with(status)
