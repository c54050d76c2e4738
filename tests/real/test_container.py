"""An engine in a container that its unit only starts: its process, its log and its setting are found all the same.

There is no container engine on these hosts: a script has docker's words and lets systemd run the program in a control
group, a network and a journal entry of its own.
"""

from __future__ import annotations

import pytest

from tests.hosts.engine_unit import FOLDER, MODEL, OPTIONS, PORT, install_engine, serving
from tests.hosts.host import Host
from tests.real.desk import Desk
from tests.real.ready import QUICK_LOAD_S
from tests.real.state_of import UNIT_FILE

pytestmark = pytest.mark.real_host

DOCKER = f"""#!/bin/sh
verb=$1
case $verb in
  run)
    while [ "$1" != lmsysorg/sglang:v1 ]; do shift; done
    shift
    exec systemd-run --quiet --collect --unit=contained --setenv=SIM_OPTIONS_FILE={OPTIONS} \\
      /usr/bin/python3 -S {FOLDER}/simulator "$@"
    ;;
  stop) systemctl stop contained || true ;;
  inspect)
    systemctl is-active --quiet contained || exit 1
    exec systemctl show --value --property=MainPID contained
    ;;
  logs)
    for word in "$@"; do
      case $word in
        --since=*) since=${{word#--since=}} ;;
        --until=*) until=${{word#--until=}} ;;
      esac
    done
    time_of() {{ date -u -d "$1" '+%Y-%m-%d %H:%M:%S.%6N UTC'; }}
    since=$(time_of "${{since:-2020-01-01}}") until=$(time_of "$until")
    exec journalctl --quiet --output=cat --unit=contained --since "$since" --until "$until"
    ;;
esac
"""
TEXT = f"""[Unit]
Description=Kimi K2.6 in a container

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/bin/docker run -d --rm --name k26 --gpus all --ipc=host lmsysorg/sglang:v1 \\
    --model-path {MODEL} --context-length 32768 \\
    --mem-fraction-static 0.92 --tp-size 8 --port {PORT} --trust-remote-code
ExecStop=/usr/bin/docker stop k26

[Install]
WantedBy=multi-user.target
"""


def test_the_window_is_raised_proven_and_put_back(host: Host, desk: Desk) -> None:
    host.write("/usr/bin/docker", DOCKER, mode=0o755)
    install_engine(host, TEXT, load_s=QUICK_LOAD_S)

    done = desk.extend()

    assert done.code == 0, done.err
    assert done.outcome == "verified"
    assert serving(host) == 200000
    assert host.read_bytes(UNIT_FILE).decode() == TEXT.replace("32768", "200000")
    assert done.record["levels"][0]["running"] == "200000"
    assert [line["kind"] for line in done.of("log.line")][-1] == "ready"

    back = desk.console("rollback", done.run_id, "--yes")

    assert back.code == 0, back.err
    assert serving(host) == 32768
