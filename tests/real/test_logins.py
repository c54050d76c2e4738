"""Logins that ask, on a real sshd: answered before the run begins, and handed to it through a pipe."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import pytest

from console.remote.answers import Answers
from console.tui.start import Started, launch
from tests.hosts.host import Host
from tests.real.conftest import MakeDesk
from tests.real.desk import EXTEND_CONTEXT, Desk, plain
from tests.real.state_of import everywhere

pytestmark = pytest.mark.real_host

PASSWORD = "only for; this $test"
ASKS = """\
Match User careful
    KbdInteractiveAuthentication yes
    AuthenticationMethods publickey,keyboard-interactive:pam
"""


def asking(host: Host) -> None:
    """A user whose login asks for a password after the key, and whose sudo asks for it, too."""
    host.add_user("careful", sudo=True, password=PASSWORD)
    host.write("/etc/ssh/sshd_config.d/asks.conf", ASKS, mode=0o600)
    host.run("systemctl", "reload", "ssh")


def started(desk: Desk, answers: Answers, *words: str) -> Started:
    return launch(["--hosts", str(desk.inventory), "run", EXTEND_CONTEXT, *words], desk.environment, answers)


def ended(run: Started, seen: set[bytes]) -> int:
    """Its exit code; meanwhile what others can read of its process is collected."""
    process = Path("/proc") / str(run.process.pid)
    deadline = time.monotonic() + 120
    while run.process.poll() is None:
        assert time.monotonic() < deadline
        with contextlib.suppress(ProcessLookupError):  # it may end meanwhile
            seen |= {(process / name).read_bytes() for name in ("cmdline", "environ")}
        time.sleep(0.05)
    run.look()
    assert run.exit_code is not None
    return run.exit_code


def test_a_run_is_handed_what_was_answered_and_nothing_of_it_stays(host: Host, make_desk: MakeDesk) -> None:
    asking(host)
    desk = make_desk([host], user="careful")
    place = (host.name, "Password:")

    alone = desk.console("run", EXTEND_CONTEXT)
    assert alone.code == 7
    asked = plain(alone.err)
    assert "nobody is there to answer" in asked, asked

    seen: set[bytes] = set()
    answered = started(desk, Answers(PASSWORD, {place: PASSWORD}), "--json")
    code = ended(answered, seen)

    assert code == 0, f"{answered.complaint()}\n{asked}"
    assert everywhere(host) == ("200000",) * 4
    assert seen
    assert not any(PASSWORD.encode() in each for each in seen)
    events = answered.events
    events.seek(0)
    assert PASSWORD.encode() not in events.read()
    assert PASSWORD not in answered.complaint()
    assert PASSWORD not in desk.everything()
    assert host.run("grep", "-rlF", PASSWORD, "/etc", "/var", "/run", "/root", "/home", check=False).stdout == b""
    answered.close()
