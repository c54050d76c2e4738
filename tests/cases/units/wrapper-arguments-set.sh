#!/bin/bash
set -- "$@" --context-length 8192
exec /opt/sglang/venv/bin/python3 -m sglang.launch_server --model-path /srv/models/m "$@"
