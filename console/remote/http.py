"""HTTP to an engine that listens on its host's loopback, through the SSH connection."""

from __future__ import annotations

import contextlib
import socket
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import asyncssh

from console.clock import Clock
from console.engines.base import Reply, Request
from console.errors import UnreachableError, UsageError
from console.remote import direct
from console.remote.link import Link
from console.schema.hosts import Service, port_of
from console.secrets import Redactor
from console.untrusted import one_line

if TYPE_CHECKING:
    import httpx

# Server infos of large engines are some 100 kB; a generation's reply a few.
BODY_LIMIT = 16 * 1024 * 1024

OnPart = Callable[[float, bytes], None]
# What opening a port of ours says; a connection that cannot be had says a ConnectError.
_NO_WAY = (asyncssh.Error, asyncssh.ChannelListenError, OSError)


def load_httpx() -> None:
    """Import httpx, ahead of its first use, without its command line: that takes longer than all the rest of it."""
    sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]
    import_module("httpx")
    import_module("httpcore")  # which its first client would load


def api_key(service: Service, environment: Mapping[str, str], redactor: Redactor) -> str | None:
    """The engine's key out of the operator's environment. Raises UsageError when the variable is not set."""
    if service.api_key_env is None:
        return None
    key = environment.get(service.api_key_env, "")
    if not key:
        raise UsageError(
            f"the environment variable {service.api_key_env} is not set: it holds the engine's API key",
            hint=f"export {service.api_key_env}=… and start again",
        )
    redactor.learn(key)
    return key


