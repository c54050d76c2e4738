"""The HTTP endpoints: the native ones here, the OpenAI ones in `openai`."""

from __future__ import annotations

import asyncio
import contextlib
import json
from array import array
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from .disaggregation import GENERATIONS, Transfer
from .engine import STARTING, STOPPING, UP, BadRequestError, Engine
from .http_wire import DisconnectedError, HttpReply, HttpRequest, json_reply
from .openai import chat_completions, completions
from .scheduler import Job
from .text_model import tokenize

OPEN_PATHS = ("/health", "/metrics")  # served without the key


class Api:
    """Routes, the key, and waiting for a job while its client is there."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.transfer = Transfer(engine.arguments.disaggregation_mode, engine.arguments.disaggregation_bootstrap_port)
        self.routes: dict[tuple[str, str], Callable[[HttpRequest], Awaitable[HttpReply]]] = {
            ("GET", "/health"): self.health,
            ("GET", "/health_generate"): self.health,
            ("GET", "/v1/models"): self.models,
            ("GET", "/server_info"): self.server_info,
            ("GET", "/get_server_info"): self.server_info,
            ("GET", "/model_info"): self.model_info,
            ("GET", "/get_model_info"): self.model_info,
            ("GET", "/v1/loads"): self.loads,
            ("GET", "/get_load"): self.old_load,
            ("GET", "/metrics"): self.metrics,
            ("GET", "/flush_cache"): self.flush_cache,
            ("POST", "/flush_cache"): self.flush_cache,
            ("POST", "/abort_request"): self.abort_request,
            ("POST", "/tokenize"): self.tokenize,
            ("POST", "/v1/tokenize"): self.tokenize,
            ("POST", "/generate"): self.generate,
            ("POST", "/v1/completions"): self.completions,
            ("POST", "/v1/chat/completions"): self.chat_completions,
        }

    async def __call__(self, request: HttpRequest) -> HttpReply:
        if not self.allowed(request):
            return json_reply({"error": "Unauthorized"}, 401)
        route = self.routes.get((request.method, request.path))
        if route is None:
            known = any(path == request.path for _, path in self.routes)
            return json_reply({"detail": "Method Not Allowed" if known else "Not Found"}, 405 if known else 404)
        try:
            if self.transfer.apart and request.path in GENERATIONS:
                return await self.transfer.serve(route, request)
            return await route(request)
        except ValueError as error:  # not JSON, or not what the field wants
            return json_reply({"detail": [{"type": "json_invalid", "msg": str(error)}]}, 422)

    def allowed(self, request: HttpRequest) -> bool:
        arguments = self.engine.arguments
        if request.path.startswith(OPEN_PATHS):
            return True
        given = request.headers.get("authorization", "")
        if request.path == "/flush_cache" and arguments.admin_api_key:
            return given == f"Bearer {arguments.admin_api_key}"
        return not arguments.api_key or given == f"Bearer {arguments.api_key}"

    async def health(self, request: HttpRequest) -> HttpReply:
        """Waits a second or more, and generates a token when nothing else does."""
        engine = self.engine
        if engine.state in (STARTING, STOPPING):
            return HttpReply(503)
        if engine.scheduler.idle:
            engine.submit(array("I", [0]), [0], max_new=1, rid="HEALTH_CHECK_" + engine.new_rid(), warm_up=True)
        await engine.clock.sleep(engine.options.health_s)
        return HttpReply(200 if engine.state == UP else 503)

    async def models(self, request: HttpRequest) -> HttpReply:
        name = self.engine.arguments.served_model_name
        card = {
            "id": name,
            "object": "model",
            "created": 1_760_000_000,
            "owned_by": "sglang",
            "root": name,
            "parent": None,
            "max_model_len": self.engine.limits.context,
        }
        return json_reply({"object": "list", "data": [card]})

    async def server_info(self, request: HttpRequest) -> HttpReply:
        return json_reply(self.engine.info())

    async def model_info(self, request: HttpRequest) -> HttpReply:
        arguments = self.engine.arguments
        return json_reply(
            {
                "model_path": arguments.model_path,
                "tokenizer_path": arguments.tokenizer_path,
                "is_generation": True,
                "preferred_sampling_params": arguments.preferred_sampling_params,
                "weight_version": arguments.weight_version,
            }
        )

    async def loads(self, request: HttpRequest) -> HttpReply:
        return json_reply(self.engine.loads())

    async def old_load(self, request: HttpRequest) -> HttpReply:
        scheduler = self.engine.scheduler
        waiting = len(scheduler.waiting)
        load = {
            "dp_rank": 0,
            "num_reqs": len(scheduler.running) + waiting,
            "num_waiting_reqs": waiting,
            "num_tokens": scheduler.used_tokens,
        }
        return json_reply([load])

    async def metrics(self, request: HttpRequest) -> HttpReply:
        if not self.engine.arguments.enable_metrics:
            return json_reply({"detail": "Not Found"}, 404)
        return HttpReply(200, self.engine.metrics().encode(), "text/plain; version=0.0.4; charset=utf-8")

    async def flush_cache(self, request: HttpRequest) -> HttpReply:
        scheduler = self.engine.scheduler
        if not scheduler.idle:
            return HttpReply(
                400, b"Cache not flushed because there are pending requests.\n", "text/plain; charset=utf-8"
            )
        scheduler.cache.clear()
        scheduler.spec_tokens = scheduler.spec_steps = 0
        scheduler.shown_accept = None
        return HttpReply(
            200, b"Cache flushed.\nPlease check backend logs for more details.\n", "text/plain; charset=utf-8"
        )

    async def abort_request(self, request: HttpRequest) -> HttpReply:
        asked = request.json()
        self.engine.scheduler.abort(None if asked.get("abort_all") else str(asked.get("rid", "")) or "\0")
        return HttpReply(200)

    async def tokenize(self, request: HttpRequest) -> HttpReply:
        prompt = request.json().get("prompt", "")
        if not isinstance(prompt, str):
            return json_reply({"detail": "prompt must be text"}, 400)
        tokens = tokenize(prompt).tolist()
        # The tokenizer's own limit, not the server's context.
        return json_reply({"tokens": tokens, "count": len(tokens), "max_model_len": 1_000_000_000_000})

    async def generate(self, request: HttpRequest) -> HttpReply:
        asked = request.json()
        params = asked.get("sampling_params") or {}
        try:
            prompt, words = self.engine.read_prompt(asked.get("text"), asked.get("input_ids"))
            job = self.engine.submit(
                prompt,
                words,
                max_new=int(params.get("max_new_tokens") or 128),
                min_new=int(params.get("min_new_tokens") or 0),
                ignore_eos=bool(params.get("ignore_eos")),
                rid=asked.get("rid"),
            )
        except BadRequestError as error:
            return json_reply({"error": {"message": str(error)}}, 400)
        if asked.get("stream"):
            return HttpReply(content_type="text/event-stream; charset=utf-8", stream=self.generate_events(job))
        await self.wait(job, request)
        return json_reply(self.generated(job))

    def generated(self, job: Job) -> dict[str, Any]:
        done = job.done_tokens
        return {
            "text": job.reply.text(0, done),
            "output_ids": job.reply.tokens(0, done),
            "meta_info": self.engine.meta_info(job),
        }

    async def generate_events(self, job: Job) -> AsyncIterator[bytes]:
        try:
            async for _ in self.progress(job):
                yield f"data: {json.dumps(self.generated(job), ensure_ascii=False)}\n\n".encode()
            yield b"data: [DONE]\n\n"
        finally:
            self.drop(job)

    async def completions(self, request: HttpRequest) -> HttpReply:
        return await completions(self, request)

    async def chat_completions(self, request: HttpRequest) -> HttpReply:
        return await chat_completions(self, request)

    async def progress(self, job: Job) -> AsyncIterator[int]:
        """The number of tokens so far, each time it has grown."""
        sent = 0
        while True:
            await job.changed.wait()
            job.changed.clear()
            ended = job.finished_at is not None
            if job.done_tokens > sent or ended:
                sent = job.done_tokens
                yield sent
            if ended:
                return

    async def wait(self, job: Job, request: HttpRequest) -> None:
        """Until the job ends. Raises DisconnectedError, the job aborted, once its client is seen to have gone."""
        every_s = self.engine.options.disconnect_poll_s / self.engine.clock.speed
        while job.finished_at is None:
            if request.gone():
                self.drop(job)
                raise DisconnectedError
            # By asyncio's own name, which is another class before Python 3.11: hosts have the Python of their release.
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(job.changed.wait(), every_s)
            job.changed.clear()

    def drop(self, job: Job) -> None:
        if job.finished_at is None:
            self.engine.scheduler.abort(job.rid)
