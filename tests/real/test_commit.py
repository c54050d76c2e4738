"""A results repository that refuses: the run is what it is, and its record is committed later, once."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.hosts.host import Host
from tests.real.desk import Desk
from tests.real.state_of import everywhere, starts

pytestmark = pytest.mark.real_host


def test_hook_that_fails_changes_no_outcome(host: Host, desk: Desk) -> None:
    first = starts(host)
    subprocess.run(["git", "init", "--quiet", str(desk.findings)], env=desk.environment, check=True)
    hook = desk.findings / ".git" / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\necho 'ticket missing' >&2\nexit 1\n")
    hook.chmod(0o755)

    done = desk.extend()

    assert done.code == 0, done.err
    assert done.outcome == "verified"
    assert everywhere(host) == ("200000", "200000", "200000", "200000")
    assert starts(host) == first + 1
    assert desk.git("rev-list", "--all") == ""
    (saved,) = done.of("record.saved")
    assert Path(saved["path"]).is_file()
    said = " ".join((done.err + done.out).split())
    assert "saved, not committed" in said
    assert "ticket missing" in said
    assert "console recover" in said
    # Nothing of it is left staged for the operator's next commit.
    assert desk.git("diff", "--cached", "--name-only") == ""

    hook.unlink()
    recovered = desk.console("recover")

    assert recovered.code == 0, recovered.err
    assert desk.commits() == [f"{host.name}/k26: context_length 32768 -> 200000, verified"]
    assert desk.trailers()["Run-Id"] == [done.run_id]
    assert desk.console("recover").code == 0
    assert len(desk.commits()) == 1


def test_what_the_operator_staged_is_left_alone(host: Host, desk: Desk) -> None:
    subprocess.run(["git", "init", "--quiet", str(desk.findings)], env=desk.environment, check=True)
    (desk.findings / "notes.txt").write_text("half written\n")
    desk.git("add", "notes.txt")

    done = desk.extend()

    assert done.code == 0, done.err
    assert "notes.txt" not in desk.git("show", "--name-only", "--format=", "HEAD")
    assert desk.git("diff", "--cached", "--name-only") == "notes.txt"
