"""`console workload profile --target`: the shape of what a target serves, out of its own request log."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Sequence

from console.analysis.workload.profile import Profile
from console.cli.inventory import inventory
from console.cli.output import Output
from console.cli.results import known
from console.clock import SystemClock
from console.engines.registry import engine_named
from console.errors import RefusedError, UsageError
from console.facts.collect import collect
from console.facts.requests import Requests, look_at_requests
from console.planning import policy
from console.planning.bind import bind
from console.remote.session import connect_reader
from console.remote.ssh import Connections
from console.results.queries.own_load import own_load
from console.schema.hosts import Target
from console.schema.names import seconds
from console.schema.workload import WorkloadProfile


def profile_of_target(arguments: argparse.Namespace, output: Output) -> WorkloadProfile:
    """Raises UsageError, ConnectError, and RefusedError where the engine logs no requests."""
    try:
        since_s = float(seconds(arguments.since))
    except ValueError as error:
        raise UsageError(str(error), hint="--since 1h") from error
    hosts = inventory(arguments)
    targets = bind(hosts, [arguments.target], (), None)
    if len(targets) != 1:
        raise UsageError(f"{arguments.target} is {len(targets)} targets: a profile is of one")
    policy.keys(targets, os.environ)
    clock = SystemClock(speed=targets[0].host.speed)
    spans = own_load(known(arguments).results, targets[0].name, clock.now().timestamp() - since_s)
    seen = asyncio.run(_look(targets[0], since_s, output, spans))
    profile = Profile()
    profile.add(seen.batch)
    if not profile.input.n:
        raise RefusedError(
            f"its log has no ended request of the last {arguments.since}"
            + (f" but {seen.ours:,} of our own measurements" if seen.ours else ""),
            where=targets[0].name,
            hint="SGLang: --log-requests --log-requests-level 0 --log-requests-format json; or profile a trace",
        )
    found = profile.result(files=[targets[0].name], kind="request log")
    return found.model_copy(update={"own_requests": seen.ours})


async def _look(target: Target, since_s: float, output: Output, spans: Sequence[tuple[float, float]]) -> Requests:
    connections = Connections(os.environ)
    try:
        reader = await connect_reader(
            target,
            redactor=output.redactor,
            clock=SystemClock(speed=target.host.speed),
            environment=os.environ,
            connections=connections,
        )
        try:
            facts = await collect(reader, engine_named(target.service.engine))
            return await look_at_requests(reader, facts, since_s, spans=spans)
        finally:
            await reader.aclose()
    finally:
        await connections.aclose()
