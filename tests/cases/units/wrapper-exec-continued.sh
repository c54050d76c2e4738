#!/bin/bash
set -euo pipefail
exec /opt/sglang/venv/bin/python3 -m sglang.launch_server --model-path /srv/models/m \
  --context-length 32768 \
  --port 30000
