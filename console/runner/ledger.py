"""The folder on the host that remembers a change, so that any console, or a person with a shell, can finish it."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any

from console.changes.no_room import way_out
from console.clock import stamp
from console.errors import RefusedError, StepFailedError
from console.planning import nodes
from console.remote.session import Output, Remote
from console.runner.context import RunContext
from console.schema.change import ABSENT, BalancerChange
from console.schema.hosts import Target, call_of
from console.schema.plan import Plan, keep_exact
from console.schema.writes import Writes, written
from console.untrusted import one_line

LedgerEnd = str  # open · undoing · guard · verified · rolled-back · unchanged · settled


class Ledger:
    """One entry: backups, change.json, undo.sh. Written and synced before the first change is intended."""

    def __init__(self, context: RunContext, remote: Remote, plan: Plan, engine_of: Sequence[Target] = ()) -> None:
        """`engine_of`: every host of the engine, where it has several and the plan is one host's share."""
        self.engine_of = engine_of or (plan.target, *plan.target.nodes)
        self.context = context
        self.remote = remote
        self.plan = plan
        self.written = False
        self.balancer = "out" if self._way_in() else ""  # so long as nothing says that it is in again
        # The other hosts of the same engine remember their own files.
        self.nodes = [
            Ledger(context, remote.at(node.node), nodes.share(plan, node), self.engine_of) for node in plan.target.nodes
        ]

    @property
    def folder(self) -> str:
        target = self.plan.target
        return f"{target.host.state_folder}/{target.service.unit}/{self.context.run}"

    def document(self, state: str) -> dict[str, Any]:
        """change.json: who, from where, why, and everything needed to undo it. Masked."""
        options = self.context.options
        body: dict[str, Any] = {
            "schema": 1,
            "run": self.context.run,
            "parent": options.parent,
            "purpose": options.purpose,
            "state": state,
            "balancer": self.balancer,
            "target": self.plan.target.name,
            "unit": self.plan.target.service.unit,
            "operator": options.operator,
            "taken_over_from": options.taken_over_from,
            "from_host": options.from_host,
            "auth": self.remote.auth,
            "root": options.root,
            "reason": options.reason,
            "ticket": options.ticket,
            "at": stamp(self.context.clock.now()),
            "runbook": self.plan.runbook,
            "runbook_sha256": self.plan.runbook_sha256,
            "summary": "; ".join(setting.sentence for setting in self.plan.settings),
            "argv_before": list(self.plan.argv_before),
            "argv_after": list(self.plan.argv_after),
            "plan": self.plan.model_dump(mode="json", by_alias=True),
        }
        masked = self.context.redactor.tree(body)
        assert isinstance(masked, dict)
        # The host's root alone reads this, and a command must be undone as it was written.
        masked["plan"]["changes"] = body["plan"]["changes"]
        keep_exact(masked["plan"], body["plan"])
        return masked

    def _beside(self) -> str:
        """For undo.sh: what to do with the other ranks or parts; empty where there are none."""
        places = self.engine_of
        if len(places) < 2:
            return ""
        return "".join(
            f"{place.called}, {place.service.unit} on {place.host_name} ({place.address}): "
            f"{place.host.state_folder}/{place.service.unit}/{self.context.run}/undo.sh\n"
            for place in places
        )

    def _way_in(self) -> BalancerChange | None:
        moves = [change for change in self.plan.changes if isinstance(change, BalancerChange)]
        return moves[0] if moves else None

    async def write(self) -> None:
        """Raises RefusedError when the entry cannot be written; then nothing may be changed."""
        kept = [(each, backup_of(each, number)) for number, each in enumerate(written(self.plan.changes).values(), 1)]
        table = "".join(f"{row_of(writes, backup)}\n" for writes, backup in kept)
        backups = [part for each, backup in kept if each.before != ABSENT for part in (each.path, backup)]
        output = await self.remote.act(
            "act_ledger.sh",
            self.plan.target.host.state_folder,
            self.plan.target.service.unit,
            self.context.run,
            encode(json.dumps(self.document("open"), indent=1)),
            encode(table),
            encode(balancer_arguments(self._way_in())),
            encode(self._beside()),
            *backups,
            lock=self.context.run,
        )
        if output.exit_status != 0:
            said = one_line(output.stderr.decode("utf-8", "replace"), 300)
            raise RefusedError(
                f"the ledger entry {self.folder} cannot be written: {said or output.exit_status}; nothing was changed",
                where=self.remote.target.name,
                hint=way_out(said) or "free space and rights of the state folder, then again",
            )
        self.written = True
        for node in self.nodes:
            await node.write()

    async def close(self, state: LedgerEnd) -> None:
        """Say how it ended, on every host. Raises StepFailedError where that cannot be written: it stays open there."""
        troubles: list[StepFailedError] = []
        for node in self.nodes:
            try:
                await node.close(state)
            except StepFailedError as error:
                troubles.append(error)
        if self.written:
            troubles += await self._say(state)
        if troubles:
            raise troubles[0]

    async def _say(self, state: LedgerEnd) -> list[StepFailedError]:
        output = await self.remote.act(
            "act_ledger_state.sh",
            self.plan.target.host.state_folder,
            self.plan.target.service.unit,
            self.context.run,
            encode(json.dumps(self.document(state), indent=1)),
            lock=self.context.run,
        )
        return [unsaid(self.remote, self.folder, output)] if output.exit_status != 0 else []


def unsaid(remote: Remote, entry: str, output: Output) -> StepFailedError:
    said = one_line(output.stderr.decode("utf-8", "replace"), 300)
    return StepFailedError(
        f"its end is not written into {entry}: {said or output.exit_status}",
        where=remote.target.name,
        hint=way_out(said),
    )


def backup_of(writes: Writes, number: int) -> str:
    """The name of its backup in the entry; of a file that the run makes, what there was not."""
    first = writes.changes[0]
    if first.makes:
        return "no-folder" if first.folder else "no-file"
    return f"backup-{number}"


def row_of(writes: Writes, backup: str) -> str:
    """Its line of files.tsv."""
    fields = (writes.path, writes.before, writes.after, backup)
    return "\t".join((*fields, ",".join(writes.between)) if writes.between else fields)


async def settle(remote: Remote, run: str, earlier: Sequence[str], word: str) -> None:
    """Say of earlier open entries of this unit how this run settled them. Raises StepFailedError as `close` does."""
    for each in remote.everywhere if earlier else ():
        host, unit = each.target.host, each.target.service.unit
        output = await each.act("act_ledger_settle.sh", host.state_folder, unit, word, *earlier, lock=run)
        if output.exit_status != 0:
            raise unsaid(each, f"{host.state_folder}/{unit} of {', '.join(earlier)}", output)


def encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def balancer_arguments(change: BalancerChange | None) -> str:
    """balancer.args: how undo.sh and the guard put the target in again; one KEY=BASE64 a line."""
    if change is None:
        return ""
    call = call_of(change.back) if change.runs == "host" else None
    kind = "call" if call else "command" if change.runs == "host" else "elsewhere"
    method, url, body = call or ("", "", "")
    values = {
        "kind": kind, "command": change.back, "method": method, "url": url, "body": body, "hand": change.by_hand,
    }  # fmt: skip
    return "".join(f"{name}={encode(value)}\n" for name, value in values.items())
