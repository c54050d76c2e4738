#!/bin/bash
shift 2
exec /opt/sglang/venv/bin/python3 -m sglang.launch_server --model-path /srv/models/m "$@"
