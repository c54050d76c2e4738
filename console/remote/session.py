"""A host as the rest of the program sees it: a Reader can look, a Remote can also act."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from types import MappingProxyType

import asyncssh

from console.clock import Clock, stamp
from console.engines.base import Reply, Request
from console.errors import (
    AuthenticationError,
    ConnectionLostError,
    InternalError,
    LockHeldError,
    RefusedError,
    StepFailedError,
    SudoError,
    UnreachableError,
)
from console.remote.exchange import Exchange, start
from console.remote.http import Forward, OnPart, api_key, load_httpx
from console.remote.link import Link, OnConnection, Seen, shared_link
from console.remote.lock import OWN_LOCK_S, LockHold, held_by, read_document, settle
from console.remote.scripts import SHELL, Output, name_of_run, new_mark, new_name, render
from console.remote.ssh import Connections, let_go
from console.remote.sudo import SUDO_WANTS
from console.schema.hosts import Target
from console.secrets import Redactor
from console.untrusted import decode, one_line

__all__ = ["LockHold", "Output", "Reader", "Remote", "connect_reader"]

LOCK_LOST = 75  # the prelude's exit status when the lock is not this run's any more
STOP_TIMEOUT_S = 15.0


class Reader:
    """Looks at one target's host. Reads are safe to send again, so they outlive the connection."""

    _nodes: Mapping[str, Reader] = MappingProxyType({})
    contents: Mapping[str, bytes] = MappingProxyType({})  # of files that were read, by their digests
    ahead: asyncio.Task[Seen] | None = None  # what was read before we joined

    def __init__(
        self,
        link: Link,
        target: Target,
        *,
        redactor: Redactor,
        clock: Clock,
        forward: Forward,
        on_connection: OnConnection | None = None,
    ) -> None:
        self.target = target
        self.redactor = redactor
        self.clock = clock
        self._link = link
        self._forward = forward
        self.on_connection = on_connection
        self._known_generation = link.generation

    @property
    def nodes(self) -> Sequence[Reader]:
        """The other hosts of the same engine, in the order of their ranks, where they were connected to."""
        return tuple(self._nodes.values())

    def at(self, node: str) -> Reader:
        """The host that a change lies on: this one, or one of `nodes` by its name. Raises RefusedError."""
        if not node:
            return self
        if node not in self._nodes:
            raise RefusedError(
                f"{node} is changed with it, and is none of its nodes now",
                where=self.target.name,
                hint=f'nodes = ["{node}"] on the service in hosts.toml',
            )
        return self._nodes[node]

    @property
    def auth(self) -> str:
        """How we are logged in: key, user and host, from where."""
        return self._link.opened.auth if self._link.opened else ""

    @property
    def user(self) -> str:
        return self._link.opened.user if self._link.opened else ""

    @property
    def certificate_ends(self) -> int | None:
        """When the certificate of this login ends, in seconds since the epoch; None where there is no such end."""
        return self._link.opened.certificate_ends if self._link.opened else None

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the SSH config asks for that is not followed."""
        return self._link.opened.warnings if self._link.opened else ()

    @property
    def generation(self) -> int:
        """Grows with each connection that was opened; a lock taken under another one is gone."""
        return self._link.generation

    def regained(self) -> bool:
        """Whether the connection was opened again since this was last asked: locks of before are gone."""
        before, self._known_generation = self._known_generation, self._link.generation
        return self._known_generation != before

    async def look(
        self,
        script: str,
        *args: str,
        timeout_s: float = 30.0,
        patience_s: float = 0.0,
        long: bool = False,
        then: Sequence[str] = (),
    ) -> Output:
        """Run a `look_*.sh`, which changes nothing; send it again over a new connection for `patience_s`.

        `then`: a second script and its arguments, run by the same shell; their sections come together.
        Raises UnreachableError when the host does not answer, or another ConnectError; never for an exit status.
        A `long` one is stopped on the host when nobody waits for it any more, and StepFailedError says so.
        """
        if not all(each.startswith("look_") for each in (script, *then[:1])):
            raise InternalError(f"{script} does not only look")
        deadline = self.clock.monotonic() + patience_s
        while True:
            mark, name, asked = new_mark(), new_name() if long else "", self.clock.now()
            try:
                got = await self._link.run(self._render(script, args, mark, then=then), timeout_s=timeout_s, name=name)
            except UnreachableError:
                if self.clock.monotonic() >= deadline:
                    raise
            except asyncio.CancelledError:
                # Closing a channel ends no process of a root login, so a script on the host does.
                if long and self._link.alive:
                    self._link.owe(self._render("act_stop.sh", (name,), new_mark()), timeout_s=STOP_TIMEOUT_S)
                raise
            else:
                if got.exit_status is not None:
                    return replace(self._output(got, mark), asked=asked, answered=self.clock.now())
                if long and got.timed_out:
                    raise StepFailedError(f"{got.trouble}{await self._stop(name)}", where=self.target.name)
                if not got.timed_out and got.started and self._link.alive:
                    raise RefusedError(f"{script}: {got.trouble}", where=self.target.name)
                if self.clock.monotonic() >= deadline:
                    raise UnreachableError(
                        f"the host stopped answering while it was read: {got.trouble}",
                        where=self.target.name,
                        hint="nothing was changed by looking; try again",
                    )
            if not self._link.alive:
                await self.reconnect(patience_s=max(0.0, deadline - self.clock.monotonic()))
            else:
                await self.clock.sleep(0.2)

    async def until_over(self, run: str, *, patience_s: float) -> str:
        """Wait until nothing that a dead `run` sent goes on on the host and its lock is free; returns what still does.

        Raises ConnectError when the host does not answer.
        """
        deadline = self.clock.monotonic() + patience_s
        while True:
            running = (await self.look("look_running.sh", name_of_run(run), patience_s=patience_s)).text("running")
            state, _, document = (await self.look("look_lock.sh", self.lock_file)).text("lock").partition("\n")
            held = state.strip() == "held=yes" and read_document(document.encode()).get("run") == run
            if not running.split() and not held:
                return ""
            if self.clock.monotonic() >= deadline:
                pids = ", ".join(running.split())
                return f"what run {run} sent still runs: process {pids}" if pids else f"run {run} still holds the lock"
            await self.clock.sleep(0.5)

    async def fetch(self, request: Request, *, patience_s: float = 0.0) -> Reply:
        """Send a request to the engine; what goes wrong there is a Reply with status 0. Raises ConnectError for SSH."""
        deadline = self.clock.monotonic() + patience_s
        while True:
            reply = await self._forward.send(request)
            if reply.status or self._link.alive:
                return reply
            left_s = deadline - self.clock.monotonic()
            if left_s <= 0:
                raise UnreachableError("the connection died under a request to the engine", where=self.target.name)
            await self.reconnect(patience_s=left_s)

    async def stream(self, request: Request, on_part: OnPart) -> Reply:
        """`fetch` once, with each piece of the answer as it comes, see `Forward.send`."""
        reply = await self._forward.send(request, on_part)
        if not reply.status and not self._link.alive:
            raise UnreachableError("the connection died under a request to the engine", where=self.target.name)
        return reply

    async def engine_address(self) -> tuple[str, str]:
        """A URL on our loopback that leads to what generates, and its key; for programs of the operator's own."""
        return await self._forward.address()

    async def router_silent(self) -> str:
        """Why what stands before a pair does not answer; "" where it does."""
        return await self._forward.router_silent()

    async def reconnect(self, *, patience_s: float = 0.0) -> None:
        """Open a dead connection again; a live one stays. Raises ConnectError."""
        await self._link.reconnect(patience_s=patience_s)

    async def aclose(self) -> None:
        await let_go(*([self.ahead] if self.ahead else []))
        for node in self.nodes:
            await node.aclose()
        await self._forward.aclose()
        await self._link.aclose(self.on_connection)

    def writer(self) -> Remote:
        """The same hosts over the same connections, with the right to act."""
        remote = Remote(
            self._link,
            self.target,
            redactor=self.redactor,
            clock=self.clock,
            forward=self._forward,
            on_connection=self.on_connection,
        )
        remote.adopt([node.writer() for node in self.nodes])
        return remote

    def adopt(self, nodes: Sequence[Reader]) -> None:
        """Take the other hosts of the same engine: they are closed with this one."""
        self._nodes = {node.target.node: node for node in nodes}

    async def _stop(self, name: str, scope: str = "") -> str:
        """Stop what ran too long. SSH signals do not reach processes of a root login, so a script on the host does."""
        mark = new_mark()
        try:
            ended = await self._link.run(self._render("act_stop.sh", (name, scope), mark), timeout_s=STOP_TIMEOUT_S)
        except UnreachableError:
            return ", and it may still be running"
        stopped = decode(ended.sections(mark).get("stopped", b"")).strip() == "yes"
        return "; it was stopped on the host" if stopped else ", and it is still running"

    def use_sudo(self, state: str) -> bool:
        """Meet what sudo asks for as far as we can: a terminal, or the password. False: there is nothing new to try."""
        if state == "tty" and not self._link.terminal:
            self._link.terminal = True
            return True
        if state == "password":
            word = self._link.connections.sudo
            if word.password and self.target.host_name not in word.hosts:
                word.hosts.add(self.target.host_name)
                return True
        return False

    @property
    def lock_file(self) -> str:
        return f"{self.target.host.runtime_folder}/{self.target.service.unit}.lock"

    @property
    def host_lock_file(self) -> str:
        """Held for the moment in which files of a unit are written and not yet read by systemd."""
        return f"{self.target.host.runtime_folder}/host.lock"

    def _render(
        self,
        script: str,
        args: tuple[str, ...],
        mark: str,
        *,
        lock: str = "",
        keep_stdin: bool = False,
        note: str = "",
        then: Sequence[str] = (),
    ) -> bytes:
        host, defaults = self.target.host, self.target.defaults
        return render(
            script,
            args,
            mark=mark,
            sudo=host.sudo or defaults.sudo,
            password=self._link.connections.sudo.of(self.target.host_name),
            terminal=self._link.terminal,
            lock_file=self.lock_file if lock else "",
            lock_run=lock,
            keep_stdin=keep_stdin,
            uid=self._link.uid,
            note=note,
            then=then,
        )

    def _output(self, got: Exchange, mark: str) -> Output:
        """What a script said; the first one also tells who we are there.

        Raises AuthenticationError where it did not begin: a login shell, or sshd's ForceCommand, ran something else.
        """
        sections = got.sections(mark)
        if not sections:
            said = one_line(self.redactor.text(decode(got.stdout + b" " + got.stderr)).strip(), 160)
            raise AuthenticationError(
                f"we are let in, but no command of ours runs (status {got.exit_status}): {said or 'nothing said'}",
                where=self.target.name,
                hint="its login shell (nologin?) or a ForceCommand of sshd is in the way: try ssh HOST /bin/sh -c true",
            )
        assert got.exit_status is not None
        told = sections.get("shell", b"").split()
        if len(told) == 2 and told[1].isdigit():
            self._link.uid = decode(told[1])
        return Output(got.exit_status, sections, sections.get("stdout", b""), got.stderr)


