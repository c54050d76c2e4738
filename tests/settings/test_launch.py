from __future__ import annotations

import pytest

from console.settings.launch import read_launch


@pytest.mark.parametrize(
    ("line", "kind", "first"),
    [
        ("/opt/venv/bin/python3 -m sglang.launch_server", "engine", 0),
        ("/usr/bin/env -i HOME=/ A=1 /bin/llama-server -m x", "engine", 4),
        ("/usr/bin/numactl --cpunodebind=0 -m 0 /bin/llama-server -m x", "engine", 4),
        ("/usr/bin/taskset -c 0-7 /bin/llama-server -m x", "engine", 3),
        ("/usr/bin/nice -n 5 ionice -c 2 /bin/llama-server", "engine", 6),
        ("/usr/bin/uv run --project /opt/x vllm serve m", "engine", 4),
        ("/usr/bin/docker run --rm --gpus all -p 1:1 -v /a:/b images.example/x:1 --port 1", "engine", 9),
        ("/usr/bin/docker run --rm -it --name a x:1 python3 -m sglang.launch_server", "engine", 6),
        ("/usr/bin/podman run -d --name=a x:1 bash -c 'y'", "shell-string", 5),
        ("/bin/bash -lc x", "shell-string", 0),
        ("/bin/bash -o pipefail -c x", "shell-string", 0),
        ("/bin/sh /opt/start", "script", 1),
        ("/opt/start.sh --port 1", "script", 0),
        ("/opt/known", "script", 0),
        ("/usr/bin/docker compose up", "compose", 0),
        ("/usr/bin/docker-compose up", "compose", 0),
        ("/usr/bin/docker start -a x", "container-elsewhere", 0),
    ],
)
def test_what_a_command_line_starts(line: str, kind: str, first: int) -> None:
    launch = read_launch(line.split(), frozenset({"/opt/known"}))
    assert (launch.kind, launch.first) == (kind, first)
