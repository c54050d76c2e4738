#!/bin/bash
args=(
  --port 30000
  --context-length 32768 # window
)
exec /opt/sglang/venv/bin/python3 -m sglang.launch_server --model-path /srv/models/m "${args[@]}"
