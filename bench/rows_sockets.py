"""Rows of the acceptance table through sockets: console's own measuring, the lab engine, a bad path between them."""

from __future__ import annotations

import asyncio
import json
import math
import random
import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from statistics import mean

import httpx

from bench.path_reader import RATE, bench_at, lab_engine, prompt_for
from bench.proxy import Path
from bench.scorecard import Check, Outcome, Score, errors_of, least, most, p95, share
from console.errors import ConsoleError
from console.lab.bare import BareEngine
from console.measure.decode import DecodeCell, Shape
from console.schema.cells import Cell, Estimate

# The lab's time runs as fast as the wall's: at 4 times that, this machine's own scheduling is the largest error of the
# client's clock. Cells mostly wait, so some are measured at once, each on an engine of its own.
SPEED = 1.0
AT_ONCE = 4
THROUGH = "sockets"
# A longer body takes longer to be read: a part of a thousandth that no number of pairs takes out of the client's clock.
# Its interval must hold the truth up to the bias that the table allows.
ALLOWED = 0.002

Beside = Callable[[BareEngine], Awaitable[None]]


@dataclass(frozen=True)
class Cellwise:
    """What one cell came to: the cell, or the error it ended with."""

    cell: Cell | None
    error: str = ""

    @property
    def rate(self) -> float:
        return math.nan if self.cell is None or self.cell.rate_tok_s is None else self.cell.rate_tok_s

    @property
    def requests(self) -> int:
        return 0 if self.cell is None else sum(not arm.refused for arm in self.cell.arms)

    def by(self, method: str) -> Estimate | None:
        estimates = () if self.cell is None else self.cell.estimates
        return next((one for one in estimates if one.method == method), None)


def cells(
    path: Path,
    count: int,
    seed: str,
    *,
    beside: Beside | None = None,
    fresh: bool = False,
    speed: float = SPEED,
    **options: object,
) -> list[Cellwise]:
    """Measure `count` cells, some at once, one on an engine at a time; `fresh`: each on an engine just started."""
    with ExitStack() as stack:
        engines = [
            stack.enter_context(lab_engine(speed=speed, **options))
            for _ in range(count if fresh else min(count, AT_ONCE))
        ]
        return asyncio.run(over(engines, replace(path, speed=speed), count, seed, beside, fresh))


async def over(
    engines: Sequence[BareEngine], path: Path, count: int, seed: str, beside: Beside | None, fresh: bool
) -> list[Cellwise]:
    found: list[Cellwise] = []
    left = iter(range(count))

    async def work(engine: BareEngine) -> None:
        for number in left:
            found.append(await one(engine, path, f"{seed}-{number}", beside))
            if fresh:
                return

    for begin in range(0, len(engines), AT_ONCE):
        await asyncio.gather(*(work(engine) for engine in engines[begin : begin + AT_ONCE]))
    return found


async def one(engine: BareEngine, path: Path, seed: str, beside: Beside | None) -> Cellwise:
    async with bench_at(engine.port, path, seed, path.speed) as (bench, _):
        other = None if beside is None else asyncio.ensure_future(beside(engine))
        try:
            prompt = await prompt_for(bench)
            cell = await DecodeCell(bench, prompt, Shape(), "prose@1024", random.Random(seed)).measure()
        except ConsoleError as error:
            return Cellwise(None, error.message)
        finally:
            if other is not None:
                other.cancel()
                await asyncio.gather(other, return_exceptions=True)
        return Cellwise(cell)


