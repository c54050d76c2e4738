"""Stopping a program of a host in the middle of what it was asked to do."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.hosts import remains
from tests.hosts.host import Host

STAND_IN = """#!/bin/sh
case " $* " in
  {pattern})
    if [ -e {folder}/armed ] && echo >>{folder}/called && [ "$(wc -l <{folder}/called)" -ge {nth} ]; then
      {before}
      echo $$ >>{folder}/reached
      while [ -e {folder}/armed ]; do sleep 0.05; done
      {after}
    fi
    ;;
esac
exec {program} "$@"
"""


@dataclass(frozen=True)
class Held:
    """A call that stands still. `calls`: how often it came to that point."""

    host: Host
    folder: str

    @property
    def is_reached(self) -> bool:
        return self.host.seen(f"{self.folder}/reached").exists()

    def reached(self, patience_s: float = 30.0) -> bool:
        return remains.wait_until(lambda: self.is_reached, patience_s, every_s=0.02)

    @property
    def calls(self) -> int:
        return len(self.host.read(f"{self.folder}/reached").splitlines())

    def release(self) -> None:
        self.host.seen(f"{self.folder}/armed").unlink(missing_ok=True)


@contextmanager
def held(host: Host, program: str, pattern: str, *, done: bool = False, nth: int = 1) -> Iterator[Held]:
    """Calls of `program` whose words match the shell `pattern` stand still until released, from the `nth` on.

    `done`: what was asked happens first, and only the answer waits.
    """
    real = host.out("sh", "-c", 'command -v "$1"', "sh", program)
    folder = f"/run/held-{program}"
    host.write(f"{folder}/armed", "")
    content = STAND_IN.format(
        pattern=pattern,
        folder=folder,
        program=shlex.quote(real),
        nth=nth,
        before=f'{real} "$@"' if done else ":",
        after="exit 0" if done else ":",
    )
    # First on the path of a login, before the place the real one has.
    host.write(f"/usr/local/bin/{program}", content, mode=0o755)
    point = Held(host, folder)
    try:
        yield point
    finally:
        point.release()
        host.run("rm", "-rf", f"/usr/local/bin/{program}", folder)
