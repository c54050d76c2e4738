#!/bin/bash
CTX=32768
PORT=30000
exec /opt/sglang/venv/bin/python3 -m sglang.launch_server --model-path /srv/models/m --context-length "$CTX" --port "$PORT"
