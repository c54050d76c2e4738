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
    if [ -e {folder}/armed ]; then
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

    def reached(self, patience_s: float = 30.0) -> bool:
        return remains.wait_until(lambda: self.host.exists(f"{self.folder}/reached"), patience_s, every_s=0.02)

    @property
    def calls(self) -> int:
        return len(self.host.read(f"{self.folder}/reached").splitlines())

    def release(self) -> None:
        self.host.run("rm", "-f", f"{self.folder}/armed")


@contextmanager
def held(host: Host, program: str, pattern: str, *, done: bool = False) -> Iterator[Held]:
    """Calls of `program` whose words match the shell `pattern` stand still until released.

    `done`: what was asked happens first, and only the answer waits.
    """
    real = host.out("sh", "-c", 'command -v "$1"', "sh", program)
    folder = f"/run/held-{program}"
    host.run("mkdir", "-p", folder)
    host.write(f"{folder}/armed", "")
    content = STAND_IN.format(
        pattern=pattern,
        folder=folder,
        program=shlex.quote(real),
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
        host.run("rm", "-f", f"/usr/local/bin/{program}")
