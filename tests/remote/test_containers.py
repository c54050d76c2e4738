"""The container that a unit's command runs, as the scripts find it: by its name, or by the folder of a compose file."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from console.remote.scripts import load

# One compose project in /srv/chat of two containers, of which one gets port 8000; and one container by its name.
DOCKER = """#!/bin/sh
case " $* " in
  *project.working_dir=/srv/chat\\ *publish=8000*) echo web ;;
  *publish=*) ;;
  *project.working_dir=/srv/chat\\ *) printf 'proxy\\nweb\\n' ;;
  *' inspect '*' web ') echo 71 ;;
  *' inspect '*' proxy ') echo 72 ;;
  *' inspect '*' gone ') exit 1 ;;
esac
"""
ASKED = """
console_mark=M console_lock_run= console_uid=0
. "$1" >/dev/null
find_container "$2" /srv/chat "$3"
printf '%s|%s|%s\\n' "$container_pid" "$container_pids" "$container_apart"
"""


@pytest.mark.parametrize(
    ("argv", "port", "found"),
    [
        ("/usr/bin/docker run --rm --name web image -c 1", 8000, "71| 71|"),
        ("docker run -d --name=web image", 8000, "71| 71|yes"),
        ("docker start web", 8000, "71| 71|yes"),
        ("docker start -a web", 8000, "71| 71|"),
        ("docker run --rm --name gone image", 8000, "||"),
        ("docker run --rm image", 8000, "||"),
        ("/usr/bin/docker compose up web", 8000, "71| 71|"),
        ("docker compose -f compose.yaml up -d", 8000, "71| 71|yes"),
        ("docker compose -f /srv/chat/compose.yaml up", 8001, "| 72 71|"),
        ("docker compose -f /srv/other/compose.yaml up", 8000, "||"),
        ("/opt/docker-models/serve --name web", 8000, "||"),
        ("/opt/venv/bin/vllm serve m", 8000, "||"),
    ],
)
def test_it_is_found(tmp_path: Path, argv: str, port: int, found: str) -> None:
    (tmp_path / "docker").write_text(DOCKER)
    (tmp_path / "docker").chmod(0o755)
    (tmp_path / "prelude.sh").write_text(load("prelude.sh"))
    shown = (
        f"{{ path=/x ; argv[]={argv.replace('/usr/bin/docker', str(tmp_path / 'docker'))} ; ignore_errors=no ; pid=0 }}"
    )
    done = subprocess.run(
        ["sh", "-c", ASKED, "sh", str(tmp_path / "prelude.sh"), shown, str(port)],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == found
