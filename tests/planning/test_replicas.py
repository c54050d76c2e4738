"""vLLM's data parallelism over hosts: a head that serves, headless ones in the order of their replicas."""

from __future__ import annotations

import re

import pytest

from console.engines.registry import engine_named
from console.errors import RefusedError
from console.planning import ranks
from console.schema.facts import Facts
from console.schema.hosts import Target
from tests.fakes import facts, target

VLLM = engine_named("vllm")
UNIT = """\
[Service]
ExecStart=/usr/bin/vllm serve /models/chat-70b --max-model-len 32768 {words}
"""
MEET = "--data-parallel-address 10.0.0.1 --data-parallel-rpc-port 13345"


def head(words: str = f"--data-parallel-size 4 --data-parallel-size-local 2 {MEET}") -> Facts:
    return facts(UNIT.format(words=words))


def headless(words: str = f"--headless -dp 4 -dpl 2 -dpr 2 {MEET}", number: int = 1) -> Facts:
    return facts(UNIT.format(words=words), serving=None).model_copy(update={"target": f"node{number}/chat"})


def check(*seen: Facts) -> None:
    own = target(engine="vllm")
    others: list[Target] = [
        own.model_copy(update={"host_name": f"node{number}", "rank": number}) for number in range(1, len(seen))
    ]
    service = own.service.model_copy(update={"nodes": tuple(other.host_name for other in others)})
    at = own.model_copy(update={"nodes": tuple(others), "service": service})
    ranks.check(seen[0].model_copy(update={"nodes": seen[1:]}), VLLM, at)


def test_a_head_and_what_is_headless_are_one_server() -> None:
    check(head(), headless())
    three = "--data-parallel-size 6 --data-parallel-size-local 2"
    check(
        head(f"{three} {MEET}"),
        headless(f"--headless {three} --data-parallel-start-rank 2 {MEET}"),
        headless(f"--headless {three} --data_parallel_start_rank=4 {MEET}", 2),
    )


def test_a_head_that_runs_no_replica_itself() -> None:
    check(head(f"-dp 2 -dpl 0 {MEET}"), headless(f"--headless -dp 2 -dpl 2 {MEET}"))


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        (
            (head(), headless(f"-dp 4 -dpl 2 -dpr 2 {MEET}")),
            "without --headless it answers clients by itself",
        ),
        ((headless(), head()), "--headless: it serves nothing"),
        ((head(), headless(f"--headless -dp 4 -dpl 2 -dpr 3 {MEET}")), "start-rank 3: the places before it run 2"),
        ((head(f"-dp 6 -dpl 2 {MEET}"), headless(f"--headless -dp 6 -dpl 2 -dpr 2 {MEET}")), "size 6, and the hosts"),
        ((head(), headless(f"--headless -dp 8 -dpl 2 -dpr 2 {MEET}")), "they do not agree on --data-parallel-size"),
        (
            (head(), headless().model_copy(update={"target": "node1/chat"}), headless(number=2)),
            "places before it run 4",
        ),
        (
            (head(f"-dp 4 -dpl 2 --data-parallel-hybrid-lb {MEET}"), headless()),
            "--data-parallel-hybrid-lb: each of its hosts answers clients by itself",
        ),
        ((head(), headless(f"--headless -dp 4 -dpl 2 -dpr 2 {MEET} --nnodes 2")), "--nnodes 2 beside"),
        ((head(), headless(f"--headless -dp 4 -dpl 2 -dpr 2 {MEET} -tp 2")), "its ranks disagree on tensor x pipeline"),
    ],
)
def test_what_is_no_such_server_is_refused(seen: tuple[Facts, ...], said: str) -> None:
    with pytest.raises(RefusedError, match=re.escape(said)):
        check(*seen)


def test_undeclared_it_is_refused_with_the_line_to_write() -> None:
    with pytest.raises(RefusedError, match=r"--data-parallel-address 10\.0\.0\.1: this unit is one part") as caught:
        check(head())
    assert 'nodes = ["HOST", …] on the service of rank 0' in caught.value.hint
