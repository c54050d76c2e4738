"""Simulated `Decode batch` lines of known step time: idle gaps, two batch sizes, a repetition loop."""

from __future__ import annotations

import random

from console.analysis.diagnosis.window import Said
from console.engines.sglang_log import read_log

INTERCEPT_MS, SLOPE_MS = 26.3, 0.0201
STEPS = 40
LOOP = 7.85


def lines(
    seed: int, count: int = 200, *, prefills: bool = True, factor: float = 1.0, graphs: bool = True, queue: int = 0
) -> list[str]:
    """`count` decode lines and the prefill lines between them; `factor` makes every step that much longer."""
    chance = random.Random(seed)
    told: list[str] = []
    left, batch, context, idle, loop = 0, 1, 0.0, False, False
    for number in range(count):
        if left == 0:
            left, idle = chance.randint(4, 12), True
            batch, context = chance.choice([1, 1, 4]), float(chance.choice([500, 2000, 5000, 12000]))
            loop = count // 2 < number < count // 2 + 20
            if prefills:
                told.append(
                    f"[2026-03-02 08:00:00 TP0] Prefill batch, #new-seq: {batch}, #new-token: {context * batch:.0f}, "
                    "#cached-token: 0, token usage: 0.10, #running-req: 0, #queue-req: 0, cuda graph: False, "
                    "input throughput (token/s): 7900.00"
                )
        accept = LOOP if loop else 2.9 + chance.gauss(0, 0.15)
        began, took_s = context, 0.0
        for _ in range(STEPS):
            took_s += factor * max(0.0, chance.gauss(1, 0.01)) * (INTERCEPT_MS + SLOPE_MS * context * batch) / 1000
            context += accept
        gap_s = chance.uniform(3, 90) if idle else 0.0
        told.append(
            f"[2026-03-02 08:00:00 TP0] Decode batch, #running-req: {batch}, #token: {context * batch:.0f}, "
            f"token usage: 0.10, accept len: {accept:.2f}, accept rate: 0.41, cuda graph: {graphs}, "
            f"gen throughput (token/s): {(context - began) * batch / (took_s + gap_s):.2f}, #queue-req: {queue}"
        )
        idle, left = False, left - 1
    return told


def said(texts: list[str]) -> list[Said]:
    """The lines as an engine's table reads them, a second apart."""
    return [Said(float(at), read) for at, text in enumerate(texts) if (read := read_log(text)) is not None]
