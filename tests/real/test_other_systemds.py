"""The main job on hosts with an older and a newer systemd (247, 257), sudo, OpenSSH and coreutils than the usual ones.

Their file trees take more than a minute each to make; `CONSOLE_SUITES` may name fewer of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.hosts.engine_unit import UNIT, install_engine, serving
from tests.hosts.fleet import Fleet
from tests.hosts.host import Host
from tests.real.conftest import MakeDesk
from tests.real.ready import QUICK_LOAD_S
from tests.real.state_of import everywhere, lock_is_free, starts

pytestmark = [pytest.mark.real_host, pytest.mark.by_hand]

SYSTEMD = {"bullseye": "247", "bookworm": "252", "trixie": "257"}
SUITES = os.environ.get("CONSOLE_SUITES", "bullseye trixie").split()


@pytest.fixture(params=SUITES)
def elsewhere(request: pytest.FixtureRequest) -> Iterator[Host]:
    with Fleet(1, suite=request.param) as fleet:
        (host,) = fleet.hosts
        assert f"systemd {SYSTEMD[request.param]} " in host.out("systemctl", "--version")
        install_engine(host, load_s=QUICK_LOAD_S)
        yield host


def test_the_main_job_and_its_way_back(elsewhere: Host, make_desk: MakeDesk) -> None:
    host = elsewhere
    host.add_user("ops", sudo=True)
    desk = make_desk([host], user="ops")
    first = starts(host)

    done = desk.extend()

    assert done.code == 0, done.err
    assert done.outcome == "verified"
    assert everywhere(host) == ("200000",) * 4
    assert starts(host) == first + 1
    back = desk.console("rollback", done.run_id, "--yes")
    assert back.code == 0, back.err
    assert serving(host) == 32768
    assert lock_is_free(host)
    assert host.out("systemctl", "show", "--value", "--property=NeedDaemonReload", UNIT) == "no"
