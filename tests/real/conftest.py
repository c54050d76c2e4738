"""The whole job on real hosts: systemd, OpenSSH, and the simulated engine as an ordinary unit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.hosts.fixtures import missing
from tests.hosts.fleet import Fleet
from tests.hosts.host import Host
from tests.real.cuts import PLAYS, Cuts
from tests.real.desk import Desk
from tests.real.ready import Ready

MakeDesk = Callable[..., Desk]


@pytest.fixture(scope="session")
def ready() -> Iterator[Ready]:
    """Two hosts in turn: one is in a test while the other begins again."""
    with Fleet(2) as fleet:
        hosts = Ready(fleet)
        try:
            yield hosts
        finally:
            hosts.close()


@pytest.fixture
def host(ready: Ready) -> Iterator[Host]:
    """A host whose engine serves 32768, has a pool for 203386 and loads in half a second; no other test touched it."""
    taken = ready.take()
    yield taken
    ready.give_back(taken)


@pytest.fixture
def make_desk(tmp_path: Path) -> Iterator[MakeDesk]:
    """`make_desk([host], …)`: another operator's machine; more words go to `write_inventory`."""
    made: list[Desk] = []

    def make(hosts: list[Host], **inventory: Any) -> Desk:
        made.append(Desk(tmp_path / f"desk{len(made)}", hosts, **inventory))
        return made[-1]

    yield make
    for desk in made:
        desk.close()


@pytest.fixture
def desk(host: Host, make_desk: MakeDesk) -> Desk:
    """An operator's machine whose inventory knows `host` and its one service."""
    return make_desk([host])


@pytest.fixture(scope="session")
def begun_cuts(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cuts | None]:
    """Begun with the first test of this folder, so that nobody has to wait for them later."""
    wanted = any(item.path.name == "test_network_cut.py" for item in request.session.items)
    if not wanted or missing():
        yield None
        return
    with Fleet(len(PLAYS)) as fleet:
        cuts = Cuts(fleet, tmp_path_factory.mktemp("cuts"))
        try:
            yield cuts
        finally:
            cuts.close()


@pytest.fixture(autouse=True)
def _begin_early(begun_cuts: Cuts | None) -> None:
    pass


@pytest.fixture
def cuts(begun_cuts: Cuts | None) -> Cuts:
    assert begun_cuts is not None
    return begun_cuts