def row(
    name: str,
    found: Sequence[Cellwise],
    *,
    bias: float | None = 0.2,
    error: float | None = 0.7,
    more: Sequence[Check] = (),
) -> Score:
    """The console's rate (by the server's clock where it has one), and beside it what the client's clock gave."""
    good = [cell for cell in found if math.isfinite(cell.rate)]
    held = [
        cell.cell is not None and (cell.cell.rate_low or 0) <= RATE <= (cell.cell.rate_high or math.inf)
        for cell in good
    ]
    clients = [estimate for cell in good if (estimate := cell.by("client")) and estimate.rate_tok_s]
    outcomes = [
        Outcome(cell.rate, True, cell.requests, cell.cell.naive_tok_s or math.nan) for cell in good if cell.cell
    ]
    errors = errors_of([outcome.value for outcome in outcomes], RATE)
    client_errors = errors_of([estimate.rate_tok_s or math.nan for estimate in clients], RATE)
    client_held = [
        (estimate.low or 0) * (1 - ALLOWED) <= RATE <= (estimate.high or math.inf) * (1 + ALLOWED)
        for estimate in clients
    ]
    return Score(
        name,
        len(found),
        (
            least("measured", share([math.isfinite(cell.rate) for cell in found]), 100),
            most("|bias|", abs(mean(errors)) if errors else math.inf, bias),
            most("p95", p95(errors) if errors else math.inf, error),
            least("held", share(held)),
            most("client's |bias|", abs(mean(client_errors)) if client_errors else math.nan),
            most("client's p95", p95(client_errors) if client_errors else math.nan),
            least("client's held", share(client_held), 80),
            *more,
        ),
        mean(outcome.requests for outcome in outcomes) if outcomes else math.nan,
        p95(errors_of([outcome.naive for outcome in outcomes], RATE)) if outcomes else math.nan,
        THROUGH,
    )


def clean(replicas: int, seed: int) -> Score:
    return row("clean", cells(Path(), replicas, f"clean{seed}"))


def jitter(replicas: int, seed: int) -> Score:
    return row("jitter, lognormal 20 ms", cells(Path(jitter_s=0.02), replicas, f"jitter{seed}"), error=1.0)


def lossy(replicas: int, seed: int) -> Score:
    return row("loss 5 % of packets", cells(Path(loss=0.05), replicas, f"loss{seed}"), error=0.8)


