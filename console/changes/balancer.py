"""Take a target out of its front door, or put it in: a command or an HTTP call, on the host or from the console."""

from __future__ import annotations

import base64
import os

from console.changes.base import Made, Seen
from console.changes.command import send
from console.errors import RefusedError, StepFailedError
from console.remote.here import TIMED_OUT, run_here
from console.remote.scripts import name_of_run
from console.remote.session import Reader, Remote
from console.schema.change import WHERE, BalancerChange
from console.schema.hosts import call_of
from console.secrets import MASK
from console.untrusted import decode, one_line

IN, OUT = 0, 1  # exit statuses of the `state` command


async def look(change: BalancerChange, reader: Reader) -> Seen:
    """As the front door's own `state` command says; unknown without one."""
    if not change.state or MASK in change.state:
        return "unknown"
    if change.runs == "console":
        status, _ = await _here(change.state, change.timeout_s)
    else:
        encoded = base64.b64encode(change.state.encode()).decode()
        sudo = "sudo" if change.sudo else ""
        status = (await reader.look("look_command.sh", encoded, sudo, timeout_s=change.timeout_s)).exit_status
    if status not in (IN, OUT):
        return "unknown"
    return "after" if (status == OUT) == (change.way == "out") else "before"


async def make(change: BalancerChange, remote: Remote, run: str) -> Made:
    """Do it. Raises StepFailedError for an exit status other than 0 or an answer other than a success."""
    action, where = change.action, remote.target.name
    if MASK in action:
        raise RefusedError(
            f"the balancer's {one_line(action, 80)!r} holds a secret that was masked where it was kept",
            where=where,
            hint="do it by hand",
        )
    call = call_of(action)
    if change.runs == "console":
        status, said = await (_call(*call, change) if call else _here(action, change.timeout_s))
    else:
        status, said = await _on_host(change, call, remote, run)
    if status != 0:
        raise StepFailedError(f"{one_line(action, 80)!r} {WHERE[change.runs]} failed ({status}): {said}", where=where)
    return Made(message=change.summary)


def inverted(change: BalancerChange) -> BalancerChange:
    """The change that leads back."""
    way, words = ("in", "put {} in again") if change.way == "out" else ("out", "take {} out again")
    return change.model_copy(update={"way": way, "summary": words.format(change.member)})


async def _on_host(
    change: BalancerChange, call: tuple[str, str, str] | None, remote: Remote, run: str
) -> tuple[int, str]:
    if call:
        method, url, body = call
        encoded = base64.b64encode(body.encode()).decode()
        output = await remote.act("act_call.sh", method, url, encoded, lock=run, timeout_s=change.timeout_s)
    else:
        scope = f"{name_of_run(run)}{change.id}-{change.way}"
        output = await send(
            remote,
            change.action,
            run,
            sudo=change.sudo,
            name=f"{scope}-command",
            scope=scope,
            timeout_s=change.timeout_s,
        )
    return output.exit_status, one_line(decode(output.stdout or output.stderr), 200)


async def _here(command: str, timeout_s: float) -> tuple[int, str]:
    said = await run_here(command, timeout_s)
    if said.status == TIMED_OUT:
        return TIMED_OUT, f"no end within {timeout_s:g} s"
    return said.status, one_line(decode(said.output), 200)


async def _call(method: str, url: str, body: str, change: BalancerChange) -> tuple[int, str]:
    import httpx

    token = os.environ.get(change.token_env, "") if change.token_env else ""
    headers = {"authorization": f"Bearer {token}"} if token else {}
    try:
        async with httpx.AsyncClient(timeout=change.timeout_s) as client:
            reply = await client.request(method, url, content=body.encode() or None, headers=headers)
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        return 1, f"{type(error).__name__}: {one_line(str(error), 150)}"
    said = one_line(reply.text, 150)
    return (0, said) if reply.is_success else (1, f"HTTP {reply.status_code} {said}")
