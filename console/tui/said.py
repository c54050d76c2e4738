"""Asking the command line itself: a `console` command that only reads, and what it printed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from console.remote.answers import Answers, answers_for

# What these print is shown on a screen; they change nothing on any host.
READS = frozenset({"plan", "runs", "facts", "lint", "schema", "history", "handover", "doctor"})
READS_BELOW = {"hosts": frozenset({"list", "discover"}), "workload": frozenset({"profile"})}
LIMIT = 4 * 1024 * 1024


@dataclass(frozen=True)
class Said:
    """What a command printed, and its exit code."""

    code: int
    text: str


def only_reads(words: Sequence[str]) -> bool:
    """Whether a command may be run just to see what it says."""
    if not words:
        return False
    if words[0] in READS_BELOW:
        return len(words) < 2 or words[1] in READS_BELOW[words[0]]
    if words[:2] == ["history", "adopt"] or "--out" in words or "-f" in words:
        return False
    return words[0] in READS


async def ask(
    words: Sequence[str],
    inventory: Path | None,
    environment: Mapping[str, str],
    width: int,
    answers: Answers | None = None,
) -> Said:
    """Run it without a terminal. Cancelling ends it; nothing is lost, because it only reads."""
    hosts = ["--hosts", str(inventory)] if inventory else []
    surroundings = dict(environment) | {"NO_COLOR": "1", "COLUMNS": str(width)}
    descriptors, more = answers_for(words, answers)
    try:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "console", *hosts, *words, *more,
            pass_fds=descriptors,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=surroundings,
        )  # fmt: skip
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
    try:
        out, complaints = await process.communicate()
    except asyncio.CancelledError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        raise
    text = out[:LIMIT].decode("utf-8", "replace")
    told = complaints[:LIMIT].decode("utf-8", "replace")
    return Said(process.returncode or 0, text + (f"\n{told}" if told.strip() else ""))
