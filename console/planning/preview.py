"""What is so on a target, and what a run would do there: read and planned, nothing touched."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from console.clock import SystemClock
from console.engines.registry import engine_named
from console.errors import ConsoleError
from console.facts.collect import collect
from console.facts.glance import glance, unprivileged
from console.facts.watch import Watch, watch_once
from console.planning import policy
from console.planning.consent import NONE, Consent
from console.planning.decide import decide
from console.planning.groups import Groups
from console.planning.plan import make_plan
from console.remote.session import Reader, connect_reader
from console.remote.ssh import Connections
from console.results.queries.decode_law import decode_law
from console.schema.capacity import DecodeLaw
from console.schema.facts import Facts
from console.schema.hosts import Target
from console.schema.plan import Plan
from console.schema.runbook import Runbook, Value
from console.secrets import Redactor


@dataclass(frozen=True)
class Preview:
    """As far as it came: facts, the plan, and what a run would be refused for before its first change."""

    target: Target
    facts: Facts | None = None
    plan: Plan | None = None
    error: ConsoleError | None = None


@dataclass(frozen=True)
class Looking:
    """What every look at a host needs; connections are shared and closed by whoever opened them."""

    connections: Connections
    redactor: Redactor
    environment: Mapping[str, str]
    results_path: Path | None = None  # where sweeps are on record
    logins: dict[str, int | None] = field(default_factory=dict)  # target → when the certificate of its login ends
    readers: dict[str, Reader] = field(default_factory=dict)  # of glances, kept open

    async def facts(self, target: Target) -> Facts:
        """The facts of a target, over a connection of their own. Raises ConnectError; UsageError without its key."""
        policy.keys([target], self.environment)
        reader = await connect_reader(
            target,
            redactor=self.redactor,
            clock=SystemClock(speed=target.host.speed),
            environment=self.environment,
            connections=self.connections,
            nodes=True,
        )
        self.logins[target.name] = reader.certificate_ends
        try:
            return await collect(reader, engine_named(target.service.engine))
        finally:
            await reader.aclose()

    async def law(self, target: Target) -> DecodeLaw | None:
        """How decoding slows with context there, where a sweep is on record."""
        if self.results_path is None:
            return None
        return await asyncio.to_thread(decode_law, self.results_path, target.name, environment=self.environment)

    async def glance(self, target: Target, before: Facts | None = None) -> Facts:
        """What moves on a target, without sudo, over a connection that stays open. Raises as `facts` does."""
        reader = await self._kept(target)
        try:
            return await glance(reader, engine_named(target.service.engine), before)
        except ConsoleError:
            await self._drop(target)
            raise

    async def journal(self, target: Target, cursor: str = "") -> Watch:
        """The lines of the unit's journal since `cursor`, without sudo. Raises as `facts` does."""
        reader = await self._kept(target)
        try:
            return await watch_once(
                reader, engine_named(target.service.engine), target.service.port, cursor, gpus=False
            )
        except ConsoleError:
            await self._drop(target)
            raise

    async def aclose(self) -> None:
        for reader in self.readers.values():
            await reader.aclose()
        self.readers.clear()

    async def _kept(self, target: Target) -> Reader:
        if target.name not in self.readers:
            policy.keys([target], self.environment)
            self.readers[target.name] = await connect_reader(
                unprivileged(target),
                redactor=self.redactor,
                clock=SystemClock(speed=target.host.speed),
                environment=self.environment,
                connections=self.connections,
            )
        return self.readers[target.name]

    async def _drop(self, target: Target) -> None:
        reader = self.readers.pop(target.name, None)
        if reader is not None:
            await reader.aclose()

    async def preview(
        self,
        runbook: Runbook,
        target: Target,
        variables: Mapping[str, Value],
        *,
        accept_pending: bool = False,
        groups: Groups | None = None,
        consent: Consent = NONE,
    ) -> Preview:
        """The plan of one target, and the refusal that its run would end with. Raises nothing of ours."""
        try:
            facts = await self.facts(target)
        except ConsoleError as error:
            return Preview(target, error=error)
        engine = engine_named(target.service.engine)
        law = await self.law(target)

        async def planner() -> Plan:
            now = SystemClock().now()
            front = await groups.of(target, runbook) if groups else ()
            return make_plan(
                runbook, target, facts, engine, variables, redactor=self.redactor, now=now, law=law, front=front
            )

        decision = await decide(
            facts,
            planner,
            consent=replace(consent, accept_pending=consent.accept_pending or accept_pending),
            login=(self.logins.get(target.name), SystemClock().now()),
        )
        return Preview(target, facts, decision.plan, decision.refusal)
