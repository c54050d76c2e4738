#!/bin/bash
if true; then CTX=32768; fi
exec /opt/sglang/venv/bin/python3 -m sglang.launch_server --model-path /srv/models/m --context-length "$CTX"
