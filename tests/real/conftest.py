"""The whole job on real hosts: systemd, OpenSSH, and the simulated engine as an ordinary unit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.hosts.host import Host
from tests.real.desk import Desk

MakeDesk = Callable[..., Desk]


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