class Remote(Reader):
    """May also change the host. Nothing here is ever sent twice."""

    note: str = ""
    _left: bool = False

    @property
    def nodes(self) -> Sequence[Remote]:
        return tuple(node for node in super().nodes if isinstance(node, Remote))

    @property
    def everywhere(self) -> Sequence[Remote]:
        """This host, and the others of the same engine."""
        return (self, *self.nodes)

    def at(self, node: str) -> Remote:
        found = super().at(node)
        assert isinstance(found, Remote)
        return found

    def noting(self, text: str) -> Remote:
        """The same host; the first act under the lock that succeeds leaves `text` in the log of the host it acts on."""
        other = copy(self)
        other.note = text
        other.adopt([node.noting(text) for node in self.nodes])
        return other

    @property
    def noted(self) -> bool:
        """Whether an act has left the note."""
        return any(remote._left for remote in self.everywhere)

    async def act(
        self, script: str, *args: str, lock: str = "", timeout_s: float = 60.0, name: str = "", scope: str = ""
    ) -> Output:
        """Run an `act_*.sh` once; `lock` is the run whose lock must stand, checked in the same shell.

        Raises LockHeldError when that lock is gone, SudoError when sudo refuses, ConnectionLostError when it was sent
        and its end is unknown, UnreachableError when it was not sent. Other exit statuses are the caller's to read.
        By `name` and `scope` it can be stopped on the host, see `stop_command`.
        """
        if not script.startswith("act_"):
            raise InternalError(f"{script} is not an act")
        mark, name = new_mark(), name or new_name(lock)
        rendered = self._render(script, args, mark, lock=lock, note=self.note if lock and not self._left else "")
        got = await self._link.run(rendered, timeout_s=timeout_s, name=name)
        self._left = self._left or (bool(lock and self.note) and got.exit_status == 0)
        if not got.started:
            raise UnreachableError(f"nothing was sent: {got.trouble}", where=self.target.name)
        if got.exit_status is None:
            stopped = await self._stop(name, scope) if got.timed_out else ""
            self._link.adrift.add(name)
            raise ConnectionLostError(
                f"{script.removesuffix('.sh')}: {got.trouble}{stopped}; whether it happened must be looked at",
                where=self.target.name,
                hint=f"console facts {self.target.name}",
            )
        output = self._output(got, mark)
        self._refuse(output)
        return output

    async def stop_command(self, name: str, scope: str) -> str:
        """Stop a script that goes on, with all it started, and look that it is gone; says in words what came of it."""
        return (await self._stop(name, scope)).lstrip("; ,")

    async def until_quiet(self, *, patience_s: float) -> None:
        """Wait until no script of ours whose connection died runs on the host any more: it goes on without us.

        Raises ConnectionLostError when one still does, UnreachableError when the host does not answer.
        """
        deadline = self.clock.monotonic() + patience_s
        while self._link.adrift:
            left_s = deadline - self.clock.monotonic()
            name = min(self._link.adrift)
            running = (await self.look("look_running.sh", name, patience_s=max(0.0, left_s))).text("running").split()
            if not running:
                self._link.adrift.discard(name)
            elif left_s <= 0:
                raise ConnectionLostError(
                    f"what was sent before the connection died still runs on the host: process {', '.join(running)}",
                    where=self.target.name,
                )
            else:
                await self.clock.sleep(0.2)

    async def hold_lock(
        self, run: str, document: Mapping[str, str], *, whole_host: bool = False, again: bool = False
    ) -> LockHold:
        """Take the unit's lock, or the host's, and hold it while this process lives and the connection stands.

        `again`: this run held it before, and whoever had it since, but the guard, is as good as a holder. Raises
        LockHeldError naming the holder, RefusedError, ConnectionLostError, or ConnectError.
        """
        lock_file = self.host_lock_file if whole_host else self.lock_file
        mark = new_mark()
        masked = self.redactor.tree(dict(document))  # the file stays, and everybody on the host may read it
        assert isinstance(masked, dict)
        body = {**masked, "run": run, "since": document.get("since") or stamp(self.clock.now()), "pid": os.getpid()}
        encoded = base64.b64encode((json.dumps(body) + "\n").encode()).decode()
        args = (self.target.host.runtime_folder, lock_file, encoded, run, "again" if again else "")
        script = self._render("act_lock.sh", args, mark, keep_stdin=True)
        deadline = asyncio.get_running_loop().time() + OWN_LOCK_S
        while True:
            held = await self._try_lock(script, mark)
            if isinstance(held, LockHold):
                return held
            if held.get("run") != run or asyncio.get_running_loop().time() >= deadline:
                raise held_by(held, where=self.target.name)

    async def _try_lock(self, script: bytes, mark: str) -> LockHold | Mapping[str, str]:
        """The lock, or who has it."""
        async with contextlib.AsyncExitStack() as stack:
            connection = await stack.enter_async_context(self._link.session())
            try:
                process = await start(connection, SHELL, terminal=self._link.terminal)
                stack.callback(process.close)
                process.stdin.write(script)
            except (asyncssh.Error, OSError) as error:
                raise UnreachableError(f"no session for the lock: {error}", where=self.target.name) from error
            holder = await settle(process, mark, where=self.target.name)
            return LockHold(process, stack.pop_all()) if holder is None else holder
        raise AssertionError("unreachable")

    def _refuse(self, output: Output) -> None:
        if output.exit_status == LOCK_LOST and "refused" in output.sections:
            raise LockHeldError(
                one_line(output.text("refused"), 200), where=self.target.name, hint="nothing was done; look who has it"
            )
        # What a command of a runbook's author says once it runs is its own; also a sudo in it that is refused.
        ran = "began" in output.sections or bool(output.stdout)
        if output.exit_status != 0 and not ran and (said := SUDO_WANTS.search(output.complaint)):
            raise SudoError(
                f"sudo refuses: {one_line(said[0], 200)}",
                where=self.target.name,
                hint="allow the login user sudo without a password on this host, or log in as root",
            )


