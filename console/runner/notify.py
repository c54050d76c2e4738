"""Telling a webhook what a run does: who, what, how long nothing was served, and the command to take over.

It never holds up a run and never fails one: what cannot be delivered is said at the run's end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from console.runs.state import RunState
from console.schema.events import AbortRequested, ChangeIntended, Event, GuardChanged, RunFinished
from console.schema.hosts import Notify
from console.secrets import Redactor

TIMEOUT_S = 5.0
TOLD_AT_THE_END_S = 6.0


class Notifier:
    """Hears every event of a run and posts the few that somebody elsewhere wants to know of."""

    def __init__(self, wanted: Notify, environment: Mapping[str, str], state: RunState, redactor: Redactor) -> None:
        self.wanted = wanted
        self.url = wanted.webhook or environment.get(wanted.webhook_env or "", "")
        self.state = state
        self.redactor = redactor
        self.sending: set[asyncio.Task[None]] = set()
        self.trouble: dict[str, int] = {}
        self.changed = False
        if self.url:
            redactor.learn(self.url)  # whoever has it may post there

    def hear(self, event: Event) -> None:
        """One event, as it was written. Returns at once."""
        what = self._what(event)
        if what and self.url and what in self.wanted.on:
            task = asyncio.ensure_future(self._send(body(what, self.state, self.wanted.format)))
            self.sending.add(task)
            task.add_done_callback(self.sending.discard)

    def _what(self, event: Event) -> str:
        """The word of the inventory's `on` that an event is; empty for most, and for runs that change nothing."""
        match event:
            case ChangeIntended() if not self.changed:
                self.changed = True
                return "started"
            case AbortRequested():
                return "aborted"
            case GuardChanged() if event.state in ("fired", "still armed"):
                return "guard"
            case RunFinished() if event.exit_code not in (0, 130):
                return "failed"
            case RunFinished() if self.changed:
                return "finished"
            case _:
                return ""

    async def _send(self, message: dict[str, Any]) -> None:
        import httpx

        try:
            async with httpx.AsyncClient(timeout=TIMEOUT_S, trust_env=True) as client:
                reply = await client.post(self.url, json=self.redactor.tree(message))
            if reply.status_code >= 300:
                self._failed(f"HTTP {reply.status_code}")
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            self._failed(type(error).__name__)

    def _failed(self, why: str) -> None:
        self.trouble[why] = self.trouble.get(why, 0) + 1

    async def aclose(self, note: Callable[[str], None]) -> None:
        """Give what is under way a moment, then say what was not delivered."""
        if self.sending:
            await asyncio.wait(self.sending, timeout=TOLD_AT_THE_END_S)
            for task in self.sending:
                task.cancel()
                self._failed("no answer in time")
        if self.trouble:
            listed = ", ".join(f"{why} ({count}×)" for why, count in self.trouble.items())
            note(f"the webhook of [notify] was not told: {listed}")


def body(what: str, state: RunState, form: str) -> dict[str, Any]:
    """What is posted: every field, or the one text that Slack and its like show."""
    started = state.started
    outcomes = {name: state.outcome(name).value for name in (started.targets if started else ())}
    finished = state.finished is not None
    takeover = f"console takeover {state.run}"
    if form == "slack":
        listed = ", ".join(f"{name} {outcome}" if finished else name for name, outcome in outcomes.items())
        who = f"{started.operator} from {started.from_host}" if started else "somebody"
        reason = f" ({started.reason})" if started and started.reason else ""
        gap = "; ".join(f"{name} served nothing for {gap:.0f} s" for name, gap in outages(state).items())
        text = f"console: {started.runbook if started else 'run'} {what} by {who}{reason}: {listed}"
        return {
            "text": "\n".join(part for part in (text, gap, "" if finished else f"to take over: {takeover}") if part)
        }
    return {
        "schema": 1,
        "event": what,
        "run": state.run,
        "purpose": started.purpose if started else "run",
        "runbook": started.runbook if started else "",
        "operator": started.operator if started else "",
        "from_host": started.from_host if started else "",
        "reason": started.reason if started else "",
        "ticket": started.ticket if started else "",
        "targets": list(outcomes),
        "outcomes": outcomes if finished else {},
        "exit_code": state.finished.exit_code if state.finished else None,
        "outage_s": outages(state),
        "takeover": takeover,
        "at": state.last_at,
    }


def outages(state: RunState) -> dict[str, float]:
    """Target → seconds from its restart to the proof that it serves, where both are known."""
    found = {}
    for name, target in state.targets.items():
        restarted = next((step for step in target.steps.values() if step.uses == "service.restart"), None)
        proof = target.verified
        if restarted is None or restarted.outcome != "changed" or proof is None:
            continue
        try:
            gap = datetime.fromisoformat(proof.ts) - datetime.fromisoformat(restarted.started_at)
        except ValueError:
            continue
        found[name] = round(gap.total_seconds(), 1)
    return found
