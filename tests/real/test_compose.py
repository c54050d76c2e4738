"""An engine in a compose file, by podman-compose on a real host: its value in that file, its process in a container.

The container engine is Debian's own, fetched with apt when the test runs, and podman-compose with pip: Debian 12's does
not know the host's network. Without them this is skipped.
"""

from __future__ import annotations

import subprocess
import sys
import zipfile

import pytest

from tests.hosts import remains
from tests.hosts.engine_unit import FOLDER, MODEL, OPTIONS, PORT, UNIT, install_simulator, serving, set_fault
from tests.hosts.host import Host
from tests.real.conftest import MakeDesk
from tests.real.desk import Desk
from tests.real.ready import QUICK_LOAD_S
from tests.real.state_of import UNIT_FILE, comes_to_serve, lock_is_free

pytestmark = [pytest.mark.real_host, pytest.mark.by_hand]

PACKAGES = (
    "podman", "crun", "conmon", "netavark", "golang-github-containers-image",
    "golang-github-containers-common", "libgpgme11", "libsubid4", "python3-dotenv", "libassuan0", "libglib2.0-0",
    "libseccomp2", "libyajl2", "python3-yaml", "libyaml-0-2", "libdevmapper1.02.1", "iptables", "libip4tc2",
    "libxtables12",
)  # fmt: skip
# Nothing is nested so deep that the kernel would give it control groups and an overlay of its own.
CONTAINERS = """\
[containers]
cgroups = "disabled"
keyring = false
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
"""
STORAGE = """\
[storage]
driver = "vfs"
runroot = "/run/containers/storage"
graphroot = "/var/lib/containers/storage"
"""
IMAGE = "localhost/sglang:v1"
COMPOSE = "/srv/k26/compose.yaml"
COMPOSE_TEXT = f"""\
# ours
services:
  k26:
    image: {IMAGE}
    network_mode: host
    environment:
      SIM_OPTIONS_FILE: {OPTIONS}
      PYTHONPATH: /opt/shim
    volumes:
      - {FOLDER}:{FOLDER}
      - /usr:/usr:ro
      - /models:/models
      - /opt/shim:/opt/shim
    command: >-
      python3 -S -m sglang.launch_server --model-path {MODEL}
      --context-length 32768  --mem-fraction-static 0.92
      --tp-size 8 --port {PORT} --trust-remote-code
"""
UNIT_TEXT = """\
[Unit]
Description=Kimi K2.6 by compose

[Service]
WorkingDirectory=/srv/k26
ExecStart=/usr/bin/podman-compose up
ExecStop=/usr/bin/podman-compose down
Restart=on-failure
RestartSec=1

[Install]
WantedBy=multi-user.target
"""
SHIM = f"import runpy\nrunpy.run_path('{FOLDER}/simulator', run_name='__main__')\n"


@pytest.fixture(scope="module")
def podman(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The files of podman and podman-compose, as one archive."""
    folder = tmp_path_factory.mktemp("podman")
    fetched = subprocess.run(["apt-get", "download", "-qq", *PACKAGES], cwd=folder, capture_output=True, check=False)
    if fetched.returncode != 0:
        pytest.skip(f"no podman to be had: {fetched.stderr.decode()[-200:]}")
    compose = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "podman-compose", "-d", str(folder)]
    if subprocess.run(compose, capture_output=True, check=False).returncode != 0:
        pytest.skip("no podman-compose to be had")
    (wheel,) = folder.glob("*.whl")
    packages = folder / "tree" / "usr/lib/python3/dist-packages"
    program = folder / "tree" / "usr/bin/podman-compose"
    for package in sorted(folder.glob("*.deb")):
        subprocess.run(["dpkg-deb", "--extract", package, folder / "tree"], check=True)
    with zipfile.ZipFile(wheel) as found:
        found.extractall(packages)
    program.write_text("#!/usr/bin/python3\nfrom podman_compose import main\nmain()\n")
    program.chmod(0o755)
    archive = ["tar", "--create", "--directory", str(folder / "tree"), "."]
    return subprocess.run(archive, capture_output=True, check=True).stdout


@pytest.fixture
def desk(host: Host, podman: bytes, make_desk: MakeDesk) -> Desk:
    """An image that has the host's own programs, and the engine in it served by compose."""
    host.run("systemctl", "disable", "--quiet", "--now", UNIT)
    host.run("tar", "--extract", "--keep-directory-symlink", "--directory", "/", input_bytes=podman)
    host.write("/etc/containers/containers.conf", CONTAINERS)
    host.write("/etc/containers/storage.conf", STORAGE)
    host.run("sh", "-c", f"ldconfig; tar -C / -cf - bin lib lib64 | podman import - {IMAGE}")
    install_simulator(host, load_s=QUICK_LOAD_S)
    host.write("/opt/shim/sglang/launch_server.py", SHIM)
    host.write("/opt/shim/sglang/__init__.py", "")
    host.write(COMPOSE, COMPOSE_TEXT)
    host.write_unit(UNIT, UNIT_TEXT)
    host.run("systemctl", "start", UNIT)
    assert remains.wait_until(lambda: serving(host) == 32768, 25.0, every_s=0.3), "\n".join(host.journal(UNIT)[-25:])
    return make_desk([host])


def test_the_compose_file_is_edited_proven_and_put_back(host: Host, desk: Desk) -> None:
    unit = host.read(UNIT_FILE)

    done = desk.extend(timeout_s=120)

    assert done.code == 0, done.err
    assert done.outcome == "verified"
    assert serving(host) == 200000
    assert host.read(COMPOSE) == COMPOSE_TEXT.replace("32768", "200000")
    assert host.read(UNIT_FILE) == unit
    last = [event for event in done.of("levels.read") if event["setting"] == "context_length"][-1]
    assert (last["disk"], last["running"], last["serving"]) == ("200000",) * 3
    assert done.record["settings"][0]["path"] == COMPOSE

    back = desk.console("rollback", done.run_id, "--yes", timeout_s=120)

    assert back.code == 0, back.err
    assert host.read(COMPOSE) == COMPOSE_TEXT
    assert serving(host) == 32768
    assert lock_is_free(host)


def test_a_start_that_fails_in_the_container_is_put_back(host: Host, desk: Desk) -> None:
    set_fault(host, "oom", above_context=100000)

    done = desk.extend(timeout_s=120)

    assert done.code == 4, done.err
    assert host.read(COMPOSE) == COMPOSE_TEXT
    assert comes_to_serve(host, 32768)