async def connect_reader(
    target: Target,
    *,
    redactor: Redactor,
    clock: Clock,
    environment: Mapping[str, str] | None = None,
    on_connection: OnConnection | None = None,
    connections: Connections | None = None,
    nodes: bool = False,
) -> Reader:
    """Log in to a target's host. Raises UsageError (2) for a key variable that is not set, before any host is asked.

    `nodes`: also to the other hosts of its engine, where there are any.
    """
    surroundings = os.environ if environment is None else environment
    key = api_key(target.service, surroundings, redactor)
    ways = connections or Connections(surroundings)
    link = shared_link(target, ways, clock)
    try:
        await link.join(on_connection)
    except BaseException:
        await link.aclose(on_connection)
        raise
    forward = Forward(link, target.service, clock, key)
    if target.service.url.startswith("https:"):
        # Its time is spent while the host is busy with its first answer.
        asyncio.get_running_loop().run_in_executor(None, load_httpx)
    reader = Reader(link, target, redactor=redactor, clock=clock, forward=forward, on_connection=on_connection)
    reader.ahead = ways.ahead.pop(target.name, None)
    if nodes:
        await _join_nodes(reader, ways, surroundings)
    return reader


async def _join_nodes(reader: Reader, ways: Connections, surroundings: Mapping[str, str]) -> None:
    """All of them, or none and the first one's error."""
    joining = [
        connect_reader(node, redactor=reader.redactor, clock=reader.clock, environment=surroundings, connections=ways)
        for node in reader.target.nodes
    ]
    found = await asyncio.gather(*joining, return_exceptions=True)
    reader.adopt([node for node in found if isinstance(node, Reader)])
    wrong = next((each for each in found if isinstance(each, BaseException)), None)
    if wrong is not None:
        await reader.aclose()
        raise wrong