class Forward:
    """The way to the engine: plain HTTP over a channel each, TLS and programs of others over a port on our loopback.

    That is opened once a connection. What generates goes to the router, where one stands before prefill and decode
    apart; all else to the service itself.
    """

    def __init__(self, link: Link, service: Service, clock: Clock, key: str | None, *, router: bool = False) -> None:
        self._link = link
        self._clock = clock
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        url = service.router if router else service.url
        self._router = Forward(link, service, clock, key, router=True) if service.router and not router else None
        parts = urlsplit(url)
        self._scheme = parts.scheme
        self._host = parts.hostname or "127.0.0.1"
        self._port = port_of(url)
        self._path = parts.path
        self._listener: asyncssh.SSHListener | None = None
        self._client: httpx.AsyncClient | None = None
        self._generation = -1

    async def send(self, request: Request, on_part: OnPart | None = None) -> Reply:
        """Send it and read the whole reply, or why there is none. Raises ConnectError without a connection.

        `on_part` is given each piece of a good answer as it comes, with seconds since the request was sent; such a
        body is not kept.
        """
        if self._router is not None and request.generates:
            return await self._router.send(request, on_part)
        if self._scheme == "http":
            return await self._direct(request, on_part)
        import httpx  # takes its time; connect_reader begins it

        try:
            client = await self._open()
        except _NO_WAY as error:
            return Reply(0, error=f"no way to the engine: {one_line(str(error), 200)}")
        started = self._clock.monotonic()
        try:
            hear = None if on_part is None else lambda part: on_part(self._clock.monotonic() - started, part)
            status, body, cut = await self._exchange(client, request, hear)
        except httpx.TimeoutException:
            error_text = f"no answer within {request.timeout_s:g} s"
        except httpx.RemoteProtocolError as error:
            # The forwarded port accepts before the far side is known: a refused connection looks like one that closes.
            error_text = f"connection refused or closed ({one_line(str(error), 120)})"
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            error_text = one_line(f"{type(error).__name__}: {error}", 200)
        else:
            return Reply(status, body, too_large(cut), self._clock.monotonic() - started)
        return Reply(0, error=error_text, duration_s=self._clock.monotonic() - started)

    async def _direct(self, request: Request, on_part: OnPart | None) -> Reply:
        content, headers = _content(request)
        connection = await self._link.connection()
        started = self._clock.monotonic()
        hear = None if on_part is None else lambda part: on_part(self._clock.monotonic() - started, part)
        try:
            status, body, cut = await direct.ask(
                connection,
                self._host,
                self._port,
                method=request.method,
                path=self._path + request.path,
                headers={"Host": f"{self._host}:{self._port}", "Connection": "close", **self._headers, **headers},
                content=content,
                hear=hear,
                idle_s=request.timeout_s,
                limit=BODY_LIMIT,
            )
        except TimeoutError:
            error_text = f"no answer within {request.timeout_s:g} s"
        except direct.AnswerError as error:
            error_text = one_line(str(error), 200)
        except asyncssh.ChannelOpenError as error:
            error_text = f"connection refused ({one_line(error.reason, 120)})"
        except _NO_WAY as error:
            error_text = f"no way to the engine: {one_line(str(error), 200)}"
        else:
            return Reply(status, body, too_large(cut), self._clock.monotonic() - started)
        return Reply(0, error=error_text, duration_s=self._clock.monotonic() - started)

    async def address(self) -> tuple[str, str]:
        """Where generations can be asked for from here while the connection lives, and the key. Raises ConnectError."""
        if self._router is not None:
            return await self._router.address()
        try:
            url = await self._listen()
        except _NO_WAY as error:
            raise UnreachableError(f"no way to the engine: {one_line(str(error), 200)}") from None
        return url.rstrip("/"), self._headers.get("Authorization", "").removeprefix("Bearer ")

    async def router_silent(self) -> str:
        """Why the router does not answer; "" where it does, whatever it says, and where there is none."""
        if self._router is None:
            return ""
        reply = await self._router.send(Request("GET", "/health"))
        return "" if reply.status else reply.error

    async def aclose(self) -> None:
        if self._router is not None:
            await self._router.aclose()
        await self._close()

    async def _close(self) -> None:
        client, self._client = self._client, None
        listener, self._listener = self._listener, None
        if client is not None:
            await client.aclose()
        if listener is not None:
            listener.close()
            with contextlib.suppress(asyncssh.Error, OSError):
                await listener.wait_closed()

    async def _listen(self) -> str:
        """The URL of our port."""
        connection = await self._link.connection()
        if self._generation != self._link.generation:
            await self._close()
            self._generation = self._link.generation
        if self._listener is None:
            self._listener = await connection.forward_local_port("127.0.0.1", 0, self._host, self._port)
        return f"{self._scheme}://127.0.0.1:{self._listener.get_port()}{self._path}"

    async def _open(self) -> httpx.AsyncClient:
        url = await self._listen()
        if self._client is None:
            import httpx

            # No connection is kept: one that a restarted engine has closed would fail the next request.
            transport = httpx.AsyncHTTPTransport(
                limits=httpx.Limits(max_keepalive_connections=0),
                socket_options=[(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)],
            )
            self._client = httpx.AsyncClient(
                transport=transport,
                base_url=url,
                headers={**self._headers, "Host": f"{self._host}:{self._port}"},
                trust_env=False,
                follow_redirects=False,
            )
        return self._client

    async def _exchange(
        self, client: httpx.AsyncClient, request: Request, hear: Callable[[bytes], None] | None
    ) -> tuple[int, bytes, bool]:
        body = bytearray()
        content, headers = _content(request)
        async with client.stream(
            request.method,
            request.path,
            content=content or None,
            headers=headers,
            timeout=request.timeout_s,
            extensions={"sni_hostname": self._host},
        ) as response:
            async for chunk in response.aiter_bytes():
                if hear is not None and response.status_code == 200:
                    hear(chunk)
                    continue
                body += chunk
                if len(body) > BODY_LIMIT:
                    return response.status_code, bytes(body[:BODY_LIMIT]), True
        return response.status_code, bytes(body), False


def _content(request: Request) -> tuple[bytes, dict[str, str]]:
    """The body of a request and the headers that tell it; none of a GET."""
    if request.json is None:
        return b"", {}
    import orjson  # a prompt of 100,000 token ids takes json longer than a request may be late

    content = orjson.dumps(request.json)
    return content, {"Content-Type": "application/json", "Content-Length": str(len(content))}


def too_large(cut: bool) -> str:
    return f"the body is larger than {BODY_LIMIT // 1024 // 1024} MiB" if cut else ""
