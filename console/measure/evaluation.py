"""An evaluation of the operator's own: a command here that asks the engine, and says its score on the last line."""

from __future__ import annotations

import re
from dataclasses import dataclass

from console.remote.here import TIMED_OUT, run_here
from console.remote.session import Reader
from console.untrusted import clean, decode, one_line

# `0.83`, `accuracy: 0.83`, `pass@1 = 83.5 %`: the last number of the last line.
_SCORE = re.compile(r"(?:^|[\s:=])(-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*%?\s*$")


@dataclass(frozen=True)
class Evaluated:
    """`score` None: there is none, and `said` is why; else `said` is the line that it stands in."""

    score: float | None
    said: str


async def evaluate(reader: Reader, command: str, model: str, timeout_s: float) -> Evaluated:
    """Run `command` with the way to the engine in its environment. Raises ConnectError without a connection.

    OPENAI_BASE_URL and CONSOLE_ENGINE_URL lead to it through the connection, CONSOLE_MODEL and CONSOLE_TARGET say what
    is asked. Its key, if it has one, is in the variable that hosts.toml names, and in OPENAI_API_KEY.
    """
    url, key = await reader.engine_address()
    more = {
        "OPENAI_BASE_URL": f"{url}/v1",
        "CONSOLE_ENGINE_URL": url,
        "CONSOLE_MODEL": model,
        "CONSOLE_TARGET": reader.target.name,
        **({"OPENAI_API_KEY": key} if key else {}),
    }
    # Apart: a progress bar or a warning on stderr is no score.
    ended = await run_here(command, timeout_s, more, apart=True)
    line = _last_line(ended.output)
    last = one_line(reader.redactor.text(line if ended.status == 0 else _last_line(ended.complaints) or line), 200)
    if ended.status == TIMED_OUT:
        return Evaluated(None, f"the evaluation did not end within {timeout_s:g} s")
    if ended.status:
        return Evaluated(None, f"the evaluation ended with {ended.status}: {last or 'it said nothing'}")
    found = _SCORE.search(line)
    if found is None:
        return Evaluated(None, f"the evaluation's last line has no score: {last or 'it said nothing'}")
    return Evaluated(float(found[1]), last)


def _last_line(output: bytes) -> str:
    lines = [line for line in clean(decode(output)).splitlines() if line.strip()]
    return lines[-1] if lines else ""
