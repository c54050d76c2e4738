"""Two operators in the same instant: exactly one changes anything, and the other is told who is there."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tests.hosts.engine_unit import UNIT, install_engine, set_simulator
from tests.hosts.fleet import Fleet
from tests.hosts.host import Host
from tests.real.desk import EXTEND_CONTEXT, Desk
from tests.real.fire.said import Said
from tests.real.state_of import LEDGER, everywhere, lock_is_free, starts

TRIES = 20


def prove(said: Said, folder: Path) -> None:
    with Fleet(1) as fleet:
        ends = Counter(one(fleet.hosts[0], folder / str(number)) for number in range(TRIES))
    for end, count in ends.most_common():
        said.line(end == "", f"{count} of {TRIES}: {end or 'one verified, the other 6 and told who is there'}")


def one(host: Host, folder: Path) -> str:
    """What was wrong with this try."""
    install_engine(host, load_s=2.0)
    set_simulator(host, load_s=20.0)
    first = starts(host)
    desks = [Desk(folder / name, [host]) for name in ("one", "two")]
    begun = [desk.start("run", EXTEND_CONTEXT) for desk in desks]
    winner, loser = sorted((going.end() for going in begun), key=lambda done: done.code)
    wrong = []
    if (winner.code, loser.code) != (0, 6):
        wrong.append(f"exits {winner.code} and {loser.code}: {loser.err.strip().splitlines()[-3:]}")
    if winner.run_id not in loser.err:
        wrong.append("the first is not named")
    if loser.of("change.intended") or host.exists(f"{LEDGER}/{UNIT}/{loser.run_id}"):
        wrong.append("the second changed something, or was about to")
    if starts(host) != first + 1 or everywhere(host) != ("200000",) * 4 or not lock_is_free(host):
        wrong.append(f"{starts(host) - first} restarts, {everywhere(host)}, lock free: {lock_is_free(host)}")
    return "; ".join(wrong)
