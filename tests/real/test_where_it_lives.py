"""A window that does not stand in ExecStart: edited where it lives, proven, and put back, on a real host."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.hosts.engine_unit import UNIT, install_engine, serving, unit_text
from tests.hosts.host import Host
from tests.real.desk import Desk
from tests.real.ready import QUICK_LOAD_S
from tests.real.state_of import UNIT_FILE, lock_is_free, starts

pytestmark = pytest.mark.real_host

VARIABLES = "/etc/default/k26"
DROP_IN = f"/etc/systemd/system/{UNIT}.d/50-window.conf"
WRAPPER = "/usr/local/bin/start-k26"
LOG = "/var/log/k26.log"
# An earlier start in the same file.
OLD_LOG = """[2026-01-02 03:00:01] server_args=ServerArgs(model_path='/srv/m', context_length=32768)
[2026-01-02 03:00:09] The server is fired up and ready to roll!
"""


@dataclass(frozen=True)
class Place:
    """A way to keep the window, the file it is in, and the change of that file's text."""

    name: str
    path: str
    text: str
    before: str
    after: str
    reloads: int


def unit_of(place: Place) -> str:
    text = unit_text(flags={"--context-length": "${WINDOW}"})
    if place.path == VARIABLES:
        return text.replace("Restart=on-failure", f"EnvironmentFile=-{VARIABLES}\nRestart=on-failure")
    if place.path == WRAPPER:
        command = text[text.index("ExecStart=") : text.index("Restart=on-failure")]
        return text.replace(command, f"ExecStart={WRAPPER}\nStandardOutput=append:{LOG}\n")
    return text


def wrapper() -> str:
    text = unit_text()
    command = text[text.index("ExecStart=") + len("ExecStart=") : text.index("Restart=on-failure")]
    return f"#!/bin/bash\nset -eu\n# the window is {32768}\nexec {command}"


PLACES = (
    Place("environment file", VARIABLES, '# model\nWINDOW="32768"\nOTHER=1\n', '"32768"', '"200000"', 0),
    Place("drop-in", DROP_IN, "[Service]\nEnvironment=WINDOW=32768\n", "WINDOW=32768", "WINDOW=200000", 1),
    Place("wrapper", WRAPPER, wrapper(), "--context-length 32768", "--context-length 200000", 0),
)


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.name.replace(" ", "-"))
def test_it_is_edited_where_it_lives_and_put_back(place: Place, host: Host, desk: Desk) -> None:
    host.write(place.path, place.text)
    host.run("chmod", "0755" if place.path == WRAPPER else "0640", place.path)
    if place.path == WRAPPER:
        host.write(LOG, OLD_LOG)
    install_engine(host, unit_of(place), load_s=QUICK_LOAD_S)
    unit, first = host.read_bytes(UNIT_FILE), starts(host)

    done = desk.extend()

    assert done.code == 0, done.err
    assert done.outcome == "verified"
    assert host.read_bytes(place.path).decode() == place.text.replace(place.before, place.after)
    assert host.read_bytes(UNIT_FILE) == unit
    assert serving(host) == 200000
    assert starts(host) == first + 1
    assert [change["kind"] for change in done.of("change.made")].count("reload") == place.reloads
    assert done.record["settings"][0]["path"] == place.path
    assert desk.trailers()["Change"] == ["context_length 32768 -> 200000"]
    followed = [line["kind"] for line in done.of("log.line")]
    assert followed.count("args") == 1
    assert followed[-1] == "ready", "of this start, wherever it logs"

    back = desk.console("rollback", done.run_id, "--yes")

    assert back.code == 0, back.err
    assert host.read_bytes(place.path).decode() == place.text
    assert serving(host) == 32768
    assert lock_is_free(host)


def test_a_file_that_another_unit_reads_is_refused_with_its_name(host: Host, desk: Desk) -> None:
    place = PLACES[0]
    host.write(place.path, place.text)
    install_engine(host, unit_of(place), load_s=QUICK_LOAD_S)
    host.write("/etc/systemd/system/second.service", f"[Service]\nExecStart=/bin/true\nEnvironmentFile={VARIABLES}\n")

    done = desk.extend()

    assert done.code == 1, done.err
    assert "second.service" in done.err
    assert host.read_bytes(place.path).decode() == place.text