def far(replicas: int, seed: int) -> Score:
    """The same engines near, and behind 150 ± 30 ms: by the server's clock no difference, by the client's little."""
    near = cells(Path(), replicas, f"near{seed}")
    away = cells(Path(delay_s=0.075, swing_s=0.03 / math.sqrt(2)), replicas, f"away{seed}")

    def middle(found: Sequence[Cellwise], method: str) -> float:
        values = sorted(one.rate_tok_s for cell in found if (one := cell.by(method)) and one.rate_tok_s)
        return values[len(values) // 2] if values else math.nan

    apart = {method: abs(100 * (middle(away, method) / middle(near, method) - 1)) for method in ("server", "client")}

    def inside(mine: Sequence[Cellwise], method: str, other: Sequence[Cellwise]) -> float:
        held = [
            (one.low or 0) * (1 - ALLOWED) <= middle(other, method) <= (one.high or math.inf) * (1 + ALLOWED)
            for cell in mine
            if (one := cell.by(method))
        ]
        return share(held)

    return row(
        "150 ± 30 ms against a direct path",
        away,
        more=[
            most("server's Δr", apart["server"], 1.0),
            most("client's Δr", apart["client"], 2.0),
            least("server's near inside far's interval", inside(away, "server", near), 80),
            least("server's far inside near's interval", inside(near, "server", away), 80),
            least("client's near inside far's interval", inside(away, "client", near), 80),
            # Of the near path's own spread, a fraction of the far one's: told, since no method can promise it.
            least("client's far inside near's interval", inside(near, "client", away)),
        ],
    )


def buffered(replicas: int, seed: int) -> Score:
    found = cells(Path(delay_s=0.02, buffered=True), replicas, f"buffered{seed}")
    numbers = [(one := cell.by("stream")) is not None and one.rate_tok_s is not None for cell in found]
    return row("buffered stream", found, error=None, more=[most("stream gave a number in", share(numbers), 0)])


def slow_start(replicas: int, seed: int) -> Score:
    return row(
        "first request of a start +3 s",
        cells(Path(), replicas, f"first{seed}", fresh=True, first_request_s=3.0),
        bias=0.3,
        error=None,
    )


WANTED = re.compile(rb'"max_new_tokens": *(\d{3})\b')


def shorten(data: bytes, rng: random.Random) -> bytes:
    """One long request in five asks the engine for fewer tokens than the console did."""
    return WANTED.sub(lambda found: found[0].replace(found[1], b"200"), data) if rng.random() < 0.2 else data


def early_stop(replicas: int, seed: int) -> Score:
    return short_replies("early stop 20 %", cells(Path(ask=shorten), replicas, f"early{seed}"))


def all_at_once(replicas: int, seed: int) -> Score:
    """A start's slow first request, a prefix cache, and one long reply in five that ends early."""
    found = cells(Path(ask=shorten), replicas, f"all{seed}", fresh=True, first_request_s=3.0)
    primed = [arm.cached_tokens or 0 for cell in found if cell.cell for arm in cell.cell.arms if not arm.refused]
    score = short_replies("first +3 s, prefix cache, early stop 20 %", found, bias=0.3)
    return replace(score, checks=(*score.checks, least("tokens from the cache", min(primed, default=0), 1, "")))


def short_replies(name: str, found: Sequence[Cellwise], bias: float = 0.2) -> Score:
    """A row where some long replies end early: none is kept, all pairs with one are counted."""
    kept = [
        arm
        for cell in found
        if cell.cell
        for arm in cell.cell.arms
        if not arm.refused and arm.completion_tokens != arm.output_tokens
    ]
    refused = sum(cell.cell.refused_pairs for cell in found if cell.cell)
    return row(
        name,
        found,
        bias=bias,
        error=0.8,
        more=[most("short replies kept", len(kept), 0, ""), least("pairs refused and counted", refused, 1, "")],
    )


def hide_counts(data: bytes, rng: random.Random) -> bytes:
    return data.replace(b'"completion_tokens"', b'"completion_tokenz"')


def no_usage(replicas: int, seed: int) -> Score:
    """An engine whose answers have no counts: refused with the reason, whatever its chunks would give."""
    found = cells(Path(answer=hide_counts), replicas, f"usage{seed}")
    said = [
        cell.cell is not None and cell.cell.state == "refused" and "token counts" in cell.cell.reason for cell in found
    ]
    return Score(
        "4 tokens a chunk, usage absent",
        len(found),
        (least("refused, with the reason", share(said), 100),),
        through=THROUGH,
    )


async def another_client(engine: BareEngine) -> None:
    """Somebody else's requests, one after the other."""
    prompt = " ".join(["somebody", "else", "asks", "about", "other", "things"] * 20)
    body = json.dumps({"text": prompt, "sampling_params": {"max_new_tokens": 400, "ignore_eos": True}})
    async with httpx.AsyncClient(base_url=engine.url, trust_env=False, timeout=600) as client:
        while True:
            await client.post("/generate", content=body)
            await asyncio.sleep(0.3)


def foreign(replicas: int, seed: int) -> Score:
    """Another client on the server: nothing that was measured beside it may look clean."""
    found = cells(Path(), replicas, f"foreign{seed}", beside=another_client)
    clean_looking = [
        cell.cell is not None
        and cell.cell.rate_tok_s is not None
        and not cell.cell.refused_pairs
        and cell.cell.state == "measured"
        for cell in found
    ]
    wrong = [abs(cell.rate / RATE - 1) > 0.02 for cell in found if math.isfinite(cell.rate)]
    return Score(
        "another client on the server",
        len(found),
        (
            most("reported as clean", share(clean_looking), 0),
            most("a rate more than 2% off", share(wrong) if wrong else 0, 0),
        ),
        through=THROUGH,
        notes=tuple(dict.fromkeys((cell.cell.reason if cell.cell else cell.error)[:70] for cell in found))[:2],
    )


def cut(replicas: int, seed: int) -> Score:
    """Connections that die in the middle: an error or a marked cell, and no figure that looks whole."""
    found = cells(Path(cut=0.2), replicas, f"cut{seed}")
    whole = [cell.cell is not None and cell.cell.state == "measured" for cell in found]
    wrong = [abs(cell.rate / RATE - 1) > 0.02 for cell in found if math.isfinite(cell.rate)]
    return Score(
        "connections cut, one in five",
        len(found),
        (most("a rate more than 2% off", share(wrong) if wrong else 0, 0), most("measured all the same", share(whole))),
        through=THROUGH,
        notes=tuple(dict.fromkeys((cell.cell.reason if cell.cell else cell.error)[:70] for cell in found))[:2],
    )


ROWS: dict[str, Callable[[int, int], Score]] = {
    "socket-clean": clean,
    "socket-jitter": jitter,
    "socket-loss": lossy,
    "socket-far": far,
    "socket-buffered": buffered,
    "socket-cold-first": slow_start,
    "socket-early-stop": early_stop,
    "socket-all-at-once": all_at_once,
    "socket-no-usage": no_usage,
    "socket-foreign": foreign,
    "socket-cut": cut,
}
