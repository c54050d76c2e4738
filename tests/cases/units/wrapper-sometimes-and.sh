#!/bin/bash
CTX=32768
[ -e /etc/small ] && CTX=8192
exec /opt/sglang/venv/bin/python3 -m sglang.launch_server --model-path /srv/models/m --context-length $CTX
