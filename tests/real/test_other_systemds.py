"""The main job with an older and a newer systemd (247, 257), sudo, OpenSSH and coreutils than the usual hosts have."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.hosts.engine_unit import UNIT, install_engine, serving
from tests.hosts.fleet import Fleet
from tests.hosts.host import Host
from tests.real.conftest import MakeDesk
from tests.real.desk import Desk, Done
from tests.real.ready import QUICK_LOAD_S
from tests.real.state_of import UNIT_FILE, digest, everywhere, lock_is_free, starts

# Hosts of their own, so that another worker may have them.
pytestmark = pytest.mark.real_host(group="other_systemds")


@pytest.fixture
def elsewhere(request: pytest.FixtureRequest) -> Iterator[Host]:
    suite, version = request.param
    with Fleet(1, suite=suite) as fleet:
        (host,) = fleet.hosts
        assert f"systemd {version} " in host.out("systemctl", "--version")
        install_engine(host, load_s=QUICK_LOAD_S)
        host.add_user("ops", sudo=True)
        yield host


def there_again_and_back(host: Host, desk: Desk, *words: str) -> Done:
    """The main job as it goes on every host; returns how its first run ended."""
    before, first = digest(host), starts(host)

    done = desk.extend(*words)

    assert done.code == 0, done.err
    assert done.outcome == "verified"
    assert everywhere(host) == ("200000",) * 4
    assert starts(host) == first + 1
    assert host.out("stat", "--format=%a %U:%G", UNIT_FILE) == "644 root:root"
    assert host.out("stat", "--format=%a %U:%G", "/var/lib/console") == "700 root:root"

    changed = host.show(UNIT, "InvocationID"), host.out("stat", "--format=%i %Z", UNIT_FILE)
    again = desk.extend()

    assert again.code == 0, again.err
    assert again.outcome == "no-change"
    assert (host.show(UNIT, "InvocationID"), host.out("stat", "--format=%i %Z", UNIT_FILE)) == changed

    back = desk.console("rollback", done.run_id, "--yes")

    assert back.code == 0, back.err
    assert serving(host) == 32768
    assert digest(host) == before
    assert lock_is_free(host)
    assert host.show(UNIT, "NeedDaemonReload") == "no"
    return done


@pytest.mark.parametrize("elsewhere", [("bullseye", 247)], indirect=True, ids=["bullseye"])
def test_an_older_one(elsewhere: Host, make_desk: MakeDesk) -> None:
    there_again_and_back(elsewhere, make_desk([elsewhere], user="ops"))


@pytest.mark.parametrize("elsewhere", [("trixie", 257)], indirect=True, ids=["trixie"])
def test_a_newer_one_and_what_is_measured_after_the_proof(elsewhere: Host, make_desk: MakeDesk) -> None:
    desk = make_desk([elsewhere], user="ops")
    quickly = {"measure": "true", "samples": "5", "sweep_contexts": "13,1663,3333", "budget": "5m"}

    done = there_again_and_back(
        elsewhere, desk, *(word for name, value in quickly.items() for word in ("--set", f"{name}={value}"))
    )

    # Each privileged act is a line of its own in the host's sudo log.
    said = elsewhere.out("journalctl", "--quiet", "--output=cat", "_COMM=sudo")
    assert f"COMMAND=/usr/bin/systemctl restart --no-block -- {UNIT}" in said
    trailers = desk.trailers(done.of("record.committed")[-1]["sha"])
    assert "sudo to root" in trailers["Operator-Auth"][0]
    findings = trailers["Finding"]
    assert any(text.startswith("decode_rate 55.") and "text_class=prose" in text for text in findings), findings
    assert any("intercept=26." in text and "slope=0.020" in text for text in findings), findings
