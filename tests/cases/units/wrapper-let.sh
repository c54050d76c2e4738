#!/bin/bash
let CTX=8192
exec /opt/sglang/venv/bin/python3 -m sglang.launch_server --model-path /srv/models/m --context-length $CTX
