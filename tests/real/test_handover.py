"""A handover of two real hosts lists the open change, the armed guard, the drifted unit and the unpushed record."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest

from tests.hosts.host import Host
from tests.real.conftest import MakeDesk
from tests.real.ready import Ready
from tests.real.state_of import UNIT_FILE

pytestmark = pytest.mark.real_host

GUARDED = """\
schema = 1
name = "guarded"
title = "Change the window under a guard"
unattended = "proceed"
guard = "10m"

[[step]]
uses = "unit.set"
setting = "context_length"
to = 65536

[[step]]
uses = "systemd.daemon_reload"

[[step]]
uses = "service.restart"
"""


def test_exactly_these(ready: Ready, host: Host, make_desk: MakeDesk, tmp_path: Path) -> None:
    other = ready.take()
    try:
        desk = make_desk([host, other])
        changed, drifted = f"{host.name}/k26", f"{other.name}/k26"
        assert desk.console("history", "adopt", changed, drifted).code == 0
        remote = tmp_path / "origin.git"
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(remote)], check=True)
        desk.git("remote", "add", "origin", str(remote))
        desk.git("push", "-q", "-u", "origin", "HEAD")
        assert json.loads(desk.console("handover", "--json").out)["items"] == []

        remote.rename(tmp_path / "away.git")
        assert desk.console("history", "adopt", drifted).code == 0
        other.out("sed", "-i", "s/32768/131072/", UNIT_FILE)
        going = desk.start("run", desk.runbook(GUARDED), changed, "--reason", "longer documents")
        going.wait_for(lambda event: event["type"] == "change.made" and event["kind"] == "file")
        going.stop(signal.SIGKILL)
        killed = going.end()

        for _ in range(20):
            items = json.loads(desk.console("handover", "--json").out)["items"]
            if not any(item["kind"] == "lock" for item in items):  # it goes with the connection that held it
                break
        assert [(item["kind"], item["target"]) for item in items] == [
            ("open", changed),
            ("guard", changed),
            ("drift", drifted),
            ("unkept", ""),
        ], items
        assert {item["run"] for item in items[:2]} == {killed.run_id}
        assert items[0]["reason"] == "longer documents"
        assert "looks at 20" in items[1]["what"]
        assert "context_length 32768 -> 131072 (disk): by hand" in items[2]["what"]
        assert "1 record of " in items[3]["what"]
        assert all(item["close"] for item in items)
    finally:
        ready.give_back(other)
