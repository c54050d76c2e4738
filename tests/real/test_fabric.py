"""An operator's own fabfile on a real host: sudo, put and get as they know them, but no host key is taken on trust."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from console.errors import HostKeyUnknownError
from console.remote import fabric
from console.schema.hosts import load_inventory
from tests.hosts.host import Host
from tests.real.conftest import MakeDesk

pytestmark = pytest.mark.real_host

FABFILE = """\
from io import BytesIO
from fabric import task


@task
def tune(c, level):
    c.put(BytesIO(f"level={level}\\n".encode()), "/tmp/tuning")
    c.sudo("install -m 0644 /tmp/tuning /etc/tuning.conf")
    c.get("/etc/tuning.conf", "fetched.conf")
    print(c.run("id -un").stdout.strip())
    return "tuned"


@task
def untune(c):
    c.sudo("rm /etc/tuning.conf")
"""
BOOK = """\
schema = 1
name = "tune"
unattended = "proceed"

[[step]]
uses = "fabric.task"
file = "fabfile.py"
task = "tune"
args = { level = 3 }
undo = "untune"
"""


def test_a_task_with_sudo_put_and_get(host: Host, make_desk: MakeDesk) -> None:
    host.add_user("ops", sudo=True)
    desk = make_desk([host], user="ops")
    (desk.folder / "fabfile.py").write_text(FABFILE)
    done = desk.console("run", desk.runbook(BOOK))
    assert host.read("/etc/tuning.conf") == "level=3\n", done.err
    assert (desk.folder / "fetched.conf").read_text() == "level=3\n"
    (made,) = done.of("change.made")
    assert made["after"]["result"] == "tuned"
    assert made["after"]["output"][-1] == "ops"
    back = desk.console("rollback", done.run_id, "--yes")
    assert not host.exists("/etc/tuning.conf"), back.err


def test_an_unknown_host_key_is_refused(host: Host, make_desk: MakeDesk, tmp_path: Path) -> None:
    desk = make_desk([host])
    target = load_inventory(desk.inventory).target(host.name)
    nobody = tmp_path / "known_hosts"
    nobody.write_text("")
    other = target.model_copy(update={"defaults": target.defaults.model_copy(update={"known_hosts": str(nobody)})})
    said = fabric.Said()
    file = tmp_path / "fabfile.py"
    file.write_text("from fabric import task\n\n@task\ndef touch(c):\n    c.run('touch /run/was-here')\n")
    sha256 = hashlib.sha256(file.read_bytes()).hexdigest()
    with pytest.raises(HostKeyUnknownError, match="not found in known_hosts"):
        fabric.carry_out(fabric.connection_of(other, said), file, sha256, "touch", {}, said, target.name)
    assert not host.exists("/run/was-here")
    assert nobody.read_text() == ""
    fabric.carry_out(fabric.connection_of(target, said), file, sha256, "touch", {}, said, target.name)
    assert host.exists("/run/was-here")
